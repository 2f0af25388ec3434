# SPDX-License-Identifier: Apache-2.0
"""Places for many tasks: processes of this machine or workers of a Dask cluster, by the same code."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from importlib import metadata
from typing import TypeVar

import cloudpickle
import dask
from distributed import Client, Future, KilledWorker, LocalCluster, Nanny, Status, as_completed

from sysid_nodes import DISTRIBUTION
from sysid_nodes.exceptions import InputError
from sysid_nodes.solvers.threads import use_one_blas_thread

T = TypeVar("T")
R = TypeVar("R")

_PATIENCE = "20s"
"""For a scheduler of the user's to answer."""
_LONG_PATIENCE = "300s"
"""For our own: a busy machine is no dead one; starting a process has taken a minute where ten others wanted cores."""
_STARTS = 3
"""How often a process of our own is started that ends before it takes work; it imports for seconds."""
_DASK = {
    "distributed.scheduler.allowed-failures": 0,
    "distributed.comm.timeouts.connect": _LONG_PATIENCE,
    "distributed.comm.timeouts.tcp": _LONG_PATIENCE,
}


def connect(scheduler: str) -> Client:
    """Client of a cluster, to be closed.

    Raises:
        InputError: no scheduler answers at that address, it has no workers, or they lack this version of this package.
    """

    def version(package: str) -> str:  # nested, so that it travels by value to workers that lack the package
        return metadata.version(package)

    try:
        client = Client(scheduler, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        line = f"no Dask scheduler answers ({' '.join(str(error).split())})"
        raise InputError(line, source=scheduler) from None
    found = client.run(version, DISTRIBUTION, on_error="return")
    own = metadata.version(DISTRIBUTION)
    others = [worker for worker, theirs in found.items() if theirs != own]
    if not found or others:
        client.close()
        line = f"worker {others[0]} has no {DISTRIBUTION} {own}" if others else "it has no workers"
        raise InputError(line, source=scheduler)
    return client


def _start_processes(number: int) -> LocalCluster:
    """Processes of this machine.

    Raises:
        InputError: one of them ends whenever it is started.
    """
    try:
        return LocalCluster(
            n_workers=number,
            threads_per_worker=1,  # tasks hold the interpreter, and redirect what they print
            worker_class=PatientNanny,
            dashboard_address="127.0.0.1:0",  # None would be port 8787 of all interfaces
            memory_limit=0,
            silence_logs=logging.CRITICAL,
        )
    except (RuntimeError, TimeoutError):  # of the process, or of taking down the others
        line = f"a process for the work ended {_STARTS} times while it was starting; is there too little memory?"
        raise InputError(line) from None


class WorkerDied(Exception):  # noqa: N818, what happened to a task rather than an error of the caller's
    """A task's process ended while it was at work on it."""


class PatientNanny(Nanny):  # type: ignore[misc]  # distributed has no types
    """Starts a process once more that ended while it was starting; Dask's own replaces those only that have worked."""

    async def instantiate(self) -> Status:
        """Starts the process; what became of it."""
        status: Status = await super().instantiate()
        for _ in range(_STARTS - 1):
            if status == Status.running:
                break
            status = await super().instantiate()
        return status


class Cluster:
    """Context manager.

    Args:
        scheduler: address of a cluster's; None: processes of this machine.
        processes: how many, there.

    Raises:
        InputError: as of `connect`, or the processes do not come to work.
    """

    def __init__(self, scheduler: str | None, processes: int) -> None:
        self._scheduler, self._processes = scheduler, processes

    def __enter__(self) -> Cluster:
        with ExitStack() as opened:
            opened.enter_context(dask.config.set(_DASK))
            if self._scheduler is not None:
                self._client = opened.enter_context(connect(self._scheduler))
            else:
                machine = opened.enter_context(_start_processes(self._processes))
                self._client = opened.enter_context(Client(machine, timeout=_LONG_PATIENCE))
            self._open = opened.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def outcomes(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[T, R | BaseException]]:
        """Each task with its result or what was raised, as they end; WorkerDied where its process ended twice.

        Dask gives up all that a worker that dies had before it, whichever of them was at fault. They run once more at
        the end, one at a time: alone, it is clear.
        """
        died = []
        for future, task in self._submit(work, tasks):
            if isinstance(future.exception(), KilledWorker):
                died.append(task)
            else:
                yield task, future.exception() or future.result()
        for suspect in died:
            for future, task in self._submit(work, [suspect]):
                gone = isinstance(future.exception(), KilledWorker)
                yield task, WorkerDied() if gone else future.exception() or future.result()

    def _submit(self, work: Callable[[T], R], tasks: Sequence[T]) -> Iterator[tuple[Future, T]]:
        def run(packed: bytes) -> R:
            # A nested function travels by value, and the rest as bytes: a worker that lacks a module raises here, where
            # Dask itself would wait for ever.
            prepare, work, task = cloudpickle.loads(packed)
            prepare()
            found: R = work(task)
            return found

        futures = {}
        for task in tasks:
            packed = cloudpickle.dumps((use_one_blas_thread, work, task))
            futures[self._client.submit(run, packed, pure=False)] = task
        return ((future, futures[future]) for future in as_completed(futures))
