# SPDX-License-Identifier: Apache-2.0
"""A simulated arm that outer controllers drive by torque, with the firmware that guards such an interface."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import InputError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.arm_model import build_mujoco
from sysid_nodes.simulation.arm.hardware_config import HardwareConfig
from sysid_nodes.simulation.arm.plant import Plant
from sysid_nodes.simulation.arm.protective_stop import JointServo, StopReport
from sysid_nodes.simulation.arm.readings import read_joints
from sysid_nodes.simulation.arm.true_robot import TrueRobot, ground_truth, perturbed_robot
from sysid_nodes.simulation.payload import Payload

__all__ = ["COMMAND_INVALID", "COMMAND_TIMEOUT", "HardwareConfig", "SimulatedArm"]

COMMAND_TIMEOUT = "COMMAND_TIMEOUT"
COMMAND_INVALID = "COMMAND_INVALID"

_REST = 1e-3  # [rad/s] a joint slower than this counts as stopped
_SOON = 1e-9  # [s] what is due within it is due


class SimulatedArm:
    """A fixed-base arm under torque commands.

    Time runs in drive ticks. At the start of each the drive latches one torque, within the robot's torque limits, and
    holds it to the next; a reading's effort is the torque latched at its stamp. With a delay of zero a command given
    after the reading of the same instant replaces that torque at once, so a reading's effort is then the torque that
    acted up to its stamp (the identifier's torque_interpolation ``until``), also while the arm is held.

    Until the first command, and after a protective stop, a built-in position loop holds the arm; commands are ignored
    from a protective stop to its release.

    Args:
        robot: nominal robot; its torque limits are the drive's.
        payload: what it carries; None for nothing more than ``truth`` has.
        config: drive, sensors, deviations.
        rng: source of all randomness.
        q0: (n,) start position [rad].
        qd0: (n,) start velocity [rad/s]; none or zero starts held, in balance. A moving start is under commands at
            once, with the torque that keeps the velocities.
        truth: what the arm really is; drawn within ``config.robot_error`` where none is given.
        start: stamp of the first reading [s].
        until: a reading's effort is the torque that acted up to its stamp, whatever the delay.

    Raises:
        RobotError: floating base, a payload's link that does not exist or move, or a truth that is not physical.
        InputError: q0 or qd0 are not n finite numbers.
    """

    def __init__(
        self,
        robot: Robot,
        payload: Payload | None,
        config: HardwareConfig,
        rng: np.random.Generator,
        q0: npt.ArrayLike,
        qd0: npt.ArrayLike | None = None,
        truth: TrueRobot | None = None,
        *,
        start: float = 0.0,
        until: bool = False,
    ) -> None:
        self._robot, self._config, self._rng = robot, config, rng
        self._until = until or config.delay == 0.0
        q = _finite(q0, robot.n, "q0")
        qd = np.zeros(robot.n) if qd0 is None else _finite(qd0, robot.n, "qd0")
        load = payload.spatial_inertia(robot) if payload is not None else None
        body = load[0] if load is not None else robot.body_index()
        true = truth if truth is not None else perturbed_robot(robot, body, config.robot_error, rng)
        self._plant = Plant(build_mujoco(robot, *true, load), true.motor, q, qd)
        self.truth = ground_truth(body, true, load)
        self._servo = JointServo(robot, config.stop)
        self._start, self._elapsed, self._servo_start = start, 0.0, 0.0
        self._queue: deque[tuple[float, Array]] = deque()
        self._last_stamp, self._last_arrival = -np.inf, 0.0
        self._stop: StopReport | None = None
        self._travel = np.zeros(robot.n)
        self._holds = not qd.any()
        holding = self._plant.holding_torque()
        limit = robot.limits.torque
        self._saturated, self._torque = np.abs(holding) >= limit, np.clip(holding, -limit, limit)
        self._acted = self._torque
        if self._holds:
            self._servo.start(q, qd, self._torque)

    @property
    def now(self) -> float:
        """Simulated time, the stamp of a reading taken now [s]."""
        return self._start + self._elapsed

    @property
    def q(self) -> Array:
        """(n,) true position, not wrapped [rad]."""
        return self._plant.q

    @property
    def qd(self) -> Array:
        """(n,) true velocity; exactly zero where a joint sticks [rad/s]."""
        return self._plant.qd

    @property
    def qdd(self) -> Array:
        """(n,) true acceleration under the torque in force [rad/s2]."""
        return self._plant.response(self._torque)[0]

    @property
    def friction(self) -> Array:
        """(n,) true Coulomb friction now, positive where it acts against positive motion [N m]."""
        return self._plant.response(self._torque)[1]

    @property
    def torque(self) -> Array:
        """(n,) true motor torque in force until the next tick [N m]."""
        return self._torque.copy()

    @property
    def saturated(self) -> npt.NDArray[np.bool_]:
        """(n,) where the torque in force is at its limit, and what was asked for may have been more."""
        return self._saturated.copy()

    @property
    def unresolved(self) -> int:
        """Integrator steps in which friction was not exact, see `Plant`; none has been seen yet."""
        return self._plant.unresolved

    @property
    def commanded(self) -> bool:
        """Whether commands are in force, not the built-in position loop."""
        return not self._holds

    @property
    def stop(self) -> StopReport | None:
        """The protective stop in force, and how far it has gone since the drive took over; none when there is none."""
        if self._stop is None:
            return None
        return replace(self._stop, travel=self._travel.copy(), at_rest=bool((np.abs(self.qd) < _REST).all()))

    def reading(self) -> RawJointState:
        """The sensors' present reading."""
        config = self._config
        return read_joints(
            self._robot,
            self._rng,
            stamp=self.now,
            q=self.q,
            qd=self.qd,
            tau=self._acted if self._until else self._torque,
            quantise=config.quantise,
            velocity_error=config.velocity_error,
            torque_relative=config.torque_relative,
            stamp_error=config.stamp_error,
        )

    def command(self, torque: npt.ArrayLike, stamp: float) -> bool:
        """A torque command, which acts from the first tick that starts ``delay`` after now, to the next command.

        Args:
            torque: (n,) [N m]; numbers that are not finite stop the arm, COMMAND_INVALID.
            stamp: the sender's, of any clock that never runs backwards, as the stamp of the reading it answers [s].

        Returns:
            Whether it was taken: not during a protective stop, nor when it is no newer than one already taken.

        Raises:
            InputError: not n numbers.
        """
        torque = np.array(torque, dtype=np.float64)
        if torque.shape != (self._robot.n,):
            raise InputError(f"a command needs {self._robot.n} torques, got shape {torque.shape}")
        if self._stop is not None or not stamp > self._last_stamp:
            return False
        if not np.isfinite(torque).all():
            self.protective_stop(COMMAND_INVALID)
            return False
        self._last_stamp, self._last_arrival = stamp, self._elapsed
        self._queue.append((self._elapsed + self._config.delay, torque))
        if self._config.delay == 0.0:
            self._latch()
        return True

    def protective_stop(self, reason: str) -> None:
        """Stops the arm from the next tick on, and ignores commands until `release`; a stop already made stays."""
        if self._stop is None:
            self._stop = StopReport(reason, self.now, self.q, self.qd, np.zeros(self._robot.n), at_rest=False)
            self._travel[:] = 0.0
            self._queue.clear()

    def release(self) -> None:
        """Ends a protective stop: the arm is held until the next command."""
        if self._stop is not None and not self._holds:
            self._hold()
        self._stop = None

    def step(self) -> RawJointState:
        """Moves on by one tick, jittered as configured; the reading at its end."""
        jitter = self._config.tick_jitter
        self._tick((1.0 + (self._rng.uniform(-jitter, jitter) if jitter else 0.0)) / self._config.rate)
        return self.reading()

    def advance(self, dt: float) -> None:
        """Moves on by ``dt`` seconds, in ticks and a rest."""
        remaining, tick = dt, 1.0 / self._config.rate
        while remaining > _SOON:
            self._tick(tick if remaining > tick - _SOON else remaining)
            remaining -= tick

    def _tick(self, duration: float) -> None:
        self._acted = self._torque
        self._plant.advance(self._torque, duration, self._config.substeps)
        self._elapsed += duration
        if not self._holds and self._elapsed - self._last_arrival > self._config.command_timeout + _SOON:
            self.protective_stop(COMMAND_TIMEOUT)
        self._latch(duration)
        if self._stop is not None:
            np.maximum(self._travel, np.abs(self.q - self._stop.q), out=self._travel)

    def _latch(self, tick: float = 0.0) -> None:
        """The torque of the tick that starts now."""
        asked = self._torque
        if self._stop is not None and not self._holds:
            self._hold()
        while self._queue and self._queue[0][0] <= self._elapsed + _SOON:
            asked, self._holds = self._queue.popleft()[1], False
        if self._holds:
            asked = self._servo.torque(self._elapsed - self._servo_start, tick, self.q, self.qd)
        limit = self._robot.limits.torque
        self._saturated, self._torque = np.abs(asked) >= limit, np.clip(asked, -limit, limit)

    def _hold(self) -> None:
        q, qd = self.q, self.qd
        self._servo.start(q, qd)
        self._servo_start, self._holds = self._elapsed, True
        if self._stop is not None:
            self._stop = replace(self._stop, stamp=self.now, q=q, speed=qd)
            self._travel[:] = 0.0


def _finite(values: npt.ArrayLike, n: int, name: str) -> Array:
    array = np.array(values, dtype=np.float64)
    if array.shape != (n,) or not np.isfinite(array).all():
        raise InputError(f"{name} must be {n} finite numbers, got {values!r}")
    return array
