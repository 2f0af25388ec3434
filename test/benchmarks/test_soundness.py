# SPDX-License-Identifier: Apache-2.0
"""The soundness benchmark runs at a tiny size, continues where it ended, and sees what is outside."""

import json

import pytest

from benchmarks import soundness
from benchmarks.records import collect
from benchmarks.soundness_plan import run_plan


@pytest.fixture(scope="module")
def records(tmp_path_factory):
    path = tmp_path_factory.mktemp("soundness") / "records.jsonl"
    keys = [{"seed": 5, "index": plan, "samples": 100} for plan in (0, 1)]
    assert [r["plan"] for r in collect(path, keys, run_plan, "")] == [0, 1]
    return path


def arguments(records, folder):
    return ["--plans", "2", "--samples", "100", "--seed", "5", "--records", str(records), "--out", str(folder)]


def test_it_continues_where_it_ended(records, tmp_path):
    before = records.read_text(encoding="utf-8")
    assert soundness.main(arguments(records, tmp_path)) == 0
    assert records.read_text(encoding="utf-8") == before
    (report,) = tmp_path.glob("*.md")
    text = report.read_text(encoding="utf-8")
    assert "200 samples on 2 plans: 0 outside" in text and "nan" not in text


def test_what_is_outside_fails(records, tmp_path):
    lines = [json.loads(line) for line in records.read_text(encoding="utf-8").splitlines()]
    lines[0]["found"]["outside"]["velocity"] = 3
    path = tmp_path / "records.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert soundness.main(arguments(path, tmp_path)) == 1


def test_a_plan_is_the_same_every_time(records):
    second = json.loads(records.read_text(encoding="utf-8").splitlines()[1])
    assert second["found"] == json.loads(json.dumps(run_plan(**second["key"])))
