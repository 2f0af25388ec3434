# SPDX-License-Identifier: Apache-2.0
"""Smoothed contact of points and spheres with a plane: friction cone and its dual, tied by one free vector a contact.

Vectors of a contact are (normal, tangent 1, tangent 2), shape (..., 3). With mu the friction coefficient, the paper's
impulse cone (eq. 10) and velocity cone (eq. 11) become one second-order cone Q = {(s, x): |x| <= s} after the scaling

    z = (V / mu, v_t),   V = gap / dt + v_n [m/s],       l = rho (mu lambda_n, lambda_t),   lambda [N s],

under which z . l = rho (V lambda_n + v_t . lambda_t), so that the paper's complementarity (eqs. 12-14) reads z, l in Q,
z . l = 0. In the Jordan algebra of Q, (s, x) o (t, y) = (s t + x . y, s y + t x) with unit e = (1, 0, 0), it is
z o l = 0, and its smoothing z o l = eps e is solved for every w in R^3 by

    z = p(w),  l = p(-w),   p(w) = (w + sqrt(w o w + 4 eps e)) / 2.

Both lie inside Q whatever w is; z - l = w. The log-barrier impulses (eqs. 18-20) are l = rho (2 / kappa) z^-1, the same
relation with eps = 2 rho / kappa. rho [1/kg] only sets how w mixes velocity and impulse.

Anitescu's cone makes a foot that slides at v_t hover at gap = mu |v_t| dt. With De Saxce's term, V = gap / dt + v_n +
mu |v_t|, the same two cones give Coulomb friction with no hovering: `sliding_lift`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.models.rotations import quaternion_exp, quaternion_matrix

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ContactPlane:
    """The plane {x: normal . x = height} in the world; bodies touch it from the side that the normal points to.

    Attributes:
        normal: (3,) unit vector.
        height: distance from the world's origin along the normal [m].
        tilt: the plane turned further about its two tangents, through the world's origin [rad].

    Raises:
        InputError: the normal is not three finite numbers of length one, or the height is not finite.
    """

    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)
    height: float = 0.0
    tilt: tuple[float, float] = (0.0, 0.0)

    def __post_init__(self) -> None:
        normal = np.asarray(self.normal, dtype=np.float64)
        if normal.shape != (3,) or not np.isfinite(normal).all() or abs(float(np.linalg.norm(normal)) - 1.0) > 1e-9:
            raise InputError("a contact plane's normal must be a unit vector of three numbers")
        if not np.isfinite(self.height):
            raise InputError("a contact plane's height must be finite")

    @cached_property
    def axes(self) -> Array:
        """(3, 3), rows normal, tangent 1, tangent 2: world vectors to contact vectors; right-handed."""
        level = _level_axes(self.normal)
        return level if self.tilt == (0.0, 0.0) else level @ _rotation(np.array(self.tilt) @ level[1:]).T


@lru_cache
def _level_axes(along: tuple[float, float, float]) -> Array:
    """The axes of a plane that is not tilted."""
    normal = np.asarray(along, dtype=np.float64)
    # The world axis least along the normal keeps the tangents well defined; for a level floor they are x and y.
    helper = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first = helper - (helper @ normal) * normal
    first /= np.linalg.norm(first)
    axes = np.array([normal, first, np.cross(normal, first)])
    axes.flags.writeable = False
    return axes


def _rotation(turn: Array) -> Array:
    return np.asarray(quaternion_matrix(quaternion_exp(turn[None]))[0])


def smooth_projection(w: Array, smoothing: float) -> Array:
    """p(w) (..., 3), inside the second-order cone; its projection as the smoothing [eps] goes to zero."""
    low, high, _, _ = _spectrum(w, smoothing)
    _, direction = _split(w)
    half_sum, half_difference = 0.5 * (high + low), 0.5 * (high - low)
    return np.concatenate([half_sum[..., None], half_difference[..., None] * direction], axis=-1)


def smooth_projection_jacobian(w: Array, smoothing: float) -> Array:
    """dp/dw (..., 3, 3), symmetric, eigenvalues strictly between 0 and 1; dp/dw(w) + dp/dw(-w) = 1."""
    w = np.asarray(w, dtype=np.float64)
    _, _, root_low, root_high = _spectrum(w, smoothing)
    length, direction = _split(w)
    head = w[..., 0]
    slope_low = 0.5 * (1.0 + (head - length) / root_low)
    slope_high = 0.5 * (1.0 + (head + length) / root_high)
    mean, half = 0.5 * (slope_high + slope_low), 0.5 * (slope_high - slope_low)
    # (p(high) - p(low)) / (high - low), without the cancellation where the eigenvalues meet.
    across = 0.5 * (1.0 + 2.0 * head / (root_high + root_low))
    out = np.empty((*w.shape, 3))
    out[..., 0, 0] = mean
    out[..., 0, 1:] = out[..., 1:, 0] = half[..., None] * direction
    outer = direction[..., :, None] * direction[..., None, :]
    out[..., 1:, 1:] = across[..., None, None] * np.eye(2) + (mean - across)[..., None, None] * outer
    return out


def cone_to_impulse(cone: Array, friction: float, scale: float = 1.0) -> Array:
    """lambda (..., 3) [N s] of l: lambda_n = l_n / (rho mu), lambda_t = l_t / rho."""
    return np.asarray(cone / (scale * np.array([friction, 1.0, 1.0])))


def smoothing_schedule(first: float, last: float, steps: int) -> tuple[float, ...]:
    """Geometric sequence of eps from first down to last.

    Raises:
        InputError: not first >= last > 0, or no step at all.
    """
    if not first >= last > 0.0 or steps < 1:
        raise InputError("a smoothing schedule needs first >= last > 0 and at least one step")
    if steps == 1:
        return (last,)
    return tuple(float(value) for value in np.geomspace(first, last, steps))


def change_smoothing(w: Array, old: float, new: float) -> Array:
    """w (..., 3) for another eps with each eigenvalue's larger side kept: force where pressed, velocity where free.

    Eigenvalues of z and l multiply to eps, so that the smaller side takes all of the change.
    """
    length, direction = _split(w)
    ends = []
    for eigenvalue in (w[..., 0] - length, w[..., 0] + length):
        larger = 0.5 * (np.abs(eigenvalue) + np.sqrt(eigenvalue**2 + 4.0 * old))
        ends.append(np.where(eigenvalue < 0.0, -1.0, 1.0) * (larger - new / larger))
    half_sum, half_difference = 0.5 * (ends[1] + ends[0]), 0.5 * (ends[1] - ends[0])
    return np.concatenate([half_sum[..., None], half_difference[..., None] * direction], axis=-1)


def sliding_lift(tangent: Array, rounding: float) -> tuple[Array, Array]:
    """De Saxce's |v_t| (...,) [m/s] of v_t (..., 2) and its gradient (..., 2), rounded within `rounding` [m/s] of rest.

    sqrt(|v_t|^2 + r^2) - r: never above |v_t|, below it by r at most.
    """
    root = np.sqrt(np.sum(tangent**2, axis=-1) + rounding**2)
    return root - rounding, tangent / root[..., None]


def _split(w: Array) -> tuple[Array, Array]:
    """|x| (...,) and x / |x| (..., 2), the latter zero where x is."""
    tail = np.asarray(w, dtype=np.float64)[..., 1:]
    length = np.hypot(tail[..., 0], tail[..., 1])
    return length, tail / np.where(length > 0.0, length, 1.0)[..., None]


def _spectrum(w: Array, smoothing: float) -> tuple[Array, Array, Array, Array]:
    """p of both eigenvalues s -+ |x| of w, and sqrt(eigenvalue^2 + 4 eps) of both."""
    w = np.asarray(w, dtype=np.float64)
    length, _ = _split(w)
    values, roots = [], []
    for eigenvalue in (w[..., 0] - length, w[..., 0] + length):
        root = np.sqrt(eigenvalue**2 + 4.0 * smoothing)
        # For a negative eigenvalue the sum cancels; its conjugate form does not.
        values.append(np.where(eigenvalue > 0.0, 0.5 * (eigenvalue + root), 2.0 * smoothing / (root + abs(eigenvalue))))
        roots.append(root)
    return values[0], values[1], roots[0], roots[1]
