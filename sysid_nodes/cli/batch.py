# SPDX-License-Identifier: Apache-2.0
"""Replays many recordings in parallel, each as 'sysid replay' does, and compares the results.

The folder given by --out gets
  NAME/         what `sysid replay` writes, for each recording
  batch.html    which runs agree, who is out of line, what drifts, with a figure a number
  batch.json    the same for programs, kept up to date while it works
A run that was made before from the same recording, options and version is not made again, so that an interrupted batch
goes on where it was. One whose process dies is tried once more, alone, when all others are done.

Works on processes of this machine, or with --scheduler on the workers of a Dask cluster, which need this package and
the same folders under the same paths.

examples:
  sysid batch bags/ --config config/kinova_gen3.yaml --out results/all
  sysid batch 'bags/2026-*/walk_*' --config config/go2.yaml --mode batch --jobs 4 --out results/walks
  sysid batch bags/ --config config/go2_actuators.yaml --scheduler tcp://head:8786 --out results/drives

exit status: 0 all recordings gave a result; 3 some contradict the stated assumptions; 2 some could not be used
"""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sysid_nodes.cli import replay
from sysid_nodes.cli.batch_job import Job, result_quantities, run_job, run_key
from sysid_nodes.cluster import Cluster, WorkerDied
from sysid_nodes.data.versions import software_versions
from sysid_nodes.exceptions import InputError
from sysid_nodes.logs.recordings import find_recordings, unique_names
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.batch.report import headline, render_batch
from sysid_nodes.reports.batch.table import build_batch, read_batch, write_batch
from sysid_nodes.reports.files import RESULT_NAME
from sysid_nodes.results.batch import BatchRun, Outcome

TABLE, PAGE = "batch.json", "batch.html"
_WRITING = 0.05  # share of the time that keeping the table may take

_ENDED = (Outcome.DONE, Outcome.CONTRADICTION)
"""Outcomes that the same recording and options would have again."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "recordings", nargs="+", metavar="RECORDING|FOLDER|PATTERN", help="recordings, or where they are"
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes on this machine; default: one a core")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="of a Dask cluster to work on instead")
    parser.add_argument("--again", action="store_true", help="make all runs anew")
    replay.add_options(parser)


def run(args: argparse.Namespace) -> int:
    """Makes what runs are missing, writes table and page and returns the exit status."""
    recordings = find_recordings(args.recordings)
    options = _options(args)
    known = _read_earlier(args.out)
    jobs = [Job(name, path.absolute(), args.out.absolute() / name, options) for name, path in
            zip(unique_names(recordings), recordings, strict=True)]  # fmt: skip
    runs = {} if args.again else {job.name: known[job.name] for job in jobs if _is_done(job, known.get(job.name))}
    if runs:
        sys.stderr.write(f"batch: {len(runs)} of {len(jobs)} were done before\n")
    missing = [job for job in jobs if job.name not in runs]
    if missing:
        with (
            Cluster(args.scheduler, _processes(args.jobs, len(missing))) as cluster,
            _Journal(args.out / TABLE, jobs, runs) as journal,
        ):
            for job, outcome in cluster.outcomes(run_job, missing):
                ended = runs[job.name] = conclude_run(job, outcome)
                told = ended.message or ended.outcome.value
                sys.stderr.write(f"batch: {len(runs)} of {len(jobs)}: {ended.name}: {told}\n")
                journal.note()
    document = _document(args.out, _sort_runs(jobs, runs))
    write_batch(args.out / TABLE, document)
    write_atomically(args.out / PAGE, render_batch(document))
    sys.stdout.write(f"{headline(document)}: {args.out / PAGE}\n")
    outcomes = {ended.outcome for ended in runs.values()}
    if outcomes & {Outcome.FAILED, Outcome.LOST}:
        return 2
    return 3 if Outcome.CONTRADICTION in outcomes else 0


def conclude_run(job: Job, outcome: BatchRun | BaseException) -> BatchRun:
    """The run itself, or in its place what became of a job."""
    if isinstance(outcome, BatchRun):
        return outcome
    kind, message = Outcome.LOST, Outcome.LOST.value
    if not isinstance(outcome, WorkerDied):
        kind, message = Outcome.FAILED, f"{type(outcome).__name__}: {' '.join(str(outcome).split())}"
    return BatchRun(job.name, str(job.recording), run_key(job), None, None, kind, message, 0.0)


class _Journal:
    """Context manager: keeps the table up to date while runs end, and writes it on leaving, also by an interrupt.

    Writing takes as long as there are runs. It may take a twentieth of the time, so that many runs do not wait for it.

    Args:
        jobs: all.
        runs: those that have ended, by name; grows.
    """

    def __init__(self, path: Path, jobs: Sequence[Job], runs: Mapping[str, BatchRun]) -> None:
        self._path, self._jobs, self._runs = path, jobs, runs
        self._versions = software_versions()
        self._due = -math.inf

    def __enter__(self) -> _Journal:
        """Makes the folder of the table."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror}", source=str(self._path.parent)) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._write()

    def note(self) -> None:
        """Takes note that there is another run."""
        began = time.monotonic()
        if began >= self._due:
            self._write()
            self._due = began + (time.monotonic() - began) / _WRITING

    def _write(self) -> None:
        write_batch(self._path, build_batch(_sort_runs(self._jobs, self._runs), {}, self._versions))


def _options(args: argparse.Namespace) -> dict[str, Any]:
    """Arguments of each replay; files by absolute paths, for workers that were started elsewhere.

    Raises:
        InputError: one of the files is not there, which would fail every run.
    """
    own = {"recordings", "out", "jobs", "scheduler", "again", "run"}
    given = {name: value for name, value in vars(args).items() if name not in own}
    files = {name: str(Path(given[name]).absolute()) for name in ("urdf", "calibration") if given.get(name)}
    paths = {name: value.absolute() for name, value in given.items() if isinstance(value, Path)}
    for path in (*paths.values(), *map(Path, files.values())):
        if not path.exists():
            raise InputError("No such file or directory", source=str(path))
    return given | files | paths


def _read_earlier(out: Path) -> dict[str, BatchRun]:
    """Runs of an earlier batch in that folder.

    Raises:
        InputError: the folder is a file, holds something else, or cannot be read.
    """
    if (out / TABLE).is_file():
        return {run.name: run for run in read_batch(out / TABLE)}
    try:
        strange = next(out.iterdir(), None) if out.exists() else None
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror}", source=str(out)) from None
    if strange is not None:
        raise InputError(f"the folder is not empty and holds no earlier {TABLE}", source=str(out))
    return {}


def _is_done(job: Job, known: BatchRun | None) -> bool:
    """Whether a run needs not be made again."""
    if known is None or known.outcome not in _ENDED or not (job.out / RESULT_NAME).is_file():
        return False
    return known.key == run_key(job)


def _processes(asked: int | None, jobs: int) -> int:
    if asked is not None and asked < 1:
        raise InputError(f"expected a positive number, got {asked}", source="--jobs")
    return min(asked or os.cpu_count() or 1, jobs)


def _sort_runs(jobs: Sequence[Job], runs: Mapping[str, BatchRun]) -> list[BatchRun]:
    return [runs[job.name] for job in jobs if job.name in runs]


def _document(out: Path, runs: Sequence[BatchRun]) -> dict[str, Any]:
    found = {run.name: result_quantities(out / run.name) for run in runs if run.outcome is Outcome.DONE}
    return build_batch(runs, found, software_versions())
