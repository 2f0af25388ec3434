# SPDX-License-Identifier: Apache-2.0
"""Many recordings in one command, in processes of their own: table, page, going on, and workers that die."""

from __future__ import annotations

import json
import os
import shutil
import socket
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from shared.recorded import PAPER

from sysid_nodes.cli import batch
from sysid_nodes.cli.batch import conclude_run
from sysid_nodes.cli.batch_job import Job, run_key
from sysid_nodes.cli.main import main
from sysid_nodes.cluster import Cluster
from sysid_nodes.results.batch import BatchRun, Outcome


@pytest.fixture
def bags(log: Path, tmp_path: Path) -> Path:
    """A recording, and one that is damaged."""
    shutil.copytree(log, tmp_path / "bags/good")
    (tmp_path / "bags/damaged.mcap").write_bytes(b"nothing")
    return tmp_path / "bags"


def test_a_batch_makes_results_table_and_page_and_goes_on_where_it_was(
    bags: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    command = ["batch", str(bags), *PAPER, "--out", str(out), "--jobs", "1"]
    assert main(command) == 2
    document = json.loads((out / "batch.json").read_text())
    assert {run["name"]: run["outcome"] for run in document["runs"]} == {"damaged": "FAILED", "good": "DONE"}
    assert next(row for row in document["quantities"] if row["name"] == "m")["values"][0]["run"] == "good"
    assert "good/report.html" in (out / "batch.html").read_text()
    assert "damaged" in capsys.readouterr().err

    before = (out / "good/result.json").stat().st_mtime_ns
    (bags / "damaged.mcap").unlink()
    assert main(command) == 0
    said = capsys.readouterr()
    assert "1 of 1 were done before" in said.err
    assert "1 of 1 recordings gave a result" in said.out
    assert (out / "good/result.json").stat().st_mtime_ns == before


def test_another_recording_configuration_or_option_is_another_run(bags: Path, tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text("a")
    options = {"config": config, "settings": ["window.duration=0.2"], "urdf": None, "relax": None}
    job = Job("good", bags / "good", tmp_path / "out", options)
    key = run_key(job)
    assert run_key(replace(job, out=tmp_path / "elsewhere")) == key
    assert run_key(replace(job, recording=bags / "damaged.mcap")) != key
    assert run_key(replace(job, options=options | {"settings": ["window.duration=0.3"]})) != key
    assert run_key(replace(job, options=options | {"relax": True})) != key
    config.write_text("bc")
    changed = run_key(job)
    assert changed != key
    os.utime(next((bags / "good").glob("*.mcap")), ns=(0, 0))
    assert run_key(job) != changed


def test_keeping_the_table_takes_a_twentieth_of_the_time_and_an_interrupt_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, rows = 0.0, []

    def write(_: Path, document: dict[str, Any]) -> None:
        nonlocal now
        now += 1e-4 * len(document["runs"])
        rows.append(len(document["runs"]))

    monkeypatch.setattr(batch, "write_batch", write)
    monkeypatch.setattr(batch.time, "monotonic", lambda: now)
    jobs = [Job(str(k), tmp_path, tmp_path, {}) for k in range(1000)]
    runs: dict[str, BatchRun] = {}

    def work() -> None:
        nonlocal now
        with batch._Journal(tmp_path / batch.TABLE, jobs, runs) as journal:
            for job in jobs:
                now += 0.01
                runs[job.name] = BatchRun(job.name, "", "", 0.0, 1.0, Outcome.DONE, "", 0.0)
                journal.note()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert (rows[0], rows[-1]) == (1, 1000)
    assert 8 < len(rows) < 200
    assert 1e-4 * sum(rows[:-1]) < 0.08 * now


@pytest.mark.slow  # without recordings: test_cluster.py
def test_a_process_that_dies_loses_its_own_run_alone(tmp_path: Path) -> None:
    def work(job: Job) -> BatchRun:
        if job.name == "deadly":
            os._exit(1)
        if job.name == "broken":
            raise RuntimeError("a mistake of ours")
        return BatchRun(job.name, str(job.recording), "", 0.0, 1.0, Outcome.DONE, "", 0.0)

    jobs = [Job(name, tmp_path, tmp_path, {}) for name in ("a", "deadly", "b", "broken")]
    with socket.socket() as other:
        with suppress(OSError):  # some program has it
            other.bind(("", 8787))  # where Dask lets people look on, unless told otherwise
            other.listen()
        with Cluster(None, 1) as cluster:
            ended = {job.name: conclude_run(job, outcome) for job, outcome in cluster.outcomes(work, jobs)}
    assert {name: run.outcome for name, run in ended.items()} == {
        "a": Outcome.DONE, "b": Outcome.DONE, "deadly": Outcome.LOST, "broken": Outcome.FAILED,
    }  # fmt: skip
    assert "a mistake of ours" in ended["broken"].message


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--jobs", "0"], "--jobs: expected a positive number, got 0"),
        (["--scheduler", "nonsense://x"], "no Dask scheduler answers"),
        (["--calibration", "nowhere.json"], "nowhere.json: No such file or directory"),
    ],
)
def test_bad_input_is_one_line(
    bags: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], extra: list[str], message: str
) -> None:
    assert main(["batch", str(bags / "good"), *PAPER, "--out", str(tmp_path / "out"), *extra]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_strangers_folder_is_left_alone(bags: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "letters.txt").touch()
    assert main(["batch", str(bags), *PAPER, "--out", str(tmp_path)]) == 2
    assert "not empty and holds no earlier batch.json" in capsys.readouterr().err
