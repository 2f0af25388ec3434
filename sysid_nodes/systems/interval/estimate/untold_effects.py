# SPDX-License-Identifier: Apache-2.0
"""Errors of a kind that nobody states, as directions in torque: which of them do the residuals of a run look like?

Each is known but for its size, a number or one a joint: a base that is tilted, joints that bend under the torque they
carry, springs across them, readings whose scale has changed. A run's robust fit is made again with the sizes of one
kind free; what that finds, in standard deviations of the jackknife, is how clearly the run has it. Friction that grows
with the load is part of every fit. Far weaker effects show in this way than in the largest error of a window, which is
what bounds rest on. An effect that the calibration's runs had in the same way has gone into their parameters and shows
less, and a scale of all readings not at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.gears import motor_torques
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.robust_fit import RobustFit, robust_fit
from sysid_nodes.systems.interval.estimate.window_model import WindowModel

Array = npt.NDArray[np.float64]

_STEP = 1e-4
"""Of positions, for differences of the torque that holds them [rad or m]; rounding leaves eight digits."""

_TILT, _BEND, _SCALE = 0.1, 0.05, 0.1
"""Sizes that are possible, one sigma: a tilt [rad], a bend under the largest torque [rad or m], a scale."""

TILT, BEND, SPRING, SCALE, LOAD = (
    "a tilted base",
    "joints that bend under their load",
    "springs or cables across joints",
    "torque readings whose scale has changed",
    "friction that grows with the load",
)


@dataclass(frozen=True)
class Effect:
    """Attributes: name, one of those above; size, of its clearest part [rad, rad/(N m), N m/rad or 1]; sigmas off 0;
    joint, index of the one that part is of, None of a tilted base.
    """

    name: str
    size: float
    sigmas: float
    joint: int | None


@dataclass(frozen=True)
class _WithEffect(WindowModel):
    """Windows whose readings have more torque (W, n, E) for each unit of the last E parameters."""

    more: Array

    def residual(self, x: Array) -> tuple[Array, Array]:
        """As of any windows, x (K + E,)."""
        count = self.more.shape[2]
        residual, jacobian = super().residual(x[:-count])
        return residual + self.more @ x[-count:], np.concatenate([jacobian, self.more], axis=2)


def clearest_effect(
    chain: Chain, model: WindowModel, fit: RobustFit, coupling: Array | None, *, with_load: bool
) -> Effect | None:
    """The effect that a run shows most clearly; None before there are enough windows for errors of a fit.

    Args:
        chain: the robot's kinematic tree.
        model: windows of the run, with one body.
        fit: of them.
        coupling: (n, n) motors turn by it times joints; None: each with its joint alone.
        with_load: whether friction that grows with the load is not allowed for.
    """
    if fit.jackknife is None:
        return None
    found = list[Effect]()
    if with_load:
        n = model.joints
        own = slice(15 * n, 16 * n)
        found.append(_largest(LOAD, fit.point[own], fit.covariance()[0].diagonal()[own]))
    for name, (more, sigma) in _directions(chain, model, fit, coupling).items():
        known = {field.name: getattr(model, field.name) for field in fields(model)}
        freed = robust_fit(_WithEffect(**known, more=more), fit.belief.and_also(_around_none(sigma)))
        if freed is not None and freed.jackknife is not None:
            count = len(sigma)
            found.append(_largest(name, freed.point[-count:], freed.covariance()[0].diagonal()[-count:]))
    return max(found, key=lambda effect: effect.sigmas, default=None)


def _around_none(sigma: Array) -> Belief:
    return Belief.gaussian(np.zeros(len(sigma)), sigma)


def _largest(name: str, size: Array, variance: Array) -> Effect:
    sigmas = np.divide(np.abs(size), np.sqrt(variance), out=np.zeros(len(size)), where=variance > 0.0)
    k = int(sigmas.argmax())
    return Effect(name, float(size[k]), float(sigmas[k]), None if name == TILT else k)


def _directions(
    chain: Chain, model: WindowModel, fit: RobustFit, coupling: Array | None
) -> Mapping[str, tuple[Array, Array]]:
    """(W, n, E) torque for each unit of an effect, and what sizes (E,) are possible."""
    n, q = model.joints, model.posture
    theta = fit.point[: 10 * n].copy()
    theta[10 * model.body : 10 * model.body + 10] += fit.point[-10:]

    def hold(at: Array, gravity: Array | None = None) -> Array:
        tree = chain.tree if gravity is None else chain.tree._replace(gravity=gravity)
        still = np.zeros_like(at)
        return np.asarray(standard_regressor(Chain(chain.joint_names, tree), at, still, still) @ theta)

    torque, g = hold(q), chain.tree.gravity
    tilt = np.stack([hold(q, gravity) - torque for gravity in _tilted(g)], axis=2)
    slopes = [(hold(q + step) - hold(q - step)) / (2.0 * _STEP) for step in _STEP * np.eye(n)]
    bend = np.stack([slope * torque[:, k : k + 1] for k, slope in enumerate(slopes)], axis=2)
    each = np.eye(n)
    spring = (q - q.mean(axis=0))[:, :, None] * each
    if coupling is not None:  # torques of joints, as motors have to give them
        tilt, bend, spring = (motor_torques(coupling, part) for part in (tilt, bend, spring))
    largest = np.maximum(np.abs(torque).max(axis=0), 1e-3 * np.abs(torque).max(initial=1.0))
    return {
        TILT: (tilt, np.full(tilt.shape[2], _TILT)),
        BEND: (bend, _BEND / largest),
        SPRING: (spring, largest),
        SCALE: (-model.measured[:, :, None] * each, np.full(n, _SCALE)),
    }


def _tilted(gravity: Array) -> Iterator[Array]:
    """Gravity with a radian's share of its size across it, both ways; none without gravity."""
    size = float(np.linalg.norm(gravity))
    if size > 0.0:
        for across in np.linalg.svd(gravity[None])[2][1:]:
            yield gravity + size * across
