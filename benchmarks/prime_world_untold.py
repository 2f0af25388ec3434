# SPDX-License-Identifier: Apache-2.0
"""Forces on a simulated robot, and errors of its sensors, that no prior of PRIME's is about."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.models.rotations import quaternion_matrix, quaternion_product
from sysid_nodes.simulation.legged import ImuReading, JointReading, LeggedRobotSim, PoseReading, Reading

Array = npt.NDArray[np.float64]

_BEGINS = 1.0
"""Simulated time at which forces begin: the robot stands [s]."""

_SUBSTEPS = 10
"""Of a swinging load in a tick of the simulation."""

_RATE, _DAMPING = 2.0 * np.pi, 0.05
"""Of a swinging load [rad/s, of the critical one]."""


@dataclass(frozen=True)
class Untold:
    """Attributes:
    side: force on the base's origin, in the world [N].
    cable: springs along x and y from the base to where it was [N/m].
    swing: mass that swings sideways at 1 Hz about the base's origin; its weight is another's [kg].
    lag: by how much the joints' torque is later than the reading of it, as of a drive that lags its command [s].
    imu: rotation vector of the IMU's axes against those of the description [rad].
    gyroscope, accelerometer, mocap: scales less 1; the last of places.
    torque: factor less 1 on the readings of one kind of joint, the last.
    markers: jump of the markers' origin midway, in the base's axes [m].
    turn: rotation vector of the motion capture's axes against the world's, whose vertical is gravity's [rad].
    """

    side: tuple[float, float, float] = (0.0, 0.0, 0.0)
    cable: tuple[float, float] = (0.0, 0.0)
    swing: float = 0.0
    lag: float = 0.0
    imu: tuple[float, float, float] = (0.0, 0.0, 0.0)
    turn: tuple[float, float, float] = (0.0, 0.0, 0.0)
    gyroscope: float = 0.0
    accelerometer: float = 0.0
    mocap: float = 0.0
    torque: float = 0.0
    markers: tuple[float, float, float] = (0.0, 0.0, 0.0)


class _Swinging:
    """A point mass on springs along x and y, moved on tick by tick."""

    def __init__(self, mass: float, at: Array) -> None:
        self._mass, self._place, self._velocity, self._last = mass, at.copy(), np.zeros(2), at.copy()

    def force(self, at: Array, tick: float) -> Array:
        """(2,) on the base, whose origin is at (2,)."""
        moving, mean, h = (at - self._last) / tick, np.zeros(2), tick / _SUBSTEPS
        for k in range(_SUBSTEPS):
            apart = self._place - self._last - (k + 1) * h * moving
            pull = self._mass * (_RATE**2 * apart + 2.0 * _DAMPING * _RATE * (self._velocity - moving))
            self._velocity = self._velocity - h * pull / self._mass
            self._place = self._place + h * self._velocity
            mean += pull / _SUBSTEPS
        self._last = at.copy()
        return mean


def disturb(sim: LeggedRobotSim, untold: Untold, tick: float) -> None:
    """Forces on the base of a simulation, from now on."""
    if not (any(untold.side) or any(untold.cable) or untold.swing):
        return
    plant = sim._plant
    advance: Callable[..., Any] = plant.advance
    home = plant.state[0][:2].copy()
    swinging = _Swinging(untold.swing, home) if untold.swing else None

    def pulled(time: float, torque: Any, push: Array) -> Any:
        at = plant.state[0][:2]
        force = push.copy()
        if time >= _BEGINS:
            force += untold.side
            force[:2] += np.array(untold.cable) * (home - at)
        if swinging is not None:
            force[:2] += swinging.force(at, tick)
        return advance(time, torque, force)

    plant.advance = pulled  # type: ignore[method-assign]


def spoil(readings: Sequence[Reading], untold: Untold) -> list[Reading]:
    """Readings of a log as they are with what is wrong with the sensors."""
    if not readings:
        return []
    middle = 0.5 * (readings[0].stamp + readings[-1].stamp)
    mount = np.asarray(pinocchio.exp3(np.array(untold.imu)))
    seen = _effort_later(readings, untold.lag)
    out: list[Reading] = []
    for reading in readings:
        if isinstance(reading, JointReading):
            effort = seen(reading)
            if len(effort):
                kind = np.array([name.split("_", 1)[1] == reading.names[-1].split("_", 1)[1] for name in reading.names])
                effort = effort * np.where(kind, 1.0 + untold.torque, 1.0)
            reading = replace(reading, effort=effort)
        elif isinstance(reading, ImuReading):
            turn = np.asarray(pinocchio.Quaternion(mount).coeffs())
            reading = replace(
                reading,
                orientation=quaternion_product(reading.orientation[None], turn[None])[0],
                gyro=(1.0 + untold.gyroscope) * mount.T @ reading.gyro,
                accelerometer=(1.0 + untold.accelerometer) * mount.T @ reading.accelerometer,
            )
        elif isinstance(reading, PoseReading):
            reading = _spoil_pose(reading, untold, after=reading.stamp > middle)
        out.append(reading)
    return out


def _spoil_pose(reading: PoseReading, untold: Untold, *, after: bool) -> PoseReading:
    """A pose before or after the middle of the log."""
    place = (1.0 + untold.mocap) * reading.position
    if after:
        place = place + quaternion_matrix(reading.orientation[None])[0] @ np.array(untold.markers)
    turn = np.asarray(pinocchio.exp3(np.array(untold.turn)))
    first = np.asarray(pinocchio.Quaternion(turn).coeffs())
    return replace(
        reading, position=turn @ place, orientation=quaternion_product(first[None], reading.orientation[None])[0]
    )


def _effort_later(readings: Sequence[Reading], lag: float) -> Callable[[JointReading], Array]:
    """Function from a reading to the torque (n,) a lag after it."""
    joints = [reading for reading in readings if isinstance(reading, JointReading)]
    if not (lag and joints and len(joints[0].effort)):
        return lambda reading: reading.effort
    stamps, effort = np.array([r.stamp for r in joints]), np.array([r.effort for r in joints])

    def later(reading: JointReading) -> Array:
        return np.array([np.interp(reading.stamp + lag, stamps, column) for column in effort.T])

    return later


UNTOLD = {
    "side": "a side force of 5 to 10 N",
    "cable": "a spring of 20 to 60 N/m to where it began",
    "swing": "a load of 0.5 to 1.5 kg that swings at 1 Hz",
    "lag": "torques that come 10 to 20 ms after their reading",
    "mount": "an IMU turned by 2 degrees",
    "mocap-turn": "a motion capture turned by 2 degrees against gravity",
    "markers": "markers that move by 5 to 15 mm midway",
    "gyro-scale": "a gyroscope's scale off by 2 to 5 %",
    "accelerometer-scale": "an accelerometer's scale off by 2 to 5 %",
    "mocap-scale": "a motion capture's scale off by 2 to 5 %",
    "kind": "torque readings of one kind of joint off by 5 to 10 %",
}
"""Effects, in words."""


def untold(effect: str, seed: int) -> Untold:
    """One of `UNTOLD` of a size, sign and direction drawn by a seed."""
    rng = np.random.default_rng([seed, 31])
    sign, angle = float(rng.choice([-1.0, 1.0])), rng.uniform(0.0, 2.0 * np.pi)
    ahead, aside = float(np.cos(angle)), float(np.sin(angle))
    size = float(rng.uniform(*_SIZES[effect]))
    if effect == "side":
        return Untold(side=(size * ahead, size * aside, 0.0))
    if effect == "cable":
        return Untold(cable=(size, size))
    if effect == "mount":
        return Untold(imu=(size * ahead, size * aside, 0.0))
    if effect == "mocap-turn":
        return Untold(turn=(size * ahead, size * aside, 0.0))
    if effect == "markers":
        return Untold(markers=(size * ahead, size * aside, 0.0))
    scales = {
        "gyro-scale": "gyroscope",
        "accelerometer-scale": "accelerometer",
        "mocap-scale": "mocap",
        "kind": "torque",
    }
    only: dict[str, Any] = {scales[effect]: sign * size} if effect in scales else {effect: size}
    return Untold(**only)


_SIZES = {
    "side": (5.0, 10.0),
    "cable": (20.0, 60.0),
    "swing": (0.5, 1.5),
    "lag": (0.01, 0.02),
    "mount": (0.035, 0.035),
    "mocap-turn": (0.035, 0.035),
    "markers": (0.005, 0.015),
    "gyro-scale": (0.02, 0.05),
    "accelerometer-scale": (0.02, 0.05),
    "mocap-scale": (0.02, 0.05),
    "kind": (0.05, 0.1),
}
