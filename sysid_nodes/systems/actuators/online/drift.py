# SPDX-License-Identifier: Apache-2.0
"""Whether a drive is still the one that its model is of.

Each window is rolled out with the joint's law as it was before the window was known. For each parameter that a changed
drive would move (its strength, Coulomb or viscous friction, delay) the value that explains the window best is found,
all others as they are. The explanation that leaves least is believed: a weaker drive looks like more friction, but more
friction does not explain it as well. A change counts when it is both large enough to matter and far outside of what the
law's errors, which are correlated in time, and the model's own sigma explain; and it is an alarm when several windows
in a row say so. Of those behind the first, half as much is enough: how much a change shows depends on the motion.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.actuator import INDEX, PARAMETERS
from sysid_nodes.results.actuators import JointActuator
from sysid_nodes.results.quantity import with_unit
from sysid_nodes.solvers.shooting import ShootingConfig, block_jackknife, shoot
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.online.config import DriftConfig
from sysid_nodes.systems.actuators.online.memory import MotionWindow
from sysid_nodes.systems.actuators.preparation import JointMotion

Array = npt.NDArray[np.float64]

KINDS = {"gain": "gain", "coulomb": "friction", "viscous": "friction", "delay": "delay"}
"""Kind of change by the parameter that explains it."""

_BLOCKS = 8  # of a window; residuals of different blocks are taken as independent
_ITERATIONS = 12


@dataclass(frozen=True)
class Shift:
    """A change that explains a window of a joint best.

    Attributes:
        parameter: of the law.
        before, after: its values.
        certain: whether it is far from nothing.
        counts: whether it is large enough, too.
        left: of the window that not even it explains, root mean square [rad].
    """

    parameter: str
    before: float
    after: float
    certain: bool
    counts: bool
    left: float

    @property
    def change(self) -> float:
        """Of the parameter."""
        return self.after - self.before

    @property
    def kind(self) -> str:
        """gain, friction or delay."""
        return KINDS[self.parameter]


@dataclass(frozen=True)
class DriftAlarm:
    """A drive that changed.

    Attributes:
        joint: its name.
        parameter, kind, unit: which parameter of the law explains it best.
        before, after: its value so far, and what the windows since then speak for.
        since: stamp at which the first window that speaks for it begins [s].
        first: number of that window.
    """

    joint: str
    parameter: str
    kind: str
    unit: str
    before: float
    after: float
    since: float
    first: int

    @property
    def sentence(self) -> str:
        """For people."""
        change = with_unit(f"{self.before:.3g} -> {self.after:.3g}", self.unit)
        return f"the {self.kind} of '{self.joint}' changed: {self.parameter.replace('_', ' ')} {change}"


def window_shift(
    motion: JointMotion, joint: JointActuator, middle: float, config: ActuatorConfig, drift: DriftConfig
) -> Shift | None:
    """The change of a joint that explains a window best; None where none does.

    Args:
        motion: of the joint in the window.
        joint: its model, from other windows.
        middle: of the motion in those, about which friction grows with position [rad].
        config: of the fit.
        drift: when a change counts.
    """
    law = law_about(joint.law, middle, motion.middle)
    best: tuple[float, Shift] | None = None
    for name in KINDS:
        problem = JointProblem(motion, config, law, (name,))
        found = _explain(problem, name)
        if found is None:
            continue
        cost, value, sigma = found
        before = float(law[INDEX[name]])
        own = next((p.sigma for p in joint.parameters if p.name == name and p.sigma is not None), 0.0)
        certain = abs(value - before) > drift.significance * float(np.hypot(sigma, own))
        counts = certain and _matters(motion, law, name, value, drift)
        if best is None or cost < best[0]:
            best = cost, Shift(name, before, value, certain, counts, float(np.sqrt(cost / motion.measured.sum())))
    return None if best is None else best[1]


def law_about(law: Array, middle: float, other: float) -> Array:
    """(P,) a law about the middle of one motion as it is about the middle of another [rad]."""
    moved = law.copy()
    moved[INDEX["coulomb"]] += law[INDEX["position_friction"]] * (other - middle)
    return np.asarray(moved)


def _explain(problem: JointProblem, name: str) -> tuple[float, float, float] | None:
    """Cost, value and standard deviation of a joint's one parameter; None where it cannot be told."""
    parameter = PARAMETERS[INDEX[name]]
    length = problem.samples
    options = ShootingConfig((length,), _ITERATIONS, robust=problem.config.shooting.robust)
    guess, lower, upper = (np.array([x]) for x in (problem.law[INDEX[name]], parameter.lower, parameter.upper))
    solution = shoot(problem, guess, lower, upper, options)
    if not solution.status.converged or not solution.free.all():
        return None
    covariance = block_jackknife(solution.equations, solution.free, max(length // _BLOCKS, 2))
    # Costs must be compared with one loss: the sum of squares, which each fit's own robust loss scales differently.
    return float(np.sum(solution.residual**2)), float(solution.parameters[0]), float(covariance.sigma[0])


def _matters(motion: JointMotion, law: Array, name: str, value: float, drift: DriftConfig) -> bool:
    change = abs(value - float(law[INDEX[name]]))
    if name == "gain":
        return change > drift.gain * float(law[INDEX["gain"]])
    if name == "delay":
        return change > drift.delay
    speed = float(np.sqrt(np.mean(motion.velocity**2)))
    friction = float(law[INDEX["coulomb"]] + law[INDEX["viscous"]] * speed)
    error = motion.stiffness * (motion.command.at(motion.t) - motion.q) - motion.damping * motion.velocity
    torque = float(np.sqrt(np.mean(error**2)))
    turned = change * (speed if name == "viscous" else 1.0)
    return turned > max(drift.friction * friction, drift.least_torque * torque)


class DriftWatch:
    """Counts windows that speak for the same change of a joint, one after the other.

    Args:
        drift: when a change counts.
    """

    def __init__(self, drift: DriftConfig) -> None:
        self._drift = drift
        self._seen: dict[str, list[tuple[MotionWindow, Shift]]] = {}

    def take(
        self, window: MotionWindow, shifts: Sequence[tuple[str, Shift | None]]
    ) -> tuple[tuple[DriftAlarm, ...], dict[str, Shift]]:
        """Takes the shifts of all joints in a window; returns new alarms, and changes that have to be confirmed."""
        alarms, suspected = [], {}
        for joint, shift in shifts:
            seen = self._seen.setdefault(joint, [])
            if shift is not None and seen and _confirms(seen[0][1], shift):
                seen.append((window, shift))
            elif shift is not None and shift.counts:
                seen[:] = [(window, shift)]
            else:
                seen.clear()
                continue
            if len(seen) >= self._drift.windows:
                alarms.append(_alarm(joint, seen))
                seen.clear()
            else:
                suspected[joint] = seen[-1][1]
        return tuple(alarms), suspected

    def reset(self) -> None:
        """Forgets all windows."""
        self._seen.clear()


def _confirms(first: Shift, other: Shift) -> bool:
    if first.kind != other.kind or (first.change > 0.0) != (other.change > 0.0) or not other.certain:
        return False
    return other.counts or (first.parameter == other.parameter and abs(other.change) >= 0.5 * abs(first.change))


def _alarm(joint: str, seen: Sequence[tuple[MotionWindow, Shift]]) -> DriftAlarm:
    first, last = seen[0][0], seen[-1][1]
    same = [shift.after for _, shift in seen if shift.parameter == last.parameter]
    unit = PARAMETERS[INDEX[last.parameter]].unit
    return DriftAlarm(
        joint, last.parameter, last.kind, unit, last.before, float(np.mean(same)), first.begin, first.number
    )
