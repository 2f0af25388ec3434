# SPDX-License-Identifier: Apache-2.0
"""Contact residuals: the motion against the velocity side of the smoothed cone pair; the impulse side is the force.

Each contact and stage has a free w in R^3. Its force is p(-w) scaled, its velocity should be p(w) (models/contact.py):
both cones and the product rule hold for every w, and only the agreement with the motion is a residual,

    r = z(q_{k-1}, q_k, q_{k+1}) - p(w),   z = ((gap / dt) / mu + |v_t|, v_t)   (without |v_t| for Anitescu's law),

with the sigma of the ground's shape, the heights of footholds included, and of creep. The gap is at the stage itself,
where the paper has gap / dt + v_n, the gap one step later. Foot and ground give under load, by a depth s that follows
the normal force with a lag tau (a spring and a damper side by side, as rubber, turf or a mat),

    tau s' + s = compliance f_n,   s_k = kept s_{k-1} + (1 - kept) compliance f_k,   kept = tau / (tau + dt),

and s_k is what the gap is larger by. That of the stage before is by how much the foot was below the plane there: of a
foot that bore, whatever the sign, so that what is not plane is as lasting as it is; of one in the air nothing above the
plane, so that it presses nothing before it touches. Three more rows, f / force_sigma, are a weak prior that
shares a load among contacts where the motion leaves that open.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from sysid_nodes.models import contact
from sysid_nodes.models.contact_motion import ContactMotion
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.config import ContactConfig

Array = npt.NDArray[np.float64]

ROUNDING = 1e-3
"""|v_t| turns over smoothly within this speed [m/s], far below slip_sigma."""


@dataclass(frozen=True)
class ContactLaw:
    """The contact model at one step and smoothing.

    Attributes:
        config: friction, law, noise.
        smoothing: eps [J].
        dt: step [s].
        tilt: of the ground, see `ContactPlane` [rad].
        compliance: of feet and ground, by which a loaded foot is lower [m/N].
        lag: time by which it is lower late [s].
        firmness: (K, nc, 2) of inner stages, factors on the whitening of gaps and of sliding (firmness.py); None: 1.
    """

    config: ContactConfig
    smoothing: float
    dt: float
    tilt: tuple[float, float] = (0.0, 0.0)
    compliance: float = 0.0
    lag: float = 0.0
    firmness: Array | None = None

    def at(self, stages: npt.NDArray[np.intp]) -> ContactLaw:
        """That of some of the inner stages."""
        return self if self.firmness is None else replace(self, firmness=self.firmness[stages])

    @property
    def kept(self) -> float:
        """Share of the depth at a stage that is left at the next."""
        return kept_share(self.lag, self.dt)[0]

    @property
    def kept_slope(self) -> float:
        """Its derivative by the lag [1/s]."""
        return kept_share(self.lag, self.dt)[1]

    @property
    def give(self) -> float:
        """Depth at once under a force [m/N]."""
        return (1.0 - self.kept) * self.compliance

    @cached_property
    def plane(self) -> contact.ContactPlane:
        """The ground."""
        x, y, z = self.config.normal
        return contact.ContactPlane((x, y, z), self.config.height, self.tilt)

    @property
    def per_force(self) -> Array:
        """(3,) forces of the impulse side p(-w) of one [N s/m]."""
        return 1.0 / (self.config.impulse_scale * self.dt * np.array([self.config.friction, 1.0, 1.0]))

    def force(self, w: Array) -> Array:
        """(..., 3) in contact coordinates [N]."""
        cone = contact.smooth_projection(-w, self.smoothing)
        return contact.cone_to_impulse(cone, self.config.friction, self.config.impulse_scale) / self.dt

    def force_jacobian(self, w: Array) -> Array:
        """(..., 3, 3) derivative of `force` by w."""
        return -contact.smooth_projection_jacobian(-w, self.smoothing) * self.per_force[:, None]

    def depth(self, w: Array, gap: Array) -> tuple[Array, Array]:
        """(K, nc) depth at the stages before the inner ones, of w (N, nc, 3) and gaps (N, nc), and its slope by these.

        That by w is left out: where a contact opens or closes it is about level.
        """
        velocity, pressed = (contact.smooth_projection(sign * w[:-2], self.smoothing)[..., 0] for sign in (1.0, -1.0))
        root, gap = np.sqrt(gap[:-2] ** 2 + _TURN**2), gap[:-2]
        bears = pressed / (velocity + pressed)
        return 0.5 * (root - gap) - 0.5 * bears * (root + gap), 0.5 * (gap / root - 1.0) - 0.5 * bears * (
            gap / root + 1.0
        )

    def velocity(self, w: Array, gap: Array, slip: Array) -> Array:
        """z (K, nc, 3) of gaps (N, nc) and sliding velocities (K, nc, 2), but for what a force presses down at once.

        w (N, nc, 3) are contact variables, of which those before each stage count.
        """
        head = self.per_gap * (gap[1:-1] + self.kept * self.depth(w, gap)[0])
        if self.config.law == "coulomb":
            head = head + contact.sliding_lift(slip, ROUNDING)[0]
        return np.concatenate([head[..., None], slip], axis=-1)

    @cached_property
    def scale(self) -> Array:
        """(3,), or with a firmness (K, nc, 3), whitening of z."""
        config = self.config
        scale = np.array([self.dt * config.friction / self.gap_sigma, *[1.0 / config.slip_sigma] * 2])
        return scale if self.firmness is None else scale * self.firmness[..., [0, 1, 1]]

    @property
    def gap_sigma(self) -> float:
        """Standard deviation of a gap, heights of footholds included [m]."""
        return float(np.hypot(self.config.gap_sigma, self.config.foothold_sigma))

    @property
    def per_gap(self) -> float:
        """Contact velocity of a gap [1/s]."""
        return 1.0 / (self.dt * self.config.friction)

    def misfit(self, w: Array, velocity: Array, force: Array) -> Array:
        """(..., 3) whitened motion's rows, of contact velocities z and the forces of w (..., 3)."""
        raw = velocity - contact.smooth_projection(w, self.smoothing)
        raw[..., 0] += self.per_gap * self.give * force[..., 0]
        return np.asarray(raw * self.scale)

    def misfit_jacobian(self, w: Array, by_force: Array) -> Array:
        """(..., 3, 3) its derivative by w, that of the forces being `by_force`."""
        out = -contact.smooth_projection_jacobian(w, self.smoothing)
        out[..., 0, :] += self.per_gap * self.give * by_force[..., 0, :]
        return np.asarray(out * self.scale[..., None])

    def hold_force(self, w: Array) -> tuple[Array, Array]:
        """Derivatives (..., 3) of p(w) and p(-w) by the logarithm of the friction, the force being held.

        Friction scales the normal component l_n of l = p(-w) then, and p(w) = eps l^-1 follows.
        """
        velocity, pressed = (contact.smooth_projection(sign * w, self.smoothing) for sign in (1.0, -1.0))
        by_pressed, by_velocity = (
            np.zeros_like(pressed),
            velocity * (-2.0 * pressed[..., :1] * velocity[..., :1] / self.smoothing),
        )
        by_pressed[..., 0] = pressed[..., 0]
        by_velocity[..., 0] += velocity[..., 0]
        return by_velocity, by_pressed

    def by_friction(self, w: Array, slip: Array) -> Array:
        """(..., 3) derivative of `misfit` by the logarithm of the friction, the force being held.

        So a contact's variables are those of its force alone, and its covariance that of the force.
        """
        raw = -self.hold_force(w)[0]
        # A sliding foot's normal velocity is whitened by the friction.
        raw[..., 0] -= contact.smooth_projection(w, self.smoothing)[..., 0]
        if self.config.law == "coulomb":
            raw[..., 0] += contact.sliding_lift(slip, ROUNDING)[0]
        return np.asarray(raw * self.scale)

    def residual(self, w: Array, motion: ContactMotion) -> Array:
        """(K, 6 nc) whitened, of w (N, nc, 3): the motion's rows of all contacts, then their forces' rows."""
        inner = w[1:-1]
        force = self.force(inner)
        moved = self.misfit(inner, self.velocity(w, motion.gap, motion.slip), force)
        rows = np.stack([moved, force / self.config.force_sigma], axis=1)
        return rows.reshape(len(inner), -1)

    def blocks(self, w: Array, motion: ContactMotion, height: int, parameters: int) -> Blocks:
        """The residual of K inner stages with derivatives; `height` is the column of the ground's height."""
        inner = w[1:-1]
        count, nc = inner.shape[:2]
        nv = motion.gap_jacobian.shape[-1]
        by_stage = np.zeros((count, 2, nc, 3, 3, nv))
        moving = by_stage[:, 0]
        moving[:, :, 1:] = motion.slip_jacobian
        if self.config.law == "coulomb":
            slope = contact.sliding_lift(motion.slip, ROUNDING)[1]
            flat = motion.slip_jacobian.reshape(count, nc, 2, -1)
            moving[:, :, 0] = (slope[:, :, None] @ flat).reshape(count, nc, 3, nv)
        before = self.kept * self.depth(w, motion.gap)[1]
        moving[:, :, 0, 0] += self.per_gap * before[..., None] * motion.gap_jacobian[:-2]
        moving[:, :, 0, 1] += self.per_gap * motion.gap_jacobian[1:-1]
        moving *= self.scale[..., None, None]
        by_parameter = np.zeros((count, 2, nc, 3, parameters))
        by_parameter[:, 0, :, 0, height] = -self.per_gap * self.scale[..., 0] * (1.0 + before)
        by_local = np.zeros((count, 2, nc, 3, nc, 3))
        each = np.arange(nc)
        by_force = self.force_jacobian(inner)
        by_local[:, 0, each, :, each] = self.misfit_jacobian(inner, by_force).swapaxes(0, 1)
        by_local[:, 1, each, :, each] = (by_force / self.config.force_sigma).swapaxes(0, 1)
        first = np.arange(count)
        return Blocks(
            first,
            self.residual(w, motion),
            by_stage.reshape(count, 6 * nc, 3 * nv),
            by_parameter.reshape(count, 6 * nc, parameters),
            by_local.reshape(count, 6 * nc, 3 * nc),
            first + 1,
        )

    def start(self, gap: Array, supported: float) -> Array:
        """w (..., 3) for gaps (...,) [m], a contact that touches carrying `supported` [N]."""
        w = np.zeros((*gap.shape, 3))
        pressed = -self.config.impulse_scale * self.config.friction * supported * self.dt
        w[..., 0] = np.where(gap < _NEAR, pressed, gap / (self.dt * self.config.friction))
        return w


def kept_share(lag: float, dt: float) -> tuple[float, float]:
    """Share of a depth that is left after dt [s], and its derivative by the lag [1/s]; odd, for lags below zero."""
    slowed = abs(lag) + dt
    return lag / slowed, dt / slowed**2


_TURN = 1e-4
"""Gap within which a depth turns over [m]: far below gap_sigma."""

_NEAR = 0.01
"""A measured gap below this may be none [m]; only a start."""
