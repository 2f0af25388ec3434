# SPDX-License-Identifier: Apache-2.0
"""What every test may rely on: a ROS graph of its own, repeatable Hypothesis, the folder of recorded logs."""

from __future__ import annotations

import faulthandler
import gc
import importlib
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from sysid_nodes.messages.transport import use_udp

ROOT = Path(__file__).resolve().parents[1]

_KERNELS = (
    "_regressors",
    "_normal_equations",
    "_stages",
    "_joint_rollout",
    "_closest_points",
    "_affine_dynamics",
    "_dual_simplex",
    "_windows",
)

_NEEDED = {
    "ros": (
        ("rclpy", "rclpy is not installed"),
        ("online_sysid.msg", "the messages are not built; make setup builds them"),
    ),
    "kernel": tuple(
        (f"sysid_nodes.kernel.{name}", "the C++ kernel is not built; make setup builds it") for name in _KERNELS
    ),
}
"""What SYSID_REQUIRE may name, and what that means."""


_LONG = {"ros", "benchmarks", "verification", "test_run.py", "test_connected.py"}


def _domain() -> int:
    """Nodes of two test processes on one machine, or of a robot nearby, must not hear one another.

    1..101 are the domains whose ports lie below Linux's ephemeral range.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    run = os.getppid() if worker else os.getpid()
    return 1 + (run + int(worker[2:] or 0)) % 101


# A shell lets what it starts in the background ignore Ctrl-C; the programs that tests interrupt would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["ROS_DOMAIN_ID"] = os.environ.get("SYSID_TEST_DOMAIN_ID") or str(_domain())
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
# Tests kill processes, and Fast DDS crashes on what those leave in shared memory (Fast-DDS issue 6501; 2.14 does):
# nothing that the caller has chosen for his own processes brings it back.
for _name in (
    "FASTDDS_BUILTIN_TRANSPORTS", "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE",
    "ROS_STATIC_PEERS", "ROS_LOCALHOST_ONLY",
):  # fmt: skip
    os.environ.pop(_name, None)
os.environ["SKIP_DEFAULT_XML"] = "1"
use_udp(os.environ)
importlib.import_module("sysid_nodes.ros")  # before rclpy, of which it mends something
# Where `make setup` puts our package, after whatever a sourced ROS or colcon workspace has set.
os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join(filter(None, [os.environ.get("AMENT_PREFIX_PATH"), sys.prefix]))
# Containers say so: every process that tests start would compile the package anew, and every run the tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# What is an error here is one in the processes that tests start, too.
os.environ["PYTHONWARNINGS"] = "error::RuntimeWarning"

# The same examples in every run and no deadline: a busy machine is no failure. HYPOTHESIS_PROFILE=explore searches on.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=40)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Ends the run at once where something that SYSID_REQUIRE names is missing, instead of skipping its tests.

    And keeps the fault handler where pytest has pointed it: rclpy's EventsExecutor points it at sys.stderr, which is
    captured, and the stack of a crash would go into a file that nobody ever reads.
    """
    for what in os.environ.get("SYSID_REQUIRE", "").split():
        if what not in _NEEDED:
            raise pytest.UsageError(f"SYSID_REQUIRE names {what!r}; one of: {' '.join(_NEEDED)}")
        for module, missing in _NEEDED[what]:
            try:
                importlib.import_module(module)
            except ImportError as error:
                raise pytest.UsageError(f"SYSID_REQUIRE asks for {what}: {missing} ({error})") from None
    enable = faulthandler.enable
    faulthandler.enable = lambda *_, **__: None
    config.add_cleanup(lambda: setattr(faulthandler, "enable", enable))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """For --dist loadfile, as `make test` says, one that goes on after a crash."""
    from shared.crash_scheduling import CrashTolerantScheduling

    return CrashTolerantScheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Longest files first, those that start processes and benchmarks: a run on several processes is over sooner."""
    items.sort(key=lambda item: _LONG.isdisjoint(item.path.parts))


def pytest_collection_finish() -> None:
    """What modules and collected tests have made stays to the end: no collection of garbage looks through it again.

    What tests make is looked through a tenth as often; by default that takes one twentieth of their time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000)


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked ``ros`` need rclpy and our messages."""
    if item.get_closest_marker("ros"):
        for module, missing in _NEEDED["ros"]:
            pytest.importorskip(module, reason=missing)


@pytest.fixture(scope="session")
def project_root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of recorded logs beside the project."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("no recorded logs in ../shared/data")
    return folder


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves the figures of reports empty, nine tenths of what a report costs: for tests that do not look at them."""
    monkeypatch.setattr("matplotlib.figure.Figure.draw", lambda *_: None)


@pytest.fixture(params=["compiled", "reference"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Both implementations of the hot loops, one after the other; the compiled one is skipped where it is not built."""
    if request.param == "compiled":
        for name in _KERNELS:
            pytest.importorskip(f"sysid_nodes.kernel.{name}", reason="the C++ kernel is not built")
    monkeypatch.setenv("SYSID_KERNEL", request.param)
    return str(request.param)
