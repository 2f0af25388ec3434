# SPDX-License-Identifier: Apache-2.0
"""Where the runs of a batch are made: processes of this machine or workers of a Dask cluster, by the same code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

import dask
from distributed import Client, Future, KilledWorker, LocalCluster, as_completed

from sysid_nodes.cli.batch_job import Job, run_job, run_key
from sysid_nodes.exceptions import InputError
from sysid_nodes.results.batch import BatchRun, Outcome
from sysid_nodes.solvers.threads import use_one_blas_thread

_PATIENCE = "20s"
"""For a scheduler of the user's to answer."""
_LONG_PATIENCE = "300s"
"""For our own: a busy machine is no dead one; starting a process has taken a minute where ten others wanted cores."""
_DASK = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": _LONG_PATIENCE,
    "distributed.comm.timeouts.tcp": _LONG_PATIENCE,
}


class Workers:
    """Context manager.

    Args:
        scheduler: address of a cluster's; None: processes of this machine.
        processes: how many, there.
        work: what makes a run.

    Raises:
        InputError: the scheduler cannot be reached.
    """

    def __init__(self, scheduler: str | None, processes: int, work: Callable[[Job], BatchRun] = run_job) -> None:
        self._scheduler, self._processes, self._work = scheduler, processes, work
        self._open = ExitStack()

    def __enter__(self) -> Workers:
        self._open.enter_context(dask.config.set(_DASK))
        address: LocalCluster | str = self._scheduler or self._open.enter_context(
            LocalCluster(
                n_workers=self._processes,
                threads_per_worker=1,  # replays hold the interpreter, and redirect what they print
                dashboard_address=None,
                memory_limit=0,
                silence_logs=logging.CRITICAL,
            )
        )
        try:
            self._client = self._open.enter_context(
                Client(address, timeout=_PATIENCE if self._scheduler else _LONG_PATIENCE)
            )
        except (OSError, ValueError) as error:
            self._open.close()
            line = f"no Dask scheduler answers ({' '.join(str(error).split())})"
            raise InputError(line, source=str(self._scheduler)) from None
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def outcomes(self, jobs: Sequence[Job]) -> Iterator[BatchRun]:
        """The runs, as they end; those whose process died once more at the end, one at a time.

        Dask gives up all that a worker that dies had before it, whichever of them was at fault; alone, it is clear.
        """
        died = []
        for future, job in self._submit(jobs):
            if isinstance(future.exception(), KilledWorker):
                died.append(job)
            else:
                yield _outcome(future, job)
        for suspect in died:
            for future, job in self._submit([suspect]):
                yield _outcome(future, job)

    def _submit(self, jobs: Sequence[Job]) -> Iterator[tuple[Future, Job]]:
        futures = {self._client.submit(_run, self._work, job, pure=False): job for job in jobs}
        return ((future, futures[future]) for future in as_completed(futures))


def _run(work: Callable[[Job], BatchRun], job: Job) -> BatchRun:
    use_one_blas_thread()
    return work(job)


def _outcome(future: Future, job: Job) -> BatchRun:
    error = future.exception()
    if error is None:
        run: BatchRun = future.result()
        return run
    outcome, message = Outcome.LOST, Outcome.LOST.value
    if not isinstance(error, KilledWorker):
        outcome, message = Outcome.FAILED, f"{type(error).__name__}: {' '.join(str(error).split())}"
    return BatchRun(job.name, str(job.recording), run_key(job), None, None, outcome, message, 0.0)
