# SPDX-License-Identifier: Apache-2.0
"""Models of a robot's actuators that follow its motion: window in, models and alarms out.

Every window is first held against the models so far, which know nothing of it: has a drive changed? If not, the windows
that tell most are fitted anew, beginning at the models so far. A window that speaks for a change waits, for it would
spoil the models if there is one: when the next ones say the same it is an alarm, and they are all that is remembered of
the robot; when they do not, somebody has pushed it, and the window is left out. So
it is with a window that nothing explains, but that when the next ones are like it, the robot just moves as it has not
before, and they are used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError, ExcitationError, InputError
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.results.actuator_methods import JointMethod
from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorResult, ActuatorStatus, JointActuator
from sysid_nodes.robots import Robot
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.solvers.shooting.problem import Gaussian
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import known_law, parameters_of
from sysid_nodes.systems.actuators.identify import identify_actuators
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.methods.apply import joint_methods
from sysid_nodes.systems.actuators.online.config import OnlineConfig
from sysid_nodes.systems.actuators.online.drift import DriftAlarm, DriftWatch, Shift, law_about, window_shift
from sysid_nodes.systems.actuators.online.memory import MotionWindow, ToldWindow, keep_telling, lay_end_to_end
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_joint

Array = npt.NDArray[np.float64]

_ALARMS = 100  # about friction and delay that are kept
_LIMP = "drives are told no gains: nothing follows the commanded positions"


@dataclass(frozen=True)
class RefinementState:
    """The state of knowledge after a window.

    Attributes:
        number: of the newest window looked at; -1 before there is one.
        result: of the windows in memory; None before they tell anything.
        finding: why there is no result; empty where there is one.
        windows: numbers of the windows in memory.
        alarms: since the start, in order of time; of very many the newest.
        shifts: of the joints in the newest window.
        suspects: numbers of windows that wait: they speak for a change, and the next ones have to confirm it.
        odd: windows left out because the next ones did not.
    """

    number: int = -1
    result: ActuatorResult | None = None
    finding: str = "no window of motion yet"
    windows: tuple[int, ...] = ()
    alarms: tuple[DriftAlarm, ...] = ()
    shifts: tuple[tuple[str, Shift | None], ...] = ()
    suspects: tuple[int, ...] = ()
    odd: int = 0


@dataclass(frozen=True)
class ReplayedMotion:
    """The windows in memory end to end, (S,) times [s] and (S, n) positions [rad]; not a number without a reading.

    `stamp` is when the samples were taken; in the holes between windows it means nothing.
    """

    t: Array
    stamp: Array
    command: Array
    measured: Array
    replayed: Array


class Refinement:
    """Takes windows one after the other; the same windows give the same models to the last bit.

    Args:
        robot: its rigid bodies.
        config: of the fit.
        online: what is remembered, and when a drive counts as changed.
        gains_told: whether the windows' commands state the drives' gains. When these change it starts over.

    Attributes:
        state: what is known.

    Raises:
        ConfigError: the drives' gains are not known, or there are not as many as joints.
    """

    def __init__(self, robot: Robot, config: ActuatorConfig, online: OnlineConfig, *, gains_told: bool = False) -> None:
        for name in ("stiffness", "damping"):
            given = getattr(config.law, name)
            if len(given) not in ((0, 1, robot.n) if gains_told else (1, robot.n)):
                wanted = f"must have 1 or {robot.n} values, got {len(given)}" if given else "is needed"
                raise ConfigError(f"'law.{name}' {wanted}")
        self._robot, self._config, self._online = robot, config, online
        self._names = config.fitted.names
        self.reset()

    def reset(self) -> None:
        """Forgets all windows and alarms."""
        self.state = RefinementState()
        self._gains: list[tuple[float, float]] = []
        self._forget()

    def _forget(self) -> None:
        """Forgets all windows, but not what was said of them."""
        self._memory: tuple[ToldWindow, ...] = ()
        self._suspects: tuple[ToldWindow, ...] = ()
        self._motions: tuple[JointMotion, ...] = ()
        self._watch = DriftWatch(self._online.drift)
        self.state = replace(self.state, result=None, windows=(), suspects=())

    def take(self, window: MotionWindow) -> RefinementState:
        """Takes a window and returns what is known then."""
        try:
            motions = prepare(lay_end_to_end([window]), self._robot, self._config)
        except InputError as error:
            self.state = replace(self.state, number=window.number, finding=str(error), shifts=())
            return self.state
        gains = [(motion.stiffness, motion.damping) for motion in motions]
        if gains != self._gains:
            self._forget()
            self._gains = gains
        if any(motion.open_loop for motion in motions):
            self.state = replace(self.state, number=window.number, finding=_LIMP, shifts=())
            return self.state
        shifts = self._shifts(motions)
        told = ToldWindow(window, self._information(motions))
        raised, suspected = self._watch.take(window, shifts)
        changes = [_suspicion(name, shift) for name, shift in suspected.items()]
        strange = self._strange(shifts)
        state = replace(self.state, number=window.number, finding="", shifts=shifts)
        if raised:
            self._memory = self._suspects  # the rest is of another robot
            self._suspects = ()
            self._watch.reset()
            state = replace(state, alarms=_newest((*state.alarms, *raised)), result=None)
        elif changes or (strange and len(self._suspects) + 1 < self._online.drift.windows):
            waiting = (*self._suspects, told)
            self._suspects = waiting[-self._online.drift.windows :]
            state = replace(state, odd=state.odd + len(waiting) - len(self._suspects))
            finding = "; ".join([*changes, *strange])
            self.state = replace(state, finding=finding, suspects=_numbers(self._suspects))
            return self.state
        elif strange:  # it goes on: the robot moves in a way that it did not before
            self._memory = (*self._memory, *self._suspects)
            self._suspects = ()
        else:
            state = replace(state, odd=state.odd + len(self._suspects))
            self._suspects = ()
        half_life = self._online.half_life / self._online.window
        self._memory = keep_telling([*self._memory, told], self._online.memory, half_life)
        self.state = self._refit(replace(state, windows=_numbers(self._memory), suspects=()))
        return self.state

    def replayed_motion(self) -> ReplayedMotion | None:
        """Motion of the windows in memory, and its replay by the commands alone; None before there are models."""
        if self.state.result is None:
            return None
        motions = self._motions
        replays = [
            replay_joint(motion, joint.law, self._config)
            for motion, joint in zip(motions, self.state.result.joints, strict=True)
        ]
        windows = [told.window for told in self._memory]
        laid, taken = lay_end_to_end(windows).t, np.concatenate([window.log.t for window in windows])
        return ReplayedMotion(
            motions[0].t,
            np.interp(motions[0].t, laid, taken),
            np.stack([motion.command.at(motion.t) for motion in motions], axis=1),
            np.stack([np.where(motion.measured, motion.q, np.nan) for motion in motions], axis=1),
            np.stack(replays, axis=1),
        )

    def joint_methods(self) -> tuple[JointMethod, ...]:
        """The torque oracle of each joint along that motion (`oracle.beside`); none unless it is asked for."""
        if self.state.result is None or not self._config.oracle.beside:
            return ()
        laws = [joint.law for joint in self.state.result.joints]
        return tuple(joint_methods(self._motions, self._robot, laws, self._config))

    def _refit(self, state: RefinementState) -> RefinementState:
        known = state.result
        sound = known is not None and known.status is not ActuatorStatus.CONTRADICTION
        start = tuple(joint.law for joint in known.joints) if known is not None and sound else ()
        log = lay_end_to_end([told.window for told in self._memory])
        try:
            result = identify_actuators(log, self._robot, self._config, start=start)
            motions = prepare(log, self._robot, self._config)
        except InputError as error:  # the motion shows too little, or speaks of swapped joints and the like
            self._motions = ()
            excuse = "" if isinstance(error, ExcitationError) else "the windows in memory contradict themselves: "
            return replace(state, result=None, finding=excuse + str(error))
        self._motions = motions
        return replace(state, result=_without_changed_drives(result, state.alarms))

    def _shifts(self, motions: tuple[JointMotion, ...]) -> tuple[tuple[str, Shift | None], ...]:
        result, drift = self.state.result, self._online.drift
        if result is None or len(self._memory) < drift.learning:
            return ()
        return tuple(
            (motion.name, self._shift(motion, joint, known.middle))
            for motion, joint, known in zip(motions, result.joints, self._motions, strict=True)
        )

    def _strange(self, shifts: tuple[tuple[str, Shift | None], ...]) -> list[str]:
        """Joints whose motion in a window nothing explains, in words."""
        joints = () if self.state.result is None or not shifts else self.state.result.joints
        most = self._online.drift.unexplained
        return [
            f"no change of a drive explains how '{name}' moved, {1e3 * shift.left:.1f} mrad are left: was it pushed?"
            for (name, shift), joint in zip(shifts, joints, strict=True)
            if shift is not None and shift.left > most * joint.replay.rmse
        ]

    def _shift(self, motion: JointMotion, joint: JointActuator, middle: float) -> Shift | None:
        if np.ptp(motion.q) < self._config.motion.travel:
            return None  # it rests: nothing about it could be told
        if not any(p.identifiable for p in joint.parameters):
            return None  # nothing is claimed of it that could be wrong
        return window_shift(motion, joint, middle, self._config, self._online.drift)

    def _information(self, motions: tuple[JointMotion, ...]) -> Array:
        """(n, K, K) Hessians of the joints' parameters in a window."""
        joints = None if self.state.result is None else self.state.result.joints
        found = []
        for j, motion in enumerate(motions):
            if joints is None:
                law = known_law(self._config, j)
                values = np.array([p.start for p in parameters_of(self._names)])
            else:
                law = law_about(joints[j].law, self._motions[j].middle, motion.middle)
                values = np.array([law[INDEX[name]] for name in self._names])
            problem = JointProblem(motion, self._config, law, self._names)
            first = np.zeros(1, dtype=np.int64)
            start, known = problem.start(first)
            rollout = problem.rollout(values, first, start)
            nothing = Gaussian.uninformative(len(values))
            equations = assemble(rollout, first, values, nothing, 0.0 * start, known, None)
            hessian = equations.reduced_hessian
            found.append(hessian if np.isfinite(hessian).all() else np.zeros_like(hessian))
        return np.array(found)


def _numbers(windows: tuple[ToldWindow, ...]) -> tuple[int, ...]:
    return tuple(told.window.number for told in windows)


def _suspicion(joint: str, shift: Shift) -> str:
    return f"the {shift.kind} of '{joint}' may have changed; the next window will tell"


def _newest(alarms: tuple[DriftAlarm, ...]) -> tuple[DriftAlarm, ...]:
    """As many as are kept; those about a drive's strength, one a joint, always: they forbid what is claimed of it."""
    others = [alarm for alarm in alarms if alarm.kind != "gain"][-_ALARMS:]
    return tuple(alarm for alarm in alarms if alarm.kind == "gain" or alarm in others)


def _without_changed_drives(result: ActuatorResult, alarms: tuple[DriftAlarm, ...]) -> ActuatorResult:
    """The result, but nothing of joints whose drive is no longer as strong as stated: all else rests on that."""
    changed = {alarm.joint: alarm for alarm in alarms if alarm.kind == "gain"}
    if not changed:
        return result
    joints = tuple(
        replace(joint, parameters=_withhold(joint, changed[joint.name])) if joint.name in changed else joint
        for joint in result.joints
    )
    status = result.status
    if status is ActuatorStatus.IDENTIFIED:
        status = ActuatorStatus.PARTIAL
    return replace(result, joints=joints, status=status)


def _withhold(joint: JointActuator, alarm: DriftAlarm) -> tuple[ActuatorEstimate, ...]:
    reason = f"{alarm.sentence}; state its gains anew and start over"
    return tuple(ActuatorEstimate(p.name, p.unit, None, None, -np.inf, np.inf, reason) for p in joint.parameters)
