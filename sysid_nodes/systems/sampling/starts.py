# SPDX-License-Identifier: Apache-2.0
"""States in which clips begin: a guess of the state from the readings around an instant, and coordinates about it.

Only a guess: start states are unknowns of the fit. A measured state taken as it is biases the parameters, because
contact turns noise of either sign into force of one.
"""

from __future__ import annotations

from dataclasses import dataclass

import mujoco
import numpy as np
import numpy.typing as npt

from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.rotations import drift, exponential, inverse, logarithm, product, vertical
from sysid_nodes.systems.sampling.log import MotionLog

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

_BASE, _JOINTS = 0.05, 0.008  # half widths of the polynomials that smooth pose and joints [s]
_STANDING = 0.008  # a lowest foot within this of the ground stands on it [m]
_SUNK = 5e-4  # then by this much below [m]

POSITION, ROTATION = slice(0, 3), slice(3, 6)
KNOWN = np.array([0.02, 0.02, 0.02, 0.05, 0.05, 0.05])  # standard deviations of a guessed pose [m, rad]
KNOWN_VELOCITY = 0.3  # and of the base's velocity [m/s]


@dataclass(frozen=True)
class StateCoordinates:
    """Coordinates of MuJoCo states of n joints about guesses: d = 12 + 2 n small numbers, all zero at the guess.

    Position in the world [m], rotation vector in the body's axes [rad], joints [rad], then their rates: velocity in the
    world [m/s], angular velocity in the body [rad/s], joints' [rad/s].
    """

    n: int

    @property
    def size(self) -> int:
        """d."""
        return 12 + 2 * self.n

    @property
    def steps(self) -> Array:
        """(d,) of finite differences."""
        pose, rates = [1e-4] * 3 + [5e-4] * 3 + [5e-4] * self.n, [5e-3] * 3 + [5e-3] * 3 + [2e-2] * self.n
        return np.array(pose + rates)

    @property
    def information(self) -> Array:
        """(d,) that a guess carries besides the clip's own readings."""
        out = np.zeros(self.size)
        out[:6] = KNOWN**-2.0
        out[6 + self.n : 9 + self.n] = KNOWN_VELOCITY**-2.0
        return out

    def state(self, guess: Array, x: Array) -> Array:
        """(..., nq + nv) states at coordinates x (..., d) about guesses (..., nq + nv)."""
        out = np.array(np.broadcast_to(guess, (*np.broadcast_shapes(guess.shape[:-1], x.shape[:-1]), guess.shape[-1])))
        out[..., :3] += x[..., :3]
        out[..., 3:7] = product(out[..., 3:7], exponential(x[..., 3:6]))
        out[..., 7:] += x[..., 6:]
        return out


def alignment_guess(log: MotionLog) -> Array:
    """(3,) rotation vector b of the tracked axes in the base's, as far as verticals tell: up = exp(b) up_tracked."""
    at = np.flatnonzero(log.posed & log.usable)
    tracked = vertical(log.rotation[at])
    cross = np.zeros((len(at), 3, 3))  # b x u = -[u]x b
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        cross[:, i, j], cross[:, j, i] = tracked[:, k], -tracked[:, k]
    rows, rest = cross.reshape(-1, 3), (log.up[at] - tracked).ravel()
    ridge = 1e-3 * len(at) * np.eye(3)  # nothing turns about the vertical itself
    return np.asarray(np.linalg.solve(rows.T @ rows + ridge, rows.T @ rest))


class StartGuess:
    """Guesses of states from a log.

    Args:
        robot: nominal.
        model: MuJoCo's, for where the feet are.
        log: what was measured.
    """

    def __init__(self, robot: Robot, model: mujoco.MjModel, log: MotionLog) -> None:
        self._log, self._model, self._data = log, model, mujoco.MjData(model)
        self._feet = [model.geom(point.name).id for point in robot.contacts]
        self._radius = np.array([point.radius for point in robot.contacts])
        self.alignment = alignment_guess(log)

    def at(self, instants: IntArray) -> Array:
        """(G, nq + nv) MuJoCo states of simulations at instants of the log: configurations are half a step later."""
        return np.array([self._at(int(k)) for k in instants])

    def _at(self, k: int) -> Array:
        log = self._log
        joints = self._near(k, _JOINTS)
        time = log.t[joints] - log.t[k]
        q, slope = _quadratic(time, log.q[joints])
        w = 0.5 * (slope + log.w[joints].mean(axis=0))
        gyro = log.gyro[joints].mean(axis=0)
        near = self._near(k, _BASE)
        poses = near[log.posed[near]]
        if len(poses) < 4:
            poses = near
        time = log.t[poses] - log.t[k]
        position, velocity = _quadratic(time, log.position[poses])
        middle = log.rotation[k]
        turned, _ = _quadratic(time, logarithm(product(inverse(middle), log.rotation[poses])))
        rotation = product(product(middle, exponential(turned)), exponential(-self.alignment))
        state = drift(np.concatenate([position, rotation, q, velocity, gyro, w]), 0.5 * log.step)
        state[2] += self._stand(state)
        return state

    def _near(self, k: int, width: float) -> IntArray:
        reach = max(round(width / self._log.step), 2)
        near = np.arange(max(k - reach, 0), min(k + reach + 1, len(self._log)))
        return near[self._log.usable[near]]

    def _stand(self, state: Array) -> float:
        """By how much to raise a robot so that its lowest foot stands on the ground; 0 for one in the air."""
        self._data.qpos[:] = state[: self._model.nq]
        mujoco.mj_kinematics(self._model, self._data)
        lowest = float((self._data.geom_xpos[self._feet, 2] - self._radius).min())
        return -lowest - _SUNK if abs(lowest) < _STANDING else 0.0


def _quadratic(t: Array, y: Array) -> tuple[Array, Array]:
    """Value and slope (m,) at time zero of the parabola through (N, m) values; a line through few of them."""
    basis = np.vander(t, 3 if len(t) > 4 else min(len(t), 2), increasing=True)
    found = np.linalg.lstsq(basis, y, rcond=None)[0]
    return found[0], found[1] if len(found) > 1 else np.zeros(y.shape[1])
