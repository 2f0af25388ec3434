"""The demo as a user runs it, in a short form: three processes, real DDS, files, signals.

Nothing here depends on the machine's speed: a slow one takes longer, or loses samples and says so; the bounds are
sound either way. How tight they are is for the benchmarks.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from sysid_nodes.cli.demo_summary import same
from sysid_nodes.logs import read_joint_states, read_messages
from sysid_nodes.reports.bounds_message import TOPIC
from sysid_nodes.reports.result_file import read_result
from sysid_nodes.simulation import random_dumbbell

pytestmark = pytest.mark.ros

LONG = 240.0  # [s]; reached only on failure
DURATION = 3.0
SEED = 11


def sysid(*words: str, **options: Any) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "sysid_nodes.cli", *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.Popen[str], str, str]:
    """One run, looked at by several tests."""
    folder = tmp_path_factory.mktemp("demo")
    process = sysid("demo", "kinova", "--duration", str(DURATION), "--seed", str(SEED), "--out", "out", cwd=folder)
    try:
        out, errors = process.communicate(timeout=LONG)
    finally:
        process.kill()
    return folder, process, out, errors


def test_it_ends_by_itself_and_says_what_it_found(demo: tuple[Path, subprocess.Popen[str], str, str]) -> None:
    _, process, out, errors = demo
    assert process.returncode == 0, errors
    assert "this machine only" in out
    assert "10/10 truths inside" in out
    assert "OUTSIDE" not in out
    assert "published" in out
    assert "out/report.html" in out
    assert f"--seed {SEED}" in out


def test_it_leaves_all_its_files_and_nothing_else(demo: tuple[Path, subprocess.Popen[str], str, str]) -> None:
    folder = demo[0]
    assert {item.name for item in folder.iterdir()} == {"out"}
    names = {item.name for item in (folder / "out").iterdir()}
    assert names == {"bag", "config.yaml", "report.html", "result.json", "series.npz"}
    assert (folder / "out" / "report.html").read_text(encoding="utf-8").rstrip().endswith("</html>")


def test_the_result_holds_the_hidden_payload(demo: tuple[Path, subprocess.Popen[str], str, str]) -> None:
    document = read_result(demo[0] / "out")
    payload = random_dumbbell(np.random.default_rng(SEED))
    # hand and last link weigh something too; the truth is theirs and the payload's
    assert payload.mass < document["truth"][0] < payload.mass + 2.0
    for step in [*document["history"], {k: [p[k] for p in document["parameters"]] for k in ("lower", "upper")}]:
        for lower, truth, upper in zip(step["lower"], document["truth"], step["upper"], strict=True):
            assert lower <= truth <= upper
    assert document["samples"]["used"] > 0


def test_the_bag_holds_what_was_published(demo: tuple[Path, subprocess.Popen[str], str, str]) -> None:
    bag = demo[0] / "out" / "bag"
    states = list(read_joint_states(bag))
    stamps = np.array([state.stamp for state in states])
    assert (np.diff(stamps) > 0.0).all()
    # the arm leaves no reading out; the recorder may lose some on a machine that cannot keep up
    assert 0.5 * DURATION * 1000 <= len(states) <= DURATION * 1000
    assert np.isclose(stamps[-1] - stamps[0], DURATION, atol=0.5 * DURATION)
    bounds = list(read_messages(bag, TOPIC, "online_sysid/msg/ParameterBounds"))
    assert len(bounds) > 1


def test_replay_of_the_bag_gives_the_same_numbers(demo: tuple[Path, subprocess.Popen[str], str, str]) -> None:
    folder, _, said, _ = demo
    words = ("replay", "out/bag", "--config", "out/config.yaml", "--out", "again")
    process = sysid(*words, cwd=folder)
    _, errors = process.communicate(timeout=LONG)
    assert process.returncode == 0, errors
    result, again = read_result(folder / "out"), read_result(folder / "again")
    if "gives the same numbers to the last bit" not in said:
        assert "could not keep up" in said or "did not hear all of it" in said
        pytest.skip("this machine lost samples between the processes")
    assert same(result, again)
    assert result["samples"] == again["samples"]
    assert result["costs"] == again["costs"]


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, stop: signal.Signals) -> None:
    # in a session of its own, so that Ctrl-C reaches all of it and nobody else, as on a terminal
    process = sysid("demo", "kinova", "--duration", "60", "--out", "out", cwd=tmp_path, start_new_session=True)
    try:
        assert process.stdout is not None
        while "truths inside" not in (line := process.stdout.readline()):
            assert line, process.stderr and process.stderr.read()
        if stop is signal.SIGINT:
            os.killpg(process.pid, stop)
        else:
            process.send_signal(stop)
        _, errors = process.communicate(timeout=LONG)
    finally:
        process.kill()
    assert process.returncode == 130
    assert errors.startswith("sysid: interrupted")
    assert errors.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
    deadline = time.monotonic() + LONG
    while members(process.pid):
        assert time.monotonic() < deadline, "a process outlives the demo"
        time.sleep(0.05)


def members(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["-p", "payload:=-1.0"], "simulated_arm: 'payload' must be at least 0, got -1.0"),
        (["-p", "masss:=1.0"], "simulated_arm: parameters: unknown key 'masss'"),
        (["-p", "truth_file:=no_such_folder/truth.json"], "no_such_folder/truth.json: cannot write"),
    ],
)
def test_a_simulated_arm_that_cannot_start_says_so_in_one_line(arguments: list[str], line: str) -> None:
    command = [sys.executable, "-m", "sysid_nodes.ros.nodes.simulated_arm", "--ros-args", *arguments]
    process = subprocess.run(command, capture_output=True, text=True, timeout=LONG, check=False)
    assert process.returncode == 2
    assert line in process.stderr
    assert process.stderr.count("\n") == 1


def test_a_recorder_whose_parent_is_gone_drops_its_bag(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sysid_nodes.ros.recorder", str(tmp_path / "bag")]
    process = subprocess.run(command, input="", capture_output=True, text=True, timeout=LONG, check=False)
    assert process.returncode == 130, process.stderr
    assert list(tmp_path.iterdir()) == []
