# SPDX-License-Identifier: Apache-2.0
"""One recording of a batch: a replay in a worker's process, and what is read of its result."""

from __future__ import annotations

import argparse
import io
import time
from collections.abc import Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_nodes import __version__
from sysid_nodes.cli import replay
from sysid_nodes.cli.systems import maker_of
from sysid_nodes.data.digest import digest
from sysid_nodes.exceptions import InputError, SysidError
from sysid_nodes.logs.recordings import recorded_span
from sysid_nodes.reports.files import REPORT_NAME, read_document
from sysid_nodes.results.batch import BatchRun, Outcome
from sysid_nodes.results.quantity import Quantity

_OUTCOMES = {0: Outcome.DONE, 3: Outcome.CONTRADICTION}


@dataclass(frozen=True)
class Job:
    """A recording to replay.

    Attributes:
        recording: absolute path.
        out: absolute path of the folder for its results.
        options: arguments of `sysid replay` beside those two.
    """

    name: str
    recording: Path
    out: Path
    options: Mapping[str, Any]


def run_job(job: Job) -> BatchRun:
    """Replays; whatever is wrong with a recording is an outcome, not an error."""
    began = time.monotonic()
    start = duration = None
    said = io.StringIO()
    try:
        start, duration = recorded_span(job.recording)
        with redirect_stdout(said), redirect_stderr(said):
            args = argparse.Namespace(bag=job.recording, out=job.out, **job.options)
            outcome = _OUTCOMES.get(replay.run(args), Outcome.FAILED)
        lines = said.getvalue().splitlines()
        message = lines[-1].removeprefix("sysid: ").removesuffix(f": {job.out / REPORT_NAME}") if lines else ""
    except SysidError as error:
        outcome, message = Outcome.FAILED, " ".join(str(error).split())
    return BatchRun(job.name, str(job.recording), run_key(job), start, duration, outcome, message,
                    time.monotonic() - began)  # fmt: skip


def run_key(job: Job) -> str:
    """Digest of all that a run's result depends on: files by path, size and time of change."""
    options = {name: _fingerprint(value) for name, value in job.options.items()}
    return digest(__version__, _stat(job.recording), options)


def result_quantities(folder: Path) -> list[Quantity]:
    """The numbers in a folder of results.

    Raises:
        InputError: there is no readable result in it.
    """
    document = read_document(folder)
    entry = maker_of(document, folder)
    if entry is None:
        raise InputError(f"nothing is known of results of '{document.get('pipeline')}'", source=str(folder))
    return entry.load().report.quantities(document)


def _fingerprint(value: Any) -> Any:
    if isinstance(value, list):
        return [_fingerprint(item) for item in value]
    if isinstance(value, Path) or (isinstance(value, str) and value.startswith("/")):
        return _stat(Path(value))
    return "" if value is None else value


def _stat(path: Path) -> list[Any]:
    """Of a file, or of all files in a folder."""
    try:
        files = sorted(path.iterdir()) if path.is_dir() else [path]
        return [[str(file), (stat := file.stat()).st_size, stat.st_mtime_ns] for file in files]
    except OSError:
        return [str(path)]
