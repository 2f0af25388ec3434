"""What every test may rely on: a ROS graph of its own, repeatable Hypothesis, the folder of recorded logs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]


def _domain() -> int:
    """Nodes of two test runs on one machine, or of a robot nearby, must not hear one another.

    1..101 are the domains whose ports lie below Linux's ephemeral range. One in which killed processes have left their
    ports in shared memory is no good: messages get lost there.
    """
    names = [path.name for path in Path("/dev/shm").glob("fastrtps_port*")]
    ports = [int(digits) for name in names if (digits := name[len("fastrtps_port") :].partition("_")[0]).isdigit()]
    littered = {(port - 7400) // 250 for port in ports}
    domains = [1 + (os.getpid() + k) % 101 for k in range(101)]
    return next((domain for domain in domains if domain not in littered), domains[0])


os.environ["ROS_DOMAIN_ID"] = os.environ.get("SYSID_TEST_DOMAIN_ID") or str(_domain())
os.environ["ROS_AUTOMATIC_DISCOVERY_RANGE"] = "LOCALHOST"
# Where `make setup` puts our package, after whatever a sourced ROS or colcon workspace has set.
os.environ["AMENT_PREFIX_PATH"] = os.pathsep.join(filter(None, [os.environ.get("AMENT_PREFIX_PATH"), sys.prefix]))

# The same examples in every run and no deadline: a busy machine is no failure. HYPOTHESIS_PROFILE=explore searches on.
settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Tests marked ``ros`` need rclpy and our messages."""
    if item.get_closest_marker("ros"):
        pytest.importorskip("rclpy", reason="rclpy is not installed")
        pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")


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
