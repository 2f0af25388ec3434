# SPDX-License-Identifier: Apache-2.0
"""The soundness benchmark runs at a tiny size, continues where it ended, and sees what is outside."""

import argparse
import json

import pytest

from benchmarks import soundness
from benchmarks.records import collect
from benchmarks.soundness_plan import KINDS, run_plan


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = tmp_path_factory.mktemp("soundness") / "records.jsonl"
    keys = [{"seed": 5, "index": plan, "samples": 40} for plan in (0, 1)]
    chosen = argparse.Namespace(records=path, jobs=1, scheduler=None)
    assert [r["plan"] for r in collect(chosen, keys, run_plan, "")] == [0, 1]
    return path


def arguments(records, folder):
    return ["--plans", "2", "--samples", "40", "--seed", "5", "--records", str(records), "--out", str(folder)]


def test_it_continues_where_it_ended(records, tmp_path):
    before = records.read_text(encoding="utf-8")
    assert soundness.main(arguments(records, tmp_path)) == 0
    assert records.read_text(encoding="utf-8") == before
    (report,) = tmp_path.glob("*.md")
    text = report.read_text(encoding="utf-8")
    assert "80 samples on 2 plans: 0 outside" in text and "nan" not in text


def test_what_is_outside_fails(records, tmp_path):
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    lines[0]["found"]["outside"]["velocity"] = 3
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert soundness.main(arguments(path, tmp_path)) == 1


@pytest.mark.slow
def test_a_plan_is_the_same_every_time(records):
    second = json.loads(records.read_text(encoding="utf-8").splitlines()[1])
    assert second["found"] == json.loads(json.dumps(run_plan(**second["key"])))


def test_what_is_used_by_less_than_half_is_told_with_what_errors_can_do(records, tmp_path):
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    for line, moved in zip(lines, (0.02, 0.04), strict=True):
        line["found"]["used"] = dict.fromkeys(KINDS, 0.9) | {"self": 0.1}
        line["found"]["errors"] = {"self": [0.8, moved]}
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert soundness.main(arguments(path, tmp_path)) == 0
    (report,) = tmp_path.glob("*.md")
    text = report.read_text(encoding="utf-8")
    below = next(line for line in text.splitlines() if line.startswith("Below half: "))
    assert "distance between parts of the robot" in below and text.count("Below half") == 1
    assert "80 % are the errors'" in below and "by 3.0 % of that in the median, 4 % at most" in below


def test_errors_do_what_they_can_to_distances():
    """A motion beside an obstacle: slopes tell most of what is allowed for, and nothing is beyond it."""
    found = run_plan(1, 0, 60)
    errors, moved = found["errors"]["obstacle"]
    assert 0.3 < moved <= 1.0 and errors <= 1.0 and found["outside"]["obstacle"] == 0
