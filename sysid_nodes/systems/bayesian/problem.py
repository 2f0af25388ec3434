# SPDX-License-Identifier: Apache-2.0
"""The MAP problem of a log: joint positions of all stages, loop forces of the inner ones, theta.

Velocities and accelerations are central differences of positions, so that positions are the only states; with loops
closed at the position level, velocities and accelerations need no closing of their own and nothing drifts (the paper
closes accelerations, with Baumgarte's terms). At an inner stage T (mechanism.py) gives residuals

    position:   (q - reading) / sigma                         joints that are read
    torque:     (gain T + offset - reading at t + delay) / sigma        joints with a motor
    passive:    T / sigma                                     joints without
    power:      (sum (T v + loss T^2) + idle + a user's own term - reading) / sigma.

The paper's disturbance w and its hard inverse dynamics T = S u + w are the second and third, w eliminated; eliminating
the loop forces leaves of it what moves the mechanism (the paper's projector, eq. 36). The gain is on the torque's side:
were it on the reading's, scaling everything down would pay. A reading that is late is moved along its own slope.
Stages in which a joint stands still or its friction turns too fast have no torque: a linear model of them claims to
know a speed by a torque that it changes within a hundredth of it. Their power has a larger sigma, and so have torques
where loops hold forces that nothing else tells (turning.py).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.parameter_program import ParameterRows
from sysid_nodes.solvers.trajectory_least_squares.stage_equalities import StageEqualities
from sysid_nodes.systems.bayesian.contacts import AHEAD
from sysid_nodes.systems.bayesian.estimate import Estimate, LogInformation, Noise, Weights
from sysid_nodes.systems.bayesian.free_motion import accelerations_missed
from sysid_nodes.systems.bayesian.impact_residuals import linearise_impact
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion, Torque
from sysid_nodes.systems.bayesian.rows import Rows
from sysid_nodes.systems.bayesian.standing import smoothed_stretches, standing_stages

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]
IntArray = npt.NDArray[np.intp]

FORCE_SIGMA = 1e5
"""Prior of loop forces [N]: only so that they are determined where neither motors nor joints tell them."""

FINEST = 1e-7
"""Noise of an encoder at least [rad]: a joint that stands still shows none at all."""

GROUPS = ("position", "torque", "passive", "power", "force", "prior", "told", "impact", "unread")


@dataclass(frozen=True)
class MechanismProblem:
    """Residuals, equalities and constraints of a log.

    Attributes:
        mechanism: with its constants.
        log: readings.
        noise: of the readings.
        turning: (N - 2, m) stages at which a motor's friction is not to be told from its speed: it turns, or stands.
        told: by parts of the log before this one; None for the first.
        weights: of the readings by a robust loss; None where all count.
        power_doubt: (N - 2,) standard deviation of power that friction of such joints leaves open [W]; None where
            stages with one of them are to tell no power.
        torque_doubt: (N - 2, m) the same of such joints' torques [N m]; None where they are to tell nothing.
        reference: (N - 2, n, n) mass matrices of the estimate before, where errors of torques act on the motion
            (free_motion.py); None where they are the readings'.
    """

    mechanism: Mechanism
    log: MechanismLog
    noise: Noise
    turning: BoolArray
    told: LogInformation | None = None
    weights: Weights | None = None
    power_doubt: Array | None = None
    torque_doubt: Array | None = None
    reference: Array | None = None

    @property
    def layout(self) -> Layout:
        return Layout(
            self.log.stages,
            self.mechanism.chain.n,
            len(self.mechanism.parameters.free),
            self.mechanism.closures.count,
        )

    def retract(self, point: Estimate, stage_step: Array, parameter_step: Array, local_step: Array) -> Estimate:
        x = point.x.copy()
        x[self.mechanism.parameters.free] += parameter_step
        return Estimate(point.q + stage_step, point.force + local_step, x)

    def residuals(self, point: Estimate) -> list[Array]:
        return [blocks.residual for blocks in self._blocks(point, None)]

    def linearise(self, point: Estimate) -> list[Blocks]:
        found = self.mechanism.linearise(self.motion(point), point.x)
        return self._blocks(point, replace(found, by_force=found.by_force * self.holds[1:-1, None]))

    @cached_property
    def holds(self) -> BoolArray:
        """(N, c) which equalities of loops and contacts hold."""
        return self.mechanism.contacts.holds(self.mechanism.closures.count, self.log.stages, self.log.step)

    def stage_equalities(self, point: Estimate) -> StageEqualities:
        closures, (count, n) = self.mechanism.closures, point.q.shape
        if not closures.count:
            return StageEqualities(np.zeros((count, 0)), np.zeros((count, 0, n)))
        return StageEqualities(*closures.linearise(point.q), self.holds)

    def parameter_rows(self, point: Estimate) -> ParameterRows:
        return self.mechanism.parameters.rows(point.x)

    def motion(self, point: Estimate) -> Motion:
        """The motion at the inner stages."""
        v, a = self.mechanism.contacts.inner_motion(point.q, point.x, self.log.step)
        return Motion(point.q[1:-1], v, a, point.force[1:-1] * self.holds[1:-1])

    def _blocks(self, point: Estimate, found: Torque | None) -> list[Blocks]:
        """All groups; without derivatives (empty Jacobians) where `found` is not given."""
        motion, own = self.motion(point), self.mechanism.parameters
        torque = self.mechanism.torque(motion, point.x) if found is None else found.value
        missed, rows = torque, None
        if self.reference is not None:
            missed, rows = accelerations_missed(self, self.reference, point, motion, torque, derive=found is not None)
        elif found is not None:
            rows = Rows.of(found, np.arange(own.n))
        groups = [self._position(point), self._torque(point, missed, rows)]
        (passive,) = np.nonzero(~own.motors)
        rows = None if rows is None else rows.of_joints(passive).scale(1.0 / self.noise.passive)
        stages = np.arange(1, self.log.stages - 1)
        groups.append(self._dynamic(missed[:, passive] / self.noise.passive, rows, stages, point.x))
        groups.append(self._power(point, motion, torque, found))
        c = point.force.shape[1]
        local = np.tile(np.eye(c) / FORCE_SIGMA, (len(stages), 1, 1))
        empty = np.zeros((len(stages), c, own.n))
        held = Blocks(stages, point.force[1:-1] / FORCE_SIGMA, empty, None, local, stages, measures=True)
        groups.append(held if c else Blocks(stages[:0], np.zeros((0, 0)), np.zeros((0, 0, own.n))))
        sigma = own.sigma[own.free]
        prior = self._constants((point.x - own.mean)[own.free] / sigma, np.diag(1.0 / sigma))
        groups.append(replace(prior, measures=True))
        told = self.told or LogInformation(np.zeros((0, len(sigma))), np.zeros(0))
        by_theta = np.zeros((len(told.root), 0)) if found is None else told.root @ own.linear(point.x)[1]
        groups.append(self._constants(told.root @ own.of_torques(point.x) - told.target, by_theta))
        groups.append(self._impacts(point, motion, derive=found is not None))
        groups.append(self._unread(point))
        return groups

    def _constants(self, value: Array, by_theta: Array) -> Blocks:
        """Residuals of the constants alone."""
        none = np.zeros((1, len(value), self.mechanism.chain.n))
        return Blocks(np.array([0]), value[None], none, by_theta[None])

    @property
    def _weights(self) -> Weights:
        return self.weights or Weights.full(self.log)

    def _position(self, point: Estimate) -> Blocks:
        read, whole = self._read_positions
        return self._near(point, self.readings, self.position_sigma, np.flatnonzero(whole), read)

    def _unread(self, point: Estimate) -> Blocks:
        """Positions of stages that were not read, somewhere in the range of all that were.

        Torques tell such a position, unless friction turns in all stages that it has to do with: then nothing would.
        """
        read, whole = self._read_positions
        return self._near(point, *self._ranges, np.flatnonzero(~whole), read)

    @cached_property
    def _ranges(self) -> tuple[Array, Array]:
        """(N, n) positions between the readings, and how far these reach; zero and one where a joint is not read."""
        (read, whole), position = self._read_positions, self.log.position
        guess, sigma, (there,) = np.zeros(position.shape), np.ones(position.shape), np.nonzero(whole)
        for j in read if not whole.all() else ():
            guess[:, j] = np.interp(np.arange(len(guess)), there, position[there, j])
            sigma[:, j] = max(float(np.ptp(position[there, j])), float(self.noise.position[j]))
        return guess, sigma

    @cached_property
    def _read_positions(self) -> tuple[IntArray, BoolArray]:
        """Joints that are read, and (N,) whether all of these are."""
        there = np.isfinite(self.log.position)
        read = np.flatnonzero(there.any(axis=0))
        return read, np.asarray(there[:, read].all(axis=1))

    def _near(self, point: Estimate, wanted: Array, sigma: Array, stages: IntArray, joints: IntArray) -> Blocks:
        """Positions less (N, n) what they are to be, in sigmas (N, n), of some stages and joints."""
        at = np.ix_(stages, joints)
        jacobian = np.zeros((len(stages), len(joints), point.q.shape[1]))
        jacobian[:, np.arange(len(joints)), joints] = 1.0 / sigma[at]
        return Blocks(stages, (point.q - wanted)[at] / sigma[at], jacobian, measures=True)

    @property
    def uncounted(self) -> BoolArray:
        """(N - 2, m) torques that tell nothing of noise: friction turns there, or they are not read."""
        return np.asarray(self.turning | self.log.unread)

    @property
    def torque_sigma(self) -> Array:
        """(N - 2, m) of torques, but for weights [N m]."""
        doubt = np.inf if self.torque_doubt is None else np.hypot(self.noise.torque, self.torque_doubt)
        return np.where(self.log.unread, np.inf, np.where(self.turning, doubt, self.noise.torque))

    @cached_property
    def stands(self) -> BoolArray:
        """(N, n) stages at which a joint is held to its smoothed readings (standing.py).

        Not where loops close: joints that hold each other cannot all be where their readings say.
        """
        own, found = self.mechanism.parameters, np.zeros(self.log.position.shape, dtype=np.bool_)
        if not self.mechanism.closures.count:
            found[:, own.motors] = standing_stages(self.turning)
        return found

    @property
    def position_sigma(self) -> Array:
        """(N, n) of `readings`: next to nothing where a joint stands, for they are smoothed."""
        return np.where(self.stands, FINEST, self.position_noise / np.sqrt(self._weights.position))

    @cached_property
    def readings(self) -> Array:
        """(N, n) positions, smoothed where a joint stands."""
        position = self.log.position.copy()
        for j in np.flatnonzero(self.stands.any(axis=0)):
            position[:, j] = smoothed_stretches(position[:, j], self.stands[:, j], self.log.step)
        return position

    @property
    def position_noise(self) -> Array:
        """(n,) of the readings; of joints that stand all along, their scatter where it is less.

        No torque tells the motion of a joint that stands. Given the noise of one that moves, it would be free to shake
        as the torques of other joints like it, the more so the heavier its link.
        """
        own, scatter = self.mechanism.parameters, np.full(self.mechanism.chain.n, np.inf)
        stands = np.flatnonzero(own.motors)[self.turning.all(axis=0)]
        stands = stands[np.isfinite(self.log.position[:, stands]).any(axis=0)]
        scatter[stands] = np.maximum(np.nanstd(self.log.position[:, stands], axis=0), FINEST)
        return np.asarray(np.minimum(self.noise.position, scatter))

    def _torque(self, point: Estimate, torque: Array, found: Rows | None) -> Blocks:
        """Of T and its derivatives or, where errors act on the motion, of what the torques read miss of it."""
        own, (motors,) = self.mechanism.parameters, np.nonzero(self.mechanism.parameters.motors)
        stages, read = 1 + np.flatnonzero(self.log.torque_stages[1:-1]), np.nan_to_num(self.log.torque)
        gain, offset, delay = (own.constants(point.x, name)[motors] for name in ("gain", "offset", "delay"))
        own_torque, rate = torque[stages - 1][:, motors], self.log.torque_rate[stages]
        sigma = self.torque_sigma[stages - 1] / np.sqrt(self._weights.torque[stages - 1])
        rows = None if found is None else found.of_joints(motors).at(stages - 1)
        if self.reference is not None:
            return self._dynamic(own_torque / sigma, None if rows is None else rows.scale(1.0 / sigma), stages, point.x)
        value = (gain * own_torque + offset - read[stages] - delay * rate) / sigma
        if rows is not None:
            rows = rows.scale(gain / sigma)
            each = np.arange(len(motors))
            rows.by_x[:, each, own.joint("gain").start + motors] = own_torque / sigma
            rows.by_x[:, each, own.joint("offset").start + motors] = 1.0 / sigma
            rows.by_x[:, each, own.joint("delay").start + motors] = -rate / sigma
        return self._dynamic(value, rows, stages, point.x)

    def _power(self, point: Estimate, motion: Motion, torque: Array, found: Torque | None) -> Blocks:
        own, (motors,) = self.mechanism.parameters, np.nonzero(self.mechanism.parameters.motors)
        stages = 1 + np.flatnonzero(np.isfinite(self.log.power[1:-1]))
        drawn = self.mechanism.power(motion, torque[:, motors], point.x)[stages - 1]
        doubt = np.where(self.turning.any(axis=1), np.inf, 0.0) if self.power_doubt is None else self.power_doubt
        sigma = np.hypot(self.noise.power / np.sqrt(self._weights.power[stages - 1]), doubt[stages - 1])
        value = ((drawn - self.log.power[stages]) / sigma)[:, None]
        rows = None
        if found is not None:
            t, v = torque[stages - 1][:, motors], self.mechanism.of_motors(motion.v)[stages - 1][:, motors]
            loss = own.constants(point.x, "loss")[motors]
            rows = Rows.of(found, motors).at(stages - 1).weighted_sum(v + 2.0 * loss * t)
            n, slopes = own.n, self.mechanism.user_slopes(motion, point.x)[stages - 1][:, own.n]
            for k, part in enumerate((rows.by_q, rows.by_v, rows.by_a)):
                part[:, 0] += slopes[:, n * k : n * k + n]
            rows.by_x[:, 0, own.users] += slopes[:, 3 * n :]
            rows.by_v[:, 0] += t @ self.mechanism.coupling[motors]
            rows.by_x[:, 0, own.joint("loss").start + motors] = t**2
            rows.by_x[:, 0, own.idle] = 1.0
            rows = rows.scale(1.0 / sigma[:, None])
        return self._dynamic(value, rows, stages, point.x)

    def _impacts(self, point: Estimate, motion: Motion, *, derive: bool) -> Blocks:
        """Momentum, height and speed of what strikes, at the last stage before each impact."""
        impacts, step, n, x = self.mechanism.contacts.impacts, self.log.step, point.q.shape[1], point.x
        stages = np.array([impact.stage(step) for impact in impacts], dtype=np.intp)
        count = n + 2 * max((len(impact.striking) for impact in impacts), default=0)
        rows = Rows.zeros(len(impacts), count, n, point.force.shape[1], len(x))
        value = np.zeros((len(impacts), count))
        noise, contacts = np.full(n, self.noise.passive), self.mechanism.contacts
        noise[self.mechanism.parameters.motors] = self.noise.torque
        height = contacts.gap
        momentum = np.hypot(noise * step, contacts.inertia * height / step) if impacts else noise
        for i, (impact, k) in enumerate(zip(impacts, stages - 1, strict=True)):
            found = linearise_impact(self.mechanism, impact, motion.at(k), x[impact.instant] - step * stages[i], x)
            size = np.concatenate([momentum, np.repeat([height, height / step], len(impact.striking))])
            value[i, : len(size)] = found.value / size
            for name in ("by_q", "by_v", "by_a", "by_x"):
                getattr(rows, name)[i, : len(size)] = getattr(found, name) / size[:, None]
        return self._dynamic(value, rows if derive else None, stages, x)

    def _dynamic(self, value: Array, rows: Rows | None, stages: IntArray, x: Array) -> Blocks:
        """Residuals at inner stages with derivatives in the three stages that give their motion."""
        m = value.shape[1]
        if rows is None:
            return Blocks(stages - 1, value, np.zeros((len(stages), m, 0)))
        self._add_jumps(rows, stages, x)
        slow, fast = rows.by_v / (2.0 * self.log.step), rows.by_a / self.log.step**2
        jacobian = np.concatenate([fast - slow, rows.by_q - 2.0 * fast, fast + slow], axis=2)
        free, local = self.mechanism.parameters.free, self.mechanism.closures.count
        return Blocks(
            stages - 1,
            value,
            jacobian,
            np.ascontiguousarray(rows.by_x[:, :, free]),
            rows.by_force if local else None,
            stages if local else None,
        )

    def _add_jumps(self, rows: Rows, stages: IntArray, x: Array) -> None:
        """Adds to by_x what moves the motion at stages next to impacts."""
        step = self.log.step
        for impact in self.mechanism.contacts.impacts:
            times, _, rate = impact.jump_offsets(x, step)
            for side in range(2):
                at = np.flatnonzero(stages == impact.stage(step) + side)
                moved = AHEAD[side] * rows.by_a[at] / step**2 - rows.by_v[at] / (2.0 * step)
                rows.by_x[at, :, impact.instant] += moved @ rate[side]
                rows.by_x[np.ix_(at, np.arange(moved.shape[1]), impact.jump)] += times[side] * moved
                rows.by_x[np.ix_(at, np.arange(moved.shape[1]), impact.bend)] += 0.5 * times[side] ** 2 * moved
