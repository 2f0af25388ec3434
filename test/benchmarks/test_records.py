# SPDX-License-Identifier: Apache-2.0
"""Trials of benchmarks are run once, wherever they run, and what a killed run left half written runs again."""

from __future__ import annotations

import json
import os
from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from benchmarks import machine
from benchmarks.records import collect


def test_trials_in_the_file_are_not_run_again(tmp_path: Path) -> None:
    ran: list[int] = []

    def run(*, seed: int, plan: str) -> dict[str, Any]:
        ran.append(seed)
        return {"value": f"{plan} {seed}"}

    path, keys = tmp_path / "records.jsonl", [{"seed": seed, "plan": "a"} for seed in (3, 1)]
    assert collect(_chosen(path), keys, run, "") == [{"value": "a 3"}, {"value": "a 1"}]
    more = [{"seed": 1, "plan": "b"}, {"plan": "a", "seed": 1}]
    assert collect(_chosen(path), more, run, "") == [{"value": "b 1"}, {"value": "a 1"}]
    assert ran == [3, 1, 1]


def test_a_report_says_what_its_trials_had_taken_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An assembled report would else say that it took no time."""
    path, clock = tmp_path / "records.jsonl", iter([0.0, 30.0, 30.0, 120.0])
    monkeypatch.setattr(machine, "_EARLIER", [])
    monkeypatch.setattr(machine, "used", lambda: next(clock, 0.0))
    keys = [{"value": 1}, {"value": 2}]
    collect(_chosen(path), keys, _same, "")
    assert dict(machine.facts())["took"].endswith(" min, 0.0 min of CPU")
    collect(_chosen(path), keys, _same, "")
    assert dict(machine.facts())["took"].endswith(" of CPU, beside 2 trials of runs before it, 2.0 min of CPU")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"key": {"value": 3}, "found": {"value": 3}}\n')  # of before it was written
    collect(_chosen(path), [{"value": 3}], _same, "")
    assert dict(machine.facts())["took"].endswith(" of CPU, beside 3 trials of runs before it, unknown times")


@pytest.mark.parametrize("kept", [10, -1])
def test_a_last_line_that_was_cut_off_runs_again(tmp_path: Path, kept: int, capsys: pytest.CaptureFixture[str]) -> None:
    path, keys = tmp_path / "records.jsonl", [{"seed": 1}, {"seed": 2}]
    assert collect(_chosen(path), keys, lambda seed: {"value": seed}, "") == [{"value": 1}, {"value": 2}]
    first, second = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text(first + second[:kept], encoding="utf-8")
    ran: list[int] = []
    collect(_chosen(path), [*keys, {"seed": 3}], lambda seed: ran.append(seed) or {"value": seed}, "")
    assert ran == [2, 3] and "was not written to the end" in capsys.readouterr().err
    assert [json.loads(line)["found"]["value"] for line in path.read_text(encoding="utf-8").splitlines()] == [1, 2, 3]


@pytest.mark.parametrize("line", ["letters", '{"seed": 1}', "3"])
def test_a_strangers_file_is_named_and_kept(tmp_path: Path, line: str) -> None:
    path = tmp_path / "records.jsonl"
    path.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="line 1 is not the record of a trial"):
        collect(_chosen(path), [{"seed": 1}], lambda seed: {"value": seed}, "")
    assert path.read_text(encoding="utf-8") == f"{line}\n"


def test_processes_find_the_same(tmp_path: Path) -> None:
    def square(value: int, process: int) -> dict[str, int]:
        return {"square": value**2, "process": os.getpid() * process}

    keys = [{"value": k, "process": int(k > 1)} for k in range(4)]
    found = collect(_chosen(tmp_path / "records.jsonl", jobs=2), keys, square, "", together="process")
    assert [row["square"] for row in found] == [k**2 for k in range(4)]
    assert found[2]["process"] == found[3]["process"] not in (0, os.getpid())


def test_errors_of_processes_are_passed_on_also_of_those_that_lack_a_module() -> None:
    with pytest.raises(ModuleNotFoundError, match="benchmarks"):  # a module that was imported by its path
        collect(_chosen(jobs=2), [{"value": 1}, {"value": 2}], _same, "")


def _chosen(records: Path | None = None, jobs: int = 1) -> Namespace:
    return Namespace(records=records, jobs=jobs, scheduler=None)


def _same(value: int) -> dict[str, int]:
    return {"value": value}
