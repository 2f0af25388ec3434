# SPDX-License-Identifier: Apache-2.0
"""The demo of a legged robot as a user runs it, in a short form: three processes, real DDS, files, signals.

Nothing here depends on the machine's speed: a slow one skips steps or loses readings, and says so. How good the numbers
are is for the benchmarks; the replay's are judged, for it takes the time it needs.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.children import finish
from shared.demo_process import LONG, check_that_an_orphaned_recorder_drops_its_bag, interrupt_demo, run_demo, sysid
from shared.views import check_view

from sysid_nodes.logs.reader import read_topics
from sysid_nodes.reports.files import read_document
from sysid_nodes.ros.prime.recorder import STREAMS, TOPICS

pytestmark = pytest.mark.ros

DURATION = 2.0
LOAD = 3.0


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, int, str, str]:
    """One run, looked at by several tests."""
    folder = tmp_path_factory.mktemp("legged_demo")
    words = ("--motion-time", str(DURATION), "--payload", str(LOAD), "--seed", "4")
    return folder, *run_demo("go2", *words, folder=folder)


def test_it_ends_by_itself_and_says_what_it_found(demo: tuple[Path, int, str, str]) -> None:
    _, status, out, errors = demo
    assert status == 0, errors
    assert "this machine only" in out
    assert "with its hidden load: mass found within" in out
    assert "Replayed from the recording" in out
    assert "--seed 4 --out out" in out


def test_it_leaves_all_its_files_and_nothing_else(demo: tuple[Path, int, str, str]) -> None:
    folder = demo[0]
    assert [item.name for item in folder.iterdir()] == ["out"]
    names = {item.name for item in (folder / "out").iterdir()}
    assert names == {"bag", "config.yaml", "report.html", "result.json", "result.mcap", "series.npz", "truth"}


def test_the_bag_has_what_robot_and_estimator_said(demo: tuple[Path, int, str, str]) -> None:
    counts = {topic.name: topic.count for topic in read_topics(demo[0] / "out" / "bag")}
    assert set(counts) == {topic.name for topic in TOPICS} | {"/robot_description", "/tf"}
    assert counts["/robot_description"] == 1
    assert counts["/tf"] > 10
    live = read_document(demo[0] / "out")["run"]["live"]
    for stream in STREAMS:
        assert 0 < counts[stream.name] <= live["readings"][f"sent {stream.name}"]
    assert counts["/truth/contact_forces"] > 0
    assert counts["/torso_inertia"] > 0


@pytest.mark.parametrize("recording", ["bag", "result.mcap"])
def test_rviz_finds_what_it_shows(demo: tuple[Path, int, str, str], recording: str) -> None:
    check_view("prime.rviz", demo[0] / "out" / recording)


def test_the_replay_finds_the_hidden_load(demo: tuple[Path, int, str, str]) -> None:
    document = read_document(demo[0] / "out")
    mass, truth = document["bodies"][0]["parameters"][0], document["run"]["truth"]
    loaded = truth["bodies"][0]["parameters"][0]
    assert loaded - mass["nominal"] == pytest.approx(LOAD)
    # Two seconds tell the mass to about 5 %, and which readings a busy machine loses differs from run to run.
    assert abs(mass["estimate"] - loaded) < 3.0 * mass["sigma"]
    assert mass["sigma"] < 0.1 * loaded
    assert mass["estimate"] - mass["nominal"] > 0.5 * LOAD
    assert truth["contact_f1"] > 0.95
    assert document["run"]["live"]["compared"] > 0
    assert document["run"]["live"]["sentence"] in " ".join(demo[2].split())


@pytest.mark.slow
def test_the_bag_can_be_replayed_by_hand(demo: tuple[Path, int, str, str]) -> None:
    folder = demo[0]
    process = sysid("replay", "out/bag", "--config", "out/config.yaml", "--out", "again", cwd=folder)
    _, errors = finish(process, LONG)
    assert process.returncode in (0, 3), errors
    result, again = read_document(folder / "out"), read_document(folder / "again")
    assert again["bodies"] == result["bodies"]
    assert again["samples"] == result["samples"]


@pytest.mark.parametrize("stop", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_an_interrupt_leaves_nothing_behind(tmp_path: Path, stop: signal.Signals) -> None:
    errors = interrupt_demo("go2", tmp_path, "mass", stop)
    assert errors == "sysid: interrupted\n"


def test_a_recorder_whose_parent_is_gone_drops_its_bag(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check_that_an_orphaned_recorder_drops_its_bag("prime", tmp_path, monkeypatch, "go2")
