# SPDX-License-Identifier: Apache-2.0
"""Simulations with drives between their steps; on threads by `mujoco.batch`, kept alive from one call to the next."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Protocol

import mujoco
import numpy as np
from mujoco.batch import Batch

from sysid_nodes.rollouts.drive import Array, Bristles, Drive
from sysid_nodes.rollouts.rotations import drift
from sysid_nodes.rollouts.variants import IntArray, Variants, Work

Law = Callable[[int], Array]

GIVES = 5e-4
"""Way in which the bristles of dry friction come loose, unless said [rad]."""

CAPACITY = 512  # simulations that are alive at a time; more of them gain nothing on a few cores


def _say_nothing(_: str) -> None:
    """A simulation that fails is not a number in the results; MuJoCo would print, and write a file, for each."""


class Simulator(Protocol):
    """Anything that simulates: threads here, processes, or another machine."""

    @property
    def steps(self) -> int:
        """Simulation steps made so far."""

    def run(self, variants: Variants, work: Work) -> Array:
        """(B, R, nq + nv) states: the first after `every` steps, then one more every so many; NaN after a failure."""


class ClosableSimulator(Simulator, Protocol):
    """One with processes or a connection of its own."""

    def close(self) -> None:
        """Lets go of them."""


class DrivenSimulations(ABC):
    """Simulations of a floating-base robot with its drives between their steps, whoever steps them.

    Args:
        model: of `build_legged_mujoco`.
        drive: of its joints.
        capacity: simulations at a time.
        gives: way in which a variant's bristles come loose [rad].

    Attributes:
        timestep: of the model [s].
        joints: n.
        positions, velocities: live states (B, nq), (B, nv) of what `follow` simulates.
    """

    positions: Array
    velocities: Array

    def __init__(self, model: mujoco.MjModel, drive: Drive, capacity: int, gives: float) -> None:
        self._nq, self._drive, self._gives, self.capacity, self.steps = model.nq, drive, gives, capacity, 0
        self.timestep, self.joints = float(model.opt.timestep), model.nv - 6
        self._known = model.dof_frictionloss[6:].copy()  # what the robot's description has already

    @abstractmethod
    def _begin(self, variants: Variants, which: IntArray, start: Array) -> None:
        """Sets B models and states; `positions` and `velocities` are then theirs."""

    @abstractmethod
    def _step(self, torque: Array) -> None:
        """All B by one step, with torques (B, n) on their joints."""

    def run(self, variants: Variants, work: Work) -> Array:
        """See `Simulator`."""
        out = np.empty((len(work.start), work.steps // work.every, self._nq + self.joints + 6))
        for begin in range(0, len(work.start), self.capacity):
            part = work.part(begin, begin + self.capacity)
            for k, state in enumerate(self._run(variants, part)):
                out[begin : begin + len(part.start), k] = state
        return out

    def follow(self, variants: Variants, which: IntArray, start: Array, steps: int, law: Law) -> Iterator[Array]:
        """Torques (B, n) of every step once it is made; `positions` and `velocities` are then the states after it.

        Args:
            variants: sets of parameters.
            which: (B,) the set of each simulation, B at most the capacity.
            start: (B, nq + nv) states.
            steps: to make.
            law: set-points (B, n) for a step by its number, to be held over it.
        """
        self._begin(variants, which, start)
        q, v = self.positions, self.velocities
        gain, weakness, dry = variants.gain[which], variants.weakness[which], variants.dry[which]
        strength = variants.bristles[which]
        bristles = Bristles(v[:, 6:], q[:, 7:], self._gives) if strength.any() else None
        before = v[:, 6:].copy()
        for step in range(steps):
            # A velocity of semi-implicit Euler belongs half a step before its configuration; damping that lags by that
            # would act as if the joints had less armature, and the base be found with more inertia for it.
            w = 1.5 * v[:, 6:] - 0.5 * before
            before[:] = v[:, 6:]
            torque = self._drive.torque(law(step), q[:, 7:], w, gain, weakness, dry)
            if bristles is not None:
                torque += strength * bristles.move(q[:, 7:])
            self._step(torque)
            yield torque
        self.steps += len(start) * steps

    def _run(self, variants: Variants, work: Work) -> Iterator[Array]:
        made = self.follow(variants, work.variant, work.start, work.steps, lambda step: work.targets[work.clip, step])
        for step, _ in enumerate(made, start=1):
            if step % work.every == 0:
                yield np.concatenate([self.positions, self.velocities], axis=1)


class Simulations(DrivenSimulations):
    """On threads of this process.

    Results do not depend on the number of threads, nor on what was simulated before.

    Args:
        model, drive, capacity, gives: as of `DrivenSimulations`.
        threads: 0 for one a CPU.
    """

    def __init__(
        self,
        model: mujoco.MjModel,
        drive: Drive,
        *,
        threads: int = 0,
        capacity: int = CAPACITY,
        gives: float = GIVES,
    ) -> None:
        super().__init__(model, drive, capacity, gives)
        mujoco.set_mju_user_warning(_say_nothing)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # a robot that blows up must not jump home
        self._batch = batch = Batch(model, nsim=capacity, nthread=threads)
        self._qpos, self._qvel, self._force = (batch.bind(name) for name in ("qpos", "qvel", "qfrc_applied"))
        self._warm = batch.bind("qacc_warmstart")
        self.positions, self.velocities = self._qpos[:0], self._qvel[:0]
        bodies = ("body_mass", "body_ipos", "body_inertia", "body_iquat")
        self._mass, self._centre, self._moments, self._axes = (batch.expand(name) for name in bodies)
        self._friction, self._reference = batch.expand("pair_friction"), batch.expand("pair_solref")
        self._loss, self._ids = batch.expand("dof_frictionloss"), np.arange(0)
        self._bodies: tuple[int, ...] = ()
        self._inertia = np.empty((capacity, 0, 10))

    def _begin(self, variants: Variants, which: IntArray, start: Array) -> None:
        self._ids = ids = np.arange(len(start))
        self._set_model(variants, which, ids)
        self.positions, self.velocities = q, v = self._qpos[: len(ids)], self._qvel[: len(ids)]
        q[:], v[:], self._force[: len(ids)], self._warm[: len(ids)] = (
            start[:, : self._nq],
            start[:, self._nq :],
            0.0,
            0.0,
        )

    def _step(self, torque: Array) -> None:
        self._force[: len(torque), 6:] = torque
        self._batch.step(self._ids)

    def _set_model(self, variants: Variants, which: IntArray, ids: IntArray) -> None:
        self._set_inertia(variants, which)
        self._loss[ids, 6:] = self._known + variants.holding[which]
        self._friction[ids, :, :2] = variants.friction[which, None, None]
        self._reference[ids, :, 0] = variants.time_constant[which, None]

    def _set_inertia(self, variants: Variants, which: IntArray) -> None:
        """Inertia of each; what follows from it costs as much as a step, and is computed only where that is another."""
        wanted = variants.inertia[which]
        if self._bodies != variants.bodies:
            self._bodies, self._inertia = variants.bodies, np.full((self.capacity, *wanted.shape[1:]), np.nan)
        ids = np.flatnonzero((self._inertia[: len(which)] != wanted).any(axis=(1, 2)))
        if not len(ids):
            return
        self._inertia[ids] = wanted[ids]
        at = np.ix_(ids, np.array(variants.bodies, dtype=np.intp) + 1)  # MuJoCo's first is the world
        for field, values in zip(
            (self._mass, self._centre, self._moments, self._axes), variants.principal, strict=True
        ):
            field[at] = values[which[ids]]
        self._batch.set_const(ids)


class FinerSimulations:
    """The same simulations in smaller steps, to see what the size of a step does.

    Semi-implicit Euler's configurations belong half a step after its velocities, whatever the step is, and states that
    come and go are those of the original one.

    Args:
        simulator: of a model whose step is a part of the original one.
        step: the original one [s].
        parts: how many of its steps make one of the original's.
    """

    def __init__(self, simulator: Simulator, step: float, parts: int) -> None:
        self._simulator, self._parts, self._ahead = simulator, parts, 0.5 * step * (1.0 - 1.0 / parts)

    @property
    def steps(self) -> int:
        """Steps made so far, the small ones."""
        return self._simulator.steps

    def run(self, variants: Variants, work: Work) -> Array:
        """See `Simulator`; times are those of the original steps."""
        start, targets = drift(work.start, -self._ahead), np.repeat(work.targets, self._parts, axis=1)
        fine = replace(work, start=start, targets=targets, every=self._parts * work.every)
        return drift(self._simulator.run(variants, fine), self._ahead)


class ExtrapolatedSimulations:
    """Simulations in no steps at all, as those of half and of a quarter of the step tell of them (Richardson).

    Their errors being proportional to the step. Quaternions come out normal but for squares of the difference.

    Args:
        half, quarter: the two.
    """

    def __init__(self, half: Simulator, quarter: Simulator) -> None:
        self._half, self._quarter = half, quarter

    @property
    def steps(self) -> int:
        """Steps made so far by both."""
        return self._half.steps + self._quarter.steps

    def run(self, variants: Variants, work: Work) -> Array:
        """See `Simulator`; NaN where one of them has failed."""
        return 2.0 * self._quarter.run(variants, work) - self._half.run(variants, work)
