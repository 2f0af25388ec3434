# SPDX-License-Identifier: Apache-2.0
"""sysid replay of a simulated walk with few and short clips: the files, and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from shared.views import check_view
from shared.walking_bag import write_walk

from sysid_nodes.cli.main import main
from sysid_nodes.logs import read_messages, read_topics
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.messages.sampling.estimate_markers import MARKERS
from sysid_nodes.messages.sampling.estimates import INERTIA, MODELS, POSTERIOR
from sysid_nodes.messages.sampling.plan import MARKERS as PLANNED
from sysid_nodes.reports.sampling.schema import SAMPLING_FIELDS, validate_sampling

CONFIG = Path("config/go2_sampling.yaml")
FEW = [
    f"--set=sampling.{text}"
    for text in (
        "horizons.lengths=0.03,0.03",
        "horizons.clips=10,8",
        "horizons.iterations=4,1",
        "horizons.settling=5",
        "verdict.misfit=20",
        "verdict.shown=0.1",
        "threads=1",
    )
]


@pytest.fixture(scope="module")
def bag(tmp_path_factory):
    path = tmp_path_factory.mktemp("walk") / "bag"
    write_walk(path, 1.3)
    return path


@pytest.fixture(scope="module")
def replayed(bag):
    out = bag.parent / "out"
    assert main(["replay", str(bag), "--config", str(CONFIG), *FEW, "--out", str(out)]) == 0
    return out


def test_the_result_has_every_field_and_an_estimate_that_is_better_than_the_nominal_robot(replayed):
    document = validate_sampling(json.loads((replayed / "result.json").read_text()))
    assert {field.path.split("[")[0].split(".")[0] for field in SAMPLING_FIELDS} <= set(document)
    rows = {row["name"]: row for row in document["parameters"]}
    mass = rows["mass"]
    level = dict(zip(rows, document["levels"][-1]["estimates"], strict=True))
    assert mass["nominal"] == pytest.approx(7.277, abs=1e-3)
    assert abs(level["mass"] - 11.977) < 2.0, "two steps from 7.3 kg, and extrapolated from eight clips"
    assert document["misfit"] < document["misfit_before"]
    assert document["steps"] > 0


def test_the_report_is_one_page_and_can_be_made_again(replayed, tmp_path):
    page = (replayed / "report.html").read_text()
    for word in ("Inertia of the body", "strength.hip", "by the identified one", "<svg"):
        assert word in page
    assert main(["report", str(replayed), "--out", str(tmp_path / "again.html")]) == 0
    again = (tmp_path / "again.html").read_text()
    assert "known to" in again
    for text in (page, again):
        assert "FL_thigh [rad]" in text and "joint 2" not in text
    assert scene_of(again) == scene_of(page) != ""
    with np.load(replayed / "series.npz") as series:
        assert series["measured"].shape == series["identified"].shape
        turns = [series[name][..., 3:7] for name in ("measured", "nominal", "identified")]
        np.testing.assert_allclose(np.linalg.norm(turns, axis=-1), 1.0, atol=1e-6)
        # Clips are replayed from the measured start, and hardly turn in a fraction of a second.
        for found in turns[1:]:
            np.testing.assert_allclose(np.abs(np.sum(found * turns[0], axis=-1)), 1.0, atol=0.02)


def scene_of(page: str) -> str:
    return page.partition('class="scene3d"')[2].partition("</script>")[0]


def test_the_recording_of_the_result_shows_the_robot_and_what_was_found(replayed):
    counts = {topic.name: topic.count for topic in read_topics(replayed / "result.mcap")}
    assert counts.pop("/tf") > 10
    assert set(counts) == {"/robot_description", INERTIA, MODELS, POSTERIOR, MARKERS, PLANNED}
    assert set(counts.values()) == {1}
    check_view("sampling.rviz", replayed / "result.mcap")
    ((_, found),) = read_messages(replayed / "result.mcap", MARKERS, ARRAY_TYPE)
    (text,) = (marker.text for marker in found.markers if marker.ns == "mass")
    result = json.loads((replayed / "result.json").read_text(encoding="utf-8"))
    assert text.startswith(f"base {result['bodies'][0]['parameters'][0]:.2f} kg, σ ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "sampling.drive.stiffness=40,40"], "'drive.stiffness' needs 1, 3 (hip, thigh, calf) or 12 numbers"),
        (["--set", "sampling.unknowns.bodies=tail"], "has no link 'tail'"),
        (["--set", "commands=/nothing"], "/nothing"),
        (["--set", "pose=/nothing"], "0 usable readings of motion capture on '/nothing'"),
        (["--set", "sampling.horizons.lengths=1.2,0.03"], "clips of 1.2 s with all streams"),
    ],
)
def test_what_is_wrong_is_said_in_a_line(bag, tmp_path, capsys, arguments, message):
    command = ["replay", str(bag), "--config", str(CONFIG), *FEW, *arguments, "--out", str(tmp_path / "out")]
    assert main(command) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert message in error
    assert not (tmp_path / "out").exists()


def test_evaluate_predicts_clips_as_described_and_as_identified(bag, replayed, tmp_path, capsys):
    out = tmp_path / "evaluated"
    few = ["--horizon", "0.1", "--clips", "6"]
    assert main(["evaluate", str(replayed / "result.json"), str(bag), *few, "--out", str(out)]) == 0
    told = capsys.readouterr()
    assert "nothing is held out" in told.err
    assert "root position" in told.out
    document = json.loads((out / "prediction.json").read_text())
    assert document["clips"] == 6
    for row in document["errors"]:
        assert row["ratio"] == pytest.approx(row["identified"] / row["described"])
        assert row["lower"] <= row["ratio"] <= row["upper"]
    assert document["errors"][0]["ratio"] < 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["--horizon", "0"], "must be positive"), (["--horizon", "60"], "no room for a clip of 60 s")],
)
def test_evaluate_refuses_with_one_line(bag, replayed, tmp_path, capsys, arguments, message):
    line = ["evaluate", str(replayed / "result.json"), str(bag), *arguments, "--out", str(tmp_path / "evaluated")]
    assert main(line) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "evaluated").exists()
