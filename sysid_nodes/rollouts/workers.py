# SPDX-License-Identifier: Apache-2.0
"""Simulations on the workers of a Dask cluster: the same numbers as on threads of this machine."""

from __future__ import annotations

import threading
import time
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from itertools import pairwise
from typing import Any

import cloudpickle
import mujoco
import numpy as np
from distributed import Future, KilledWorker, wait

from sysid_nodes.cluster import connect
from sysid_nodes.exceptions import InputError, OverdueError
from sysid_nodes.rollouts.drive import Array, Drive
from sysid_nodes.rollouts.simulations import Simulations
from sysid_nodes.rollouts.variants import Variants, Work
from sysid_nodes.solvers.threads import use_one_blas_thread

_LOOK = "5s"
"""After which a worker that is not heard of is looked for."""

_GONE = "the workers that were to simulate have gone"

_own = threading.local()
"""Of a thread of a worker: the model that it simulates, as bytes, and its simulations."""


class WorkerSimulations:
    """Every thread of every worker has a share of each call; close it, or use it in a with statement.

    Args:
        model, drive: as of `Simulations`.
        scheduler: address of the cluster's.

    Raises:
        InputError: as of `connect`.
    """

    def __init__(self, model: mujoco.MjModel, drive: Drive, *, scheduler: str) -> None:
        self.steps, self._scheduler = 0, scheduler
        self._client = connect(scheduler)
        # Workers get model and drive once, as bytes: what a worker cannot read it is to say, and not to wait for.
        self._robot = self._client.scatter(cloudpickle.dumps((model, drive)), broadcast=True)

    def __enter__(self) -> WorkerSimulations:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the cluster; its workers go on."""
        self._client.close()

    def run(self, variants: Variants, work: Work) -> Array:
        """See `Simulator`.

        Raises:
            InputError: the cluster has lost all workers, or one of them cannot simulate.
            OverdueError: a worker hangs.
        """

        def simulate(robot: bytes, packed: bytes) -> Array:  # nested, so that it travels by value
            run_part, variants, part = cloudpickle.loads(packed)
            found: Array = run_part(robot, variants, part)
            return found

        count = max(sum(self._client.nthreads().values()), 1)
        edges = np.unique(np.linspace(0, len(work.start), count + 1).astype(int))
        parts = [cloudpickle.dumps((_run_part, variants, work.part(a, b))) for a, b in pairwise(edges)]
        futures = [self._client.submit(simulate, self._robot, part, pure=False) for part in parts]
        self._wait(futures, work)
        self.steps += len(work.start) * work.steps
        return np.concatenate([self._result(future) for future in futures])

    def _wait(self, futures: list[Future], work: Work) -> None:
        deadline = time.monotonic() + work.longest
        while time.monotonic() < deadline:
            try:
                wait(futures, timeout=_LOOK)
            except (TimeoutError, FutureTimeoutError):
                if not self._client.nthreads():
                    raise InputError(_GONE, source=self._scheduler) from None
            except CancelledError:  # nobody is left who has the robot
                raise InputError(_GONE, source=self._scheduler) from None
            else:
                return
        self._client.cancel(futures)
        raise OverdueError(f"workers have not simulated {len(work.start)} clips within {work.longest:.0f} s")

    def _result(self, future: Future) -> Any:
        try:
            return future.result()
        except KilledWorker:
            raise InputError("a worker's process ended while it simulated", source=self._scheduler) from None
        except (ImportError, AttributeError) as error:
            line = f"a worker cannot simulate: {type(error).__name__}: {error}"
            raise InputError(line, source=self._scheduler) from None


def _run_part(robot: bytes, variants: Variants, work: Work) -> Array:
    """Simulations of a worker's thread, kept from one call to the next."""
    if getattr(_own, "robot", b"") != robot:
        use_one_blas_thread()
        model, drive = cloudpickle.loads(robot)
        _own.robot, _own.simulations = robot, Simulations(model, drive, threads=1)
    found: Array = _own.simulations.run(variants, work)
    return found
