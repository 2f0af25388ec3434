# SPDX-License-Identifier: Apache-2.0
"""Turns windows of samples into momentum rows with honest error radii.

Corollary 10 of the paper with two changes: the integral is a trapezoid over the actual stamps, and everything that
keeps the balance from being exact is bounded and carried along, cause by cause.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.gears import motor_motion, motor_torques
from sysid_nodes.models.regressors import window_regressors
from sysid_nodes.systems.interval.error_radius import (
    BODY_CAUSES,
    POSITION,
    SAMPLING,
    VELOCITY,
    MotionBounds,
    body_coefficients,
)
from sysid_nodes.systems.interval.measured_windows import MeasuredWindows, WindowMeasurer
from sysid_nodes.systems.interval.momentum_rows import (
    CAUSES,
    FRICTION_SIGN,
    ROUNDING,
    TORQUE_ABSOLUTE,
    TORQUE_RATE,
    TORQUE_RELATIVE,
    MomentumRows,
    body_norms,
    select,
)
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.nominal_radius import nominal_radius
from sysid_nodes.systems.interval.positions import Positions
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_parts import EDGES_COUNTED, RowParts, by_place
from sysid_nodes.systems.interval.torque_integrals import TorqueIntegrals, integrate_torque
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque, power_of_speed
from sysid_nodes.systems.interval.unknowns import Unknowns
from sysid_nodes.systems.interval.windowed_samples import WindowedSamples

Array = npt.NDArray[np.float64]
Edges = npt.NDArray[np.intp]

_ITEMS = (TORQUE_RATE, POSITION, VELOCITY, SAMPLING)
"""Causes that the noise model `window` counts as part of the torque error."""

_ROUNDING_SHARE = 1e-11
"""Rounding of a regressor entry relative to the sum of the magnitudes it adds up; double precision keeps 1e-13."""


@dataclass(frozen=True)
class Draft:
    """Rows without their radius for errors of the motion, and what that is made of.

    Attributes:
        jump: (W - 1, n, 10 n) momentum at a window's start less that at the end of the one before; zero but where these
            are one sample.
    """

    rows: MomentumRows
    jump: Array
    windows: WindowedSamples
    roughness: tuple[Array, Array]
    positions: Positions
    motion: MotionBounds


class RowBuilder:
    """Turns samples into momentum rows for one robot.

    Args:
        chain: the robot's kinematic tree.
        reach: norm bounds of its kinematics.
        noise: bounds on the measurement errors.
        unknowns: assumed box of all parameters.
        viscous_power: (n,) power of the speed that viscous friction grows with; None: 1, as where noise is itemised.
        transmitted: how much torque the drives transmit, where unknowns hold load frictions.
        coupling: (n, n) motors turn by it times joints, behind their gears; None where each turns with its joint alone.
            Rows, motor terms and torques are the motors' then. Noise must not be itemised.
    """

    def __init__(
        self,
        chain: Chain,
        reach: Reach,
        noise: Noise,
        unknowns: Unknowns,
        viscous_power: Array | None = None,
        transmitted: TransmittedTorque | None = None,
        coupling: Array | None = None,
    ) -> None:
        self._coupling = coupling
        self._viscous_power = None if viscous_power is None or noise.itemised else viscous_power
        self._transmitted = transmitted
        self._chain, self._reach, self._noise, self._unknowns = chain, reach, noise, unknowns
        n = chain.n
        size = unknowns.known_magnitude
        inertial = np.abs(unknowns.basis[: 10 * n, 10:]).sum(axis=1).reshape(n, 10)
        self._spread = body_norms(-inertial, inertial)
        self._coulomb = size[unknowns.motor_slice("Coulomb friction")]
        self._viscous = size[unknowns.motor_slice("viscous friction")]
        self._armature = size[unknowns.motor_slice("armature")]
        gain = unknowns.motor_slice("torque gain")
        self._gain = size[gain]
        self._load = np.zeros(n) if transmitted is None else size[unknowns.motor_slice("load friction")]
        self._size = np.abs(unknowns.centre) + np.abs(unknowns.basis).sum(axis=1)
        least_gain = np.maximum(2.0 * np.abs(unknowns.centre[gain]) - size[gain], 1e-9)
        self._measurer = WindowMeasurer(reach, noise, 2.0 * self._coulomb / least_gain, coupling)

    def build(self, samples: JointSamples, edges: Edges, about: Array | None = None) -> MomentumRows:
        """Rows of the windows samples[first..last], (W, 2) pairs of indices, last included.

        Args:
            samples: joint samples.
            edges: of the windows.
            about: (10,) identified body for which the radius is narrowest, by default the middle of its prior.
        """
        draft = self.draft(samples, edges)
        return self.finish(draft, self._unknowns.prior.centre if about is None else about)

    def draft(self, samples: JointSamples, edges: Edges) -> Draft:
        """Rows whose radius lacks what errors of the motion add."""
        measured = self._measurer.measure(samples, edges)
        windows, positions = measured.windows, measured.positions
        torque = integrate_torque(windows, self._noise)
        coefficients, jump = self._coefficients(windows, positions, torque)
        motion = self._motion_bounds(measured)
        causes = self._radius_by_motor(windows, positions, motion, torque)
        causes[ROUNDING] = _ROUNDING_SHARE * (np.abs(coefficients) @ self._size)
        bare = np.zeros((*coefficients.shape[:2], len(BODY_CAUSES), 3))
        rows = MomentumRows(samples.t[edges], coefficients, self._stack(causes), bare, self._unknowns.prior.centre)
        return Draft(rows, jump, windows, measured.roughness, positions, motion)

    def finish(self, draft: Draft, about: Array) -> MomentumRows:
        """The rows with their whole radius. Arguments as above."""
        if not self._noise.itemised:
            return replace(draft.rows, about=about)
        return self.row_parts(draft, about).add_up((1,))[0]

    def rows_over(self, draft: Draft, about: Array, lengths: Sequence[int], before: int) -> tuple[MomentumRows, Edges]:
        """Rows over so many windows in a row that end with a window from `before` on, those over one window first.

        Returns:
            The rows, and the window from `before` on that each ends with. Arguments otherwise as above.
        """
        if not self._noise.itemised:
            return self.finish(draft, about), np.arange(len(draft.rows.t))
        rows, last = self.row_parts(draft, about).add_up(lengths)
        new = last >= before
        return select(rows, new), last[new] - before

    def row_parts(self, draft: Draft, about: Array) -> RowParts:
        """The windows' parts of rows over themselves and over several of them (noise is itemised)."""
        windows, positions, motion = draft.windows, draft.positions, draft.motion
        times = windows.samples.t[positions.index]
        levers = self._reach.levers(times, positions.q, positions.edges, motion.speed, positions.error)
        theta = self._unknowns.known_centre[: 10 * self._chain.n].copy()
        theta[self._unknowns.body_slice] += about
        shares = nominal_radius(self._chain, theta, windows, draft.roughness, positions, motion, levers)
        by_body = body_coefficients(levers, motion)
        bodies = theta.reshape(self._chain.n, 10)
        radius = np.tile(draft.rows.radius, (len(EDGES_COUNTED), 1, 1, 1))
        radius[:, :, :, CAUSES.index(VELOCITY)] *= EDGES_COUNTED[:, None, None]
        return RowParts(
            t=draft.rows.t,
            meets=windows.edges[1:, 0] == windows.edges[:-1, 1],
            coefficients=draft.rows.coefficients,
            jump=draft.jump,
            radius=radius,
            nominal=np.moveaxis(shares, 1, -1),
            norms=by_place(np.einsum("ecwkis,is->ewkc", by_body, body_norms(bodies, bodies))),
            spread=by_place(np.einsum("ecwkis,is->ewkc", by_body, self._spread)),
            body=by_place(np.moveaxis(by_body[:, :, :, :, self._unknowns.body, :], 1, 3)),
            causes=[CAUSES.index(cause) for cause in BODY_CAUSES],
            about=about,
        )

    def violations(self, samples: JointSamples, edges: Edges) -> Mapping[str, npt.NDArray[np.bool_]]:
        """Windows (W,) in which the samples themselves contradict an assumption, see `WindowMeasurer`."""
        return self._measurer.violations(samples, edges)

    def _coefficients(
        self, windows: WindowedSamples, positions: Positions, torque: TorqueIntegrals
    ) -> tuple[Array, Array]:
        """(W, n, 15 n or 16 n): momentum less its integral, then motor terms of each joint; and jumps, see `Draft`."""
        n, samples, certain = self._chain.n, windows.samples, windows.sign_certain
        entries, ends = positions.index, positions.edges
        (first, last), (begin, end) = windows.edges.T, ends.T
        meeting = np.flatnonzero(first[1:] == last[:-1])
        seams = np.column_stack([end[meeting], begin[meeting + 1]])  # from the one's last entry to the other's first
        found = window_regressors(
            self._chain, samples.t[entries], positions.q, samples.qd[entries], np.concatenate([ends, seams])
        )
        samples, q = self._of_motors(samples), positions.q
        if self._coupling is not None:  # what joints need, as motors have to give it
            found = motor_torques(self._coupling, found[0]), motor_torques(self._coupling, found[1])
            q = motor_motion(self._coupling, q)
        v = samples.qd
        momentum, integral = (each[: len(ends)] for each in found)
        jump = np.zeros((max(len(ends) - 1, 0), *momentum.shape[1:]))
        jump[meeting] = found[0][len(ends) :]
        signed = windows.sum(np.where(certain, np.sign(v[1:]) * windows.dt, 0.0))
        travel = q[end] - q[begin]
        if (power := self._viscous_power) is not None:
            curved = power_of_speed(v, power)
            slow = windows.sum(0.5 * (curved[1:] + curved[:-1]) * windows.dt)
            travel = np.where(power == 1.0, travel, slow)
        coefficients = np.zeros((len(windows.edges), n, len(self._size)))
        coefficients[:, :, : 10 * n] = momentum - integral
        joints = np.arange(n)
        columns = [signed, travel, v[last] - v[first], windows.duration[:, None], -torque.impulse]
        if self._transmitted is not None:
            lost = np.where(certain, np.sign(v[1:]), 0.0) * self._transmitted.size(samples)
            columns.append(windows.sum(lost * windows.dt))
        for term, column in enumerate(columns):
            coefficients[:, joints, n * (10 + term) + joints] = column
        return coefficients, jump

    def _of_motors(self, samples: JointSamples) -> JointSamples:
        """With positions and velocities of motors behind their gears; torques are theirs."""
        if self._coupling is None:
            return samples
        q, qd = (motor_motion(self._coupling, each) for each in (samples.q, samples.qd))
        return replace(samples, q=q, qd=qd)

    def _motion_bounds(self, measured: MeasuredWindows) -> MotionBounds:
        windows, speed = measured.windows, measured.speed
        rough, smooth = measured.roughness
        return MotionBounds(
            duration=windows.duration,
            rough=windows.sum(rough).ravel(),
            smooth=windows.sum(smooth).ravel(),
            cube=windows.sum(windows.dt**3).ravel(),
            speed=speed,
            dq=measured.positions.error,
            dv=np.broadcast_to(measured.velocity_error, speed.shape),
            acceleration=self._noise.acceleration,
            jerk=self._noise.jerk,
        )

    def _radius_by_motor(
        self, windows: WindowedSamples, positions: Positions, motion: MotionBounds, torque: TorqueIntegrals
    ) -> dict[str, Array]:
        """(W, n) shares of torque, friction and armature in the radius, by cause."""
        noise = self._noise
        unsure = np.where(windows.sign_certain, 0.0, windows.dt)
        friction = self._coulomb * windows.sum(unsure)
        if self._transmitted is not None:
            size = self._transmitted.size(self._of_motors(windows.samples))
            friction = friction + self._load * windows.sum(unsure * size)
        return {
            TORQUE_RELATIVE: self._gain * noise.torque_relative * torque.load,
            TORQUE_ABSOLUTE: self._gain * noise.torque_absolute * windows.duration[:, None],
            TORQUE_RATE: self._gain * torque.between,
            POSITION: positions.travel_error * self._viscous,
            VELOCITY: 2.0 * motion.dv * self._armature,
            # Friction anywhere in [-F_c, F_c], and torque may jump by 2 F_c between two samples when it flips.
            FRICTION_SIGN: friction * (1.0 if noise.hold else 2.0),
        }

    def _stack(self, causes: Mapping[str, Array]) -> Array:
        """(W, n, len(CAUSES)) radius from its shares (W, n) by cause."""
        radius = np.zeros((*causes[ROUNDING].shape, len(CAUSES)))
        for cause, value in causes.items():
            radius[:, :, CAUSES.index(cause)] = value
        if not self._noise.itemised:
            radius[:, :, [CAUSES.index(cause) for cause in _ITEMS]] = 0.0
        return radius
