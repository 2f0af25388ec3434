# SPDX-License-Identifier: Apache-2.0
"""Whether joint states are such as the certificate assumes them: on time, finite, and a motion of this robot.

A reading that contradicts one of these ends the certificate there and then; there is no second chance to wait for. What
cannot be seen: errors that keep positions and velocities consistent, such as an encoder that was off by a constant from
the first reading on, or positions that creep away more slowly than the sensors' stated errors could (with the defaults
0.7 mrad/s). Whether the torques fit such readings is the identifier's business.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models.robust_control import STAMP_ROUNDING, RobustControlConfig, gains
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.robots.robot import Array, Robot
from sysid_nodes.signals.rejection import (
    ABSURD_STAMP,
    BACKWARD_STAMP,
    DUPLICATE_STAMP,
    MISSING_JOINT,
    POSITION_JUMP,
    REPEATED_JOINT,
)
from sysid_nodes.signals.stream import JointStream
from sysid_nodes.systems.certified.control.config import ControllerConfig

_REJECTED = {
    MISSING_JOINT: StopReason.JOINT_NAMES_WRONG,
    REPEATED_JOINT: StopReason.JOINT_NAMES_WRONG,
    BACKWARD_STAMP: StopReason.JOINT_STATES_IMPLAUSIBLE,
    ABSURD_STAMP: StopReason.JOINT_STATES_IMPLAUSIBLE,
    POSITION_JUMP: StopReason.JOINT_STATES_IMPLAUSIBLE,
}
_REMEMBERED = 30
_SLOW = 0.8
"""Share of long gaps among the last ones above which a stream is slow, not intermittent."""


class Seen(NamedTuple):
    """One joint state as the watch takes it.

    Attributes:
        t: stamp [s].
        q, qd: (n,) in the robot's order, positions unwrapped but on any turn [rad, rad/s].
        fault: what is wrong, NONE where nothing is; q and qd are the last good ones where there are no new ones.
        fresh: whether q and qd are of this joint state.
    """

    t: float
    q: Array
    qd: Array
    fault: StopReason
    fresh: bool


class JointWatch:
    """Takes joint states one by one.

    Args:
        robot: joints, encoders, which positions wrap.
        control: period, delay and sensor errors that the certificate counts on.
    """

    def __init__(self, robot: Robot, control: RobustControlConfig, config: ControllerConfig) -> None:
        found = gains(robot, control)
        self._names = robot.joint_names
        self._wraps = robot.wraps
        self._control, self._config = control, config
        self._position_slack = 2.0 * found.position_error + STAMP_ROUNDING * robot.limits.velocity.clip(max=100.0)
        self._velocity_error = found.velocity_error
        self.reset()

    def reset(self) -> None:
        """Forgets everything."""
        self._stream = JointStream(self._names, self._wraps, max_gap=max(self._control.period, 0.02))
        self._last = Seen(np.nan, np.zeros(len(self._names)), np.zeros(len(self._names)), StopReason.NONE, False)
        self._anchor_t, self._drift, self._allowed = -np.inf, self._last.q, self._last.q
        self._gaps: deque[bool] = deque(maxlen=_REMEMBERED)
        self._heard = self._renewed = np.nan
        self._fault, self._fault_at, self._skipped = StopReason.NONE, -np.inf, StopReason.NONE
        self._begun = np.nan
        self.changed_at = np.nan
        """Stamp of the last reading that was not bit by bit the one before [s]."""

    @property
    def last(self) -> Seen:
        """The last good joint state; its stamp is NaN before the first."""
        return self._last

    def recent(self, t: float) -> StopReason:
        """The latest fault, for as long back as a start asks for; NONE where there was none."""
        return self._fault if t - self._fault_at < self._config.settle else StopReason.NONE

    def check_settled(self, t: float) -> StopReason:
        """NONE when nothing was wrong for as long as a start asks for; LOST where there is no such history yet."""
        long_enough = t - self._begun >= self._config.settle
        return self.recent(t) or (StopReason.NONE if long_enough else StopReason.JOINT_STATES_LOST)

    def silent(self, now: float) -> StopReason:
        """LOST or FROZEN when nothing, or nothing new, has arrived for too long; ``now`` as in `push`."""
        if now - self._heard > self._config.silence:
            return StopReason.JOINT_STATES_LOST
        if now - self._renewed > self._config.silence:
            return StopReason.JOINT_STATES_FROZEN
        return StopReason.NONE

    def rhythm(self) -> StopReason:
        """The name of gaps: SLOW where nearly all of the last ones are too long, INTERMITTENT otherwise."""
        full = len(self._gaps) == _REMEMBERED
        slow = full and sum(self._gaps) >= _SLOW * _REMEMBERED
        return StopReason.JOINT_STATES_SLOW if slow else StopReason.JOINT_STATES_INTERMITTENT

    def push(self, reading: RawJointState, now: float, age: float | None) -> Seen:
        """Takes one joint state.

        Args:
            reading: as it arrived.
            now: any clock that does not run backwards [s].
            age: time now less the stamp, both on the stamps' clock [s]; None where that clock cannot be read.
        """
        self._heard = now
        # Torques of the sensors are not used here: a driver need not send any.
        stamp, names, position, velocity, _ = reading
        before = dict(self._stream.rejected)
        sample = self._stream.push(names, stamp, position, velocity, velocity)
        if sample is None:
            return self._skip(stamp, next(k for k, v in self._stream.rejected.items() if v != before.get(k, 0)))
        self._renewed = now
        last, self._last = self._last, Seen(sample.t, sample.q, sample.qd, StopReason.NONE, True)
        fault = self._judge(last, self._last, age)
        if fault:
            self._note(fault, sample.t)
            return self._last._replace(fault=fault)
        return self._last

    def _skip(self, stamp: float, why: str) -> Seen:
        """A rejected one: harmless only while the next may still come in time."""
        last = self._last
        if why == DUPLICATE_STAMP:
            return last._replace(fresh=False)
        fault = _REJECTED.get(why, StopReason.JOINT_STATES_INVALID)
        later = np.isfinite(stamp) and stamp > last.t
        self._note(fault, stamp if later else last.t)
        self._skipped = fault
        if later and stamp - last.t < self._control.period - _stamp_rounding(stamp):
            return last._replace(fresh=False)
        return last._replace(fault=fault, fresh=False)

    def _judge(self, last: Seen, new: Seen, age: float | None) -> StopReason:
        """The fault of an accepted joint state, given the one before; NaN stamps compare as false."""
        gap, config, control = new.t - last.t, self._config, self._control
        if np.isnan(gap) or gap < 0.0:
            self._begun, self.changed_at, self._fault_at = new.t, new.t, -np.inf
            self._anchor(new.t)
            return StopReason.NONE
        if (new.q == last.q).all() and (new.qd == last.qd).all():
            still = new.t - self.changed_at
        else:
            self.changed_at, still = new.t, 0.0
        long = gap > control.period + _stamp_rounding(new.t)
        self._gaps.append(long)
        skipped, self._skipped = self._skipped, StopReason.NONE
        if long:
            self._anchor(new.t)
            return skipped or self.rhythm()
        if age is not None and not timely(age, control, config):
            return StopReason.JOINT_STATES_DELAYED
        if age is not None and age < -config.clock_error:
            return StopReason.JOINT_STATES_IMPLAUSIBLE
        if 0.0 < config.frozen_after < still:
            return StopReason.JOINT_STATES_FROZEN
        change = np.abs(new.qd - last.qd)
        if (change > config.acceleration * gap + 2.0 * self._velocity_error).any():
            return StopReason.JOINT_STATES_IMPLAUSIBLE
        if fault := self._consistent(last, new, gap):
            return StopReason.JOINT_STATES_FROZEN if still > 0.0 else fault
        return StopReason.NONE

    def _consistent(self, last: Seen, new: Seen, gap: float) -> StopReason:
        """Positions against the trapezoid rule of velocities, over stretches.

        Velocities whose slope changes by at most A within a gap leave the rule off by at most A gap^2 / 8: by the
        triangle between a velocity with one kink in the middle and its chord.
        """
        change = self._config.acceleration_change
        self._drift = self._drift + (new.q - last.q) - (0.5 * gap) * (new.qd + last.qd)
        self._allowed = self._allowed + (self._velocity_error * gap + 0.125 * change * gap**2)
        if (np.abs(self._drift) > self._allowed).any():
            self._anchor(new.t)
            return StopReason.JOINT_STATES_IMPLAUSIBLE
        if new.t - self._anchor_t >= self._config.consistency:
            self._anchor(new.t)
        return StopReason.NONE

    def _anchor(self, t: float) -> None:
        self._anchor_t = t
        self._drift, self._allowed = np.zeros(len(self._names)), self._position_slack

    def _note(self, fault: StopReason, t: float) -> None:
        self._fault, self._fault_at = fault, t


def timely(age: float, control: RobustControlConfig, config: ControllerConfig) -> bool:
    """Whether a torque that goes out now acts within the delay that proofs count with, whatever the clocks' error.

    Args:
        age: time since the joint state was true, as clocks tell [s].
        control: delay.
        config: of the clocks, and of the way that is left.
    """
    return age + config.clock_error + config.transport <= control.delay


def _stamp_rounding(t: float) -> float:
    """How much the difference of two stamps may be off because they are doubles, less than proofs allow for [s]."""
    return min(float(2.0 * np.spacing(abs(t)) + 1e-9), 0.5 * STAMP_ROUNDING)
