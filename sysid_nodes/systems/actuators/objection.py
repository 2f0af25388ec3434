# SPDX-License-Identifier: Apache-2.0
"""Reasons to claim nothing of a joint: gains other than stated, clocks that are apart, motion that no law explains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.models.actuator import INDEX, PARAMETERS
from sysid_nodes.solvers.shooting.normal_equations import assemble
from sysid_nodes.solvers.shooting.problem import Gaussian
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint
from sysid_nodes.systems.actuators.preparation import JointMotion
from sysid_nodes.systems.actuators.replay import replay_error, replay_joint
from sysid_nodes.systems.actuators.strength import fit_with_gain, surely_outside

_PROMISE = 0.02
"""Share of the cost that a free gain must promise to take off before anybody looks closer."""
_BETTER = 0.5
"""Replay error with a free gain, relative to that without, from which a gain off its stated value is believed."""
_CLEARER = 0.97
"""The same of a motion that may come before its command. Where it gains nothing, friction at rest may feign it."""
_OWN = 0.2
"""Torque of a body, relative to the effort, below which a free joint says nothing of the effort's scale."""
_LEAD = 0.3
"""By which a motion is looked for before its command, where clocks may be apart [s]."""


@dataclass(frozen=True)
class Objection:
    """Reason to claim nothing of a joint; its text is empty where nothing speaks against it.

    Attributes:
        text: in words.
        refutes: whether the log contradicts what is stated, or else does not tell whether it does.
        names_cause: whether it says what is wrong, and not only that something is.
        lead: by which the motion surely comes before what it was told, however little that is [s].
        gained: the fit with a free gain, where that surely is not one and replays the log better.
        impossible: name of a parameter that surely comes out below its physical bound, of a joint told positions.
    """

    text: str = ""
    refutes: bool = False
    names_cause: bool = False
    lead: float = 0.0
    gained: JointFit | None = None
    impossible: str = ""


def fit_with_lead(fit: JointFit, rmse: float, config: ActuatorConfig) -> JointFit | None:
    """The fit in which the motion may come before its command; None where it does not replay the log better.

    A delay that is held at zero pulls all other parameters along; what is said of them must not rest on it.

    Args:
        fit: of the joint.
        rmse: of its replay [rad].
        config: of the fit.
    """
    problem = fit.problem
    if "delay" not in problem.names or not fit.solution.lower[problem.names.index("delay")]:
        return None
    freed = fit_joint(problem.motion, problem.law, config, problem.names, most_lead=_LEAD)
    error = replay_error(problem.motion, replay_joint(problem.motion, freed.law, config)).rmse
    return freed if error < _CLEARER * rmse else None


def find_objection(
    fit: JointFit, freed: JointFit | None, rmse: float, travel: float, config: ActuatorConfig
) -> Objection:
    """Objection of the motion to the law, or to what is stated of the drive.

    Args:
        fit: of the joint.
        freed: of `fit_with_lead`.
        rmse: of the fit's replay [rad].
        travel: RMS of what it replays [rad].
        config: of the fit, and what counts as a contradiction.
    """
    motion, verdict = fit.problem.motion, config.verdict
    if motion.command_torque is not None and motion.open_loop:
        share = float(np.std(motion.torque) / max(float(np.std(motion.command_torque.at(motion.t))), 1e-12))
        if share < _OWN:
            return Objection(
                f"the body of '{motion.name}' takes {100.0 * share:.0f} % of its efforts, friction and armature the "
                "rest: this motion does not tell how strong the drive is, nor what is scaled by that"
            )
    left = Objection()
    if rmse > verdict.unexplained * travel:
        left = Objection(_describe_residual(motion, rmse, travel), refutes=True)
    told = "efforts" if motion.open_loop else "command"
    if "delay" in fit.problem.names and surely_outside(fit, "delay", -np.inf, verdict.longest_delay):
        delay = 1e3 * float(fit.law[INDEX["delay"]])
        text = f"'{motion.name}' follows its {told} by {delay:.0f} ms; are their stamps of one clock?"
        return Objection(text, refutes=True, names_cause=True)
    if freed is None or not surely_outside(freed, "delay", 0.0, np.inf):
        return _object_to_strength(fit, left, rmse, config)
    lead = -float(freed.law[INDEX["delay"]])
    if surely_outside(freed, "delay", -0.5 * motion.step * motion.stride, np.inf):
        before = f"'{motion.name}' moves {1e3 * lead:.1f} ms before its {told}"
        text = f"{before}; are their stamps of one clock, and its gains right?"
        left = Objection(text, refutes=True, names_cause=True)
        rmse = min(rmse, replay_error(motion, replay_joint(motion, freed.law, config)).rmse)
    return replace(_object_to_strength(fit, left, rmse, config), lead=lead)


def _object_to_strength(fit: JointFit, left: Objection, rmse: float, config: ActuatorConfig) -> Objection:
    """The objection, or a better one where a drive of another strength follows closer than `rmse` [rad]."""
    motion, factor = fit.problem.motion, config.verdict.gain_factor
    if "gain" in fit.problem.names:
        gained = fit
    else:
        lost = bool(left.text) or not fit.solution.status.converged
        if not lost and not _may_matter(fit):
            return left
        gained = fit_with_gain(fit, config, anew=lost)
    gain = float(gained.law[INDEX["gain"]])
    error = replay_error(motion, replay_joint(motion, gained.law, config)).rmse
    if gained is not fit and error >= _CLEARER * rmse:
        return left
    strong = f"{gain:.3g} times as strong as its {'efforts say' if motion.open_loop else 'stated gains'}"
    sure = gained.solution.status.converged and surely_outside(gained, "gain", 1.0 / factor, factor)
    if sure and (gained is fit or error < _BETTER * rmse):
        besides = " And does it carry nothing that is not described?" if motion.open_loop else ""
        text = f"the drive of '{motion.name}' is {strong}; are their units right?{besides}"
        return Objection(text, refutes=True, names_cause=True)
    if left.text or gained is fit:
        return left
    if sure or (error < _BETTER * rmse and not 1.0 / factor <= gain <= factor):
        text = (
            f"a drive {strong} explains how '{motion.name}' moved better ({1e3 * error:.1f} mrad, not "
            f"{1e3 * rmse:.1f}), but so may friction that the law lacks: this motion does not tell which"
        )
        return Objection(text, gained=gained)
    counts = gained.solution.status.converged and surely_outside(gained, "gain", 1.0, 1.0)
    return replace(left, gained=gained) if counts else left


def _may_matter(fit: JointFit) -> bool:
    """Whether a Gauss-Newton step with a free gain promises enough to look closer."""
    names = tuple(p.name for p in PARAMETERS if p.name in (*fit.problem.names, "gain"))
    problem, solution = fit.problem.with_law(fit.law, *names), fit.solution
    parameters, (guess, information) = fit.law[problem.active], problem.start(solution.first)
    rollout = problem.rollout(parameters, solution.first, solution.start)
    nothing = Gaussian.uninformative(len(names))
    equations = assemble(
        rollout, solution.first, parameters, nothing, solution.start - guess, information, solution.loss
    )
    infinite, every = np.full(len(names), np.inf), np.ones(len(names), dtype=np.bool_)
    return equations.step(0.0, parameters, -infinite, infinite, every).decrease > _PROMISE * equations.cost


def _describe_residual(motion: JointMotion, rmse: float, travel: float) -> str:
    left = f"{1e3 * rmse:.1f} mrad of the {1e3 * travel:.0f} mrad RMS"
    right = "" if motion.open_loop else "; are its gains right?"
    return f"the law leaves {left} that '{motion.name}' moved by unexplained{right}"


def describe_impossible(found: Sequence[Objection]) -> str:
    """A sentence if most joints ask for less than its physical bound, as where a damping is stated that is too large.

    One joint's friction may have a shape that the law lacks. Of several, each is wrong once in forty.

    Args:
        found: of all joints.
    """
    below = [objection.impossible for objection in found if objection.impossible]
    if len(below) < 2 or 2 * len(below) <= len(found):
        return ""
    worst = max(dict.fromkeys(below), key=below.count)
    joints = f"{below.count(worst)} of {len(found)} joints"
    return f"{worst} of {joints} comes out below its physical bound; are their gains right?"
