# SPDX-License-Identifier: Apache-2.0
"""What a run of the tests promises: it ends, a crash leaves a stack, and what is asked for is not skipped."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from shared import children

STAND_IN = """
import faulthandler, os, signal, time

def test_crash():
    faulthandler.enable()  # as rclpy's EventsExecutor does, onto a captured stderr
    os.kill(os.getpid(), signal.SIGSEGV)

def test_hang():
    time.sleep(100.0)

def test_fine():
    pass
"""


def run(project_root: Path, folder: Path, tests: str, *words: str, **environment: str) -> tuple[int, str]:
    """Exit status and output of our pytest on tests that misbehave."""
    (folder / "conftest.py").write_text((project_root / "test" / "conftest.py").read_text(encoding="utf-8"))
    (folder / "test_stand_in.py").write_text(STAND_IN)
    options = ("-c", project_root / "pyproject.toml", "--rootdir", folder, "-p", "no:cacheprovider")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    inherited["PYTHONPATH"] = os.pathsep.join([str(project_root), str(project_root / "test")])
    status, out, errors = children.run(
        "-m", "pytest", *options, *words, *(f"test_stand_in.py::test_{name}" for name in tests.split()), cwd=folder,
        env={**inherited, "SYSID_REQUIRE": "", **environment},
    )  # fmt: skip
    return status, out + errors


def test_a_crash_costs_one_test_and_prints_its_stack(project_root: Path, tmp_path: Path) -> None:
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    status, said = run(project_root, tmp_path, "crash fine", "-n", "1")
    assert status == 1
    assert "Segmentation fault" in said and re.search(r'File ".*test_stand_in.py", line \d+ in test_crash', said)
    assert "1 failed, 1 passed" in said


@pytest.mark.parametrize(
    "crashing",
    [pytest.param((2,), marks=pytest.mark.slow), pytest.param((5,), marks=pytest.mark.slow), (0, 2, 5)],
    ids=str,
)
def test_after_a_crash_all_others_are_run_once(project_root: Path, tmp_path: Path, crashing: tuple[int, ...]) -> None:
    """By two processes, of eight files of six tests, the last of one."""
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    source = "import os, pytest\n\n@pytest.mark.parametrize('number', range({}))\ndef test_it(number):\n    {}\n"
    crash = f"number in {crashing} and os.kill(os.getpid(), 9)"
    for file in range(8):
        count = 1 if file == 7 else 6
        (tmp_path / f"test_file_{file}.py").write_text(source.format(count, crash if file == 1 else "pass"))
    files = [f"test_file_{file}.py" for file in range(8)]
    status, said = run(project_root, tmp_path, "", *files, "-n", "2", "--dist", "loadfile", "--no-loadscope-reorder")
    assert status == 1
    assert f"{len(crashing)} failed, {43 - len(crashing)} passed" in said


def test_a_test_that_does_not_end_is_ended_and_prints_its_stack(project_root: Path, tmp_path: Path) -> None:
    status, said = run(project_root, tmp_path, "hang", "-o", "faulthandler_timeout=1")
    assert status == 1
    assert "Timeout" in said and re.search(r'File ".*test_stand_in.py", line \d+ in test_hang', said)


def test_a_warning_of_numpy_is_an_error() -> None:
    with pytest.raises(RuntimeWarning, match="invalid value encountered in log"):
        np.log(np.array([-1.0]))


def test_what_is_asked_for_and_missing_is_a_failure(project_root: Path, tmp_path: Path) -> None:
    (tmp_path / "rclpy.py").write_text("raise ModuleNotFoundError('not here')")
    path = os.pathsep.join([str(tmp_path), str(project_root), *sys.path])
    assert run(project_root, tmp_path, "fine", PYTHONPATH=path)[0] == 0
    status, said = run(project_root, tmp_path, "fine", PYTHONPATH=path, SYSID_REQUIRE="ros kernel")
    assert status == pytest.ExitCode.USAGE_ERROR
    assert "SYSID_REQUIRE asks for ros: rclpy is not installed" in said
