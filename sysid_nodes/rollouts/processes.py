# SPDX-License-Identifier: Apache-2.0
"""Simulations on processes: the same numbers as on threads, where threads of one process are in one another's way."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor, wait
from itertools import pairwise
from multiprocessing import get_context

import mujoco
import numpy as np

from sysid_nodes.exceptions import OverdueError
from sysid_nodes.rollouts.drive import Array, Drive
from sysid_nodes.rollouts.simulations import Simulations
from sysid_nodes.rollouts.variants import Variants, Work

_own: dict[str, Simulations] = {}
"""Of a worker process; empty elsewhere."""


class ProcessSimulations:
    """A pool of processes with one thread each; close it, or use it in a with statement.

    Args:
        model, drive: as of `Simulations`.
        processes: how many.
    """

    def __init__(self, model: mujoco.MjModel, drive: Drive, *, processes: int) -> None:
        self.steps, self._count = 0, processes
        # Forked children would inherit the threads' locks of MuJoCo's pool.
        self._pool = ProcessPoolExecutor(processes, get_context("spawn"), _begin, (model, drive))

    def __enter__(self) -> ProcessSimulations:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends the processes."""
        self._pool.shutdown(cancel_futures=True)

    def run(self, variants: Variants, work: Work) -> Array:
        """See `Simulator`.

        Raises:
            OverdueError: a process hangs; then all are ended.
        """
        edges = np.linspace(0, len(work.start), self._count + 1).astype(int)
        parts = [self._pool.submit(_run, variants, work.part(a, b)) for a, b in pairwise(edges) if b > a]
        if wait(parts, work.longest).not_done:
            for process in list(self._pool._processes.values()):  # nothing else ends what hangs, and all wait for it
                process.kill()
            raise OverdueError(f"processes have not simulated {len(work.start)} clips within {work.longest:.0f} s")
        out = np.concatenate([part.result() for part in parts])
        self.steps += len(work.start) * work.steps
        return out


def _begin(model: mujoco.MjModel, drive: Drive) -> None:
    _own["simulations"] = Simulations(model, drive, threads=1)


def _run(variants: Variants, work: Work) -> Array:
    return _own["simulations"].run(variants, work)
