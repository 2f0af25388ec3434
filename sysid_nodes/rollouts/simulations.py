# SPDX-License-Identifier: Apache-2.0
"""Simulations on threads: `mujoco.batch` with the drives between its steps, kept alive from one call to the next."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Protocol

import mujoco
import numpy as np
from mujoco.batch import Batch

from sysid_nodes.rollouts.drive import Array, Drive
from sysid_nodes.rollouts.variants import Variants, Work

_CAPACITY = 512  # simulations that are alive at a time; more of them gain nothing on a few cores


class Simulator(Protocol):
    """Anything that simulates: threads here, processes, or another machine."""

    @property
    def steps(self) -> int:
        """Simulation steps made so far."""

    def run(self, variants: Variants, work: Work) -> Array:
        """(B, R, nq + nv) states: the first after `every` steps, then one more every so many; NaN after a failure."""


class Simulations:
    """Simulations of a floating-base robot on threads of this process.

    Results do not depend on the number of threads, nor on what was simulated before.

    Args:
        model: of `build_legged_mujoco`.
        drive: of its joints.
        threads: 0 for one a CPU.
        capacity: simulations at a time.
    """

    def __init__(self, model: mujoco.MjModel, drive: Drive, *, threads: int = 0, capacity: int = _CAPACITY) -> None:
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # a robot that blows up must not jump home
        self._nq, self._drive, self._capacity, self.steps = model.nq, drive, capacity, 0
        self._batch = batch = Batch(model, nsim=capacity, nthread=threads)
        self._qpos, self._qvel, self._force = (batch.bind(name) for name in ("qpos", "qvel", "qfrc_applied"))
        self._warm = batch.bind("qacc_warmstart")
        bodies = ("body_mass", "body_ipos", "body_inertia", "body_iquat")
        self._mass, self._centre, self._moments, self._axes = (batch.expand(name) for name in bodies)
        self._friction, self._reference = batch.expand("pair_friction"), batch.expand("pair_solref")

    def run(self, variants: Variants, work: Work) -> Array:
        """See `Simulator`."""
        out = np.empty((len(work.start), work.steps // work.every, self._nq + self._qvel.shape[1]))
        for begin in range(0, len(work.start), self._capacity):
            part = work.part(begin, begin + self._capacity)
            for k, state in enumerate(self._run(variants, part)):
                out[begin : begin + len(part.start), k] = state
        return out

    def _run(self, variants: Variants, work: Work) -> Iterator[Array]:
        count, which, nq = len(work.start), work.variant, self._nq
        ids = np.arange(count)
        self._set_model(variants, work, ids)
        q, v, force = self._qpos[:count], self._qvel[:count], self._force[:count]
        q[:], v[:], force[:, :6], self._warm[:count] = work.start[:, :nq], work.start[:, nq:], 0.0, 0.0
        gain, weakness, dry = variants.gain[which], variants.weakness[which], variants.dry[which]
        for step in range(work.steps):
            targets = work.targets[work.clip, step]
            force[:, 6:] = self._drive.torque(targets, q[:, 7:], v[:, 6:], gain, weakness, dry)
            self._batch.step(ids)
            if (step + 1) % work.every == 0:
                yield np.concatenate([q, v], axis=1)
        self.steps += count * work.steps

    def _set_model(self, variants: Variants, work: Work, ids: np.typing.NDArray[np.int64]) -> None:
        which = work.variant
        bodies = np.array(variants.bodies, dtype=np.intp) + 1  # MuJoCo's first is the world
        at = np.ix_(ids, bodies)
        mass, centre, moments, axes = variants.principal
        self._mass[at], self._centre[at] = mass[which], centre[which]
        self._moments[at], self._axes[at] = moments[which], axes[which]
        self._friction[ids, :, :2] = variants.friction[which, None, None]
        self._reference[ids, :, 0] = variants.time_constant[which, None]
        self._batch.set_const(ids)


class FinerSimulations:
    """The same simulations in smaller steps, to see what the size of a step does.

    Args:
        simulator: of a model whose step is a part of the original one.
        parts: how many of its steps make one of the original's.
    """

    def __init__(self, simulator: Simulator, parts: int) -> None:
        self._simulator, self._parts = simulator, parts

    @property
    def steps(self) -> int:
        """Steps made so far, the small ones."""
        return self._simulator.steps

    def run(self, variants: Variants, work: Work) -> Array:
        """See `Simulator`; times are those of the original steps."""
        targets = np.repeat(work.targets, self._parts, axis=1)
        return self._simulator.run(variants, replace(work, targets=targets, every=self._parts * work.every))
