# SPDX-License-Identifier: Apache-2.0
"""Identification of base, payload links and motors from a log, by our method or by the paper's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import mujoco
import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import LogError
from sysid_nodes.results.exploration import Posterior
from sysid_nodes.results.sampling import ClipReplay, SamplingEstimate, SamplingLevel, SamplingResult, SamplingStatus
from sysid_nodes.robots import Primitive, Robot
from sysid_nodes.robots.kinds import spread
from sysid_nodes.rollouts import (
    ClosableSimulator,
    Drive,
    DrivenSimulations,
    FinerSimulations,
    ProcessSimulations,
    Simulations,
    build_legged_mujoco,
)
from sysid_nodes.rollouts.rotations import drift
from sysid_nodes.rollouts.simulations import CAPACITY, GIVES
from sysid_nodes.systems.sampling.config import PAPER, SamplingConfig
from sysid_nodes.systems.sampling.estimates import Quantity, estimates, jacobian, quantities
from sysid_nodes.systems.sampling.findings import bound_words, rough_words, told
from sysid_nodes.systems.sampling.gauss_newton import Fit, Others, Progress, fit_clips
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.paper import fit_paper
from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips
from sysid_nodes.systems.sampling.settling import settle_starts
from sysid_nodes.systems.sampling.starts import StartGuess
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_FEW = 64  # simulations that are alive where one a clip is enough
_SHOWN = 6  # clips that a report replays
_SOME = 8  # every eighth clip tells how badly the nominal robot fits
_HARD = 2.0  # steps in which dry friction brings a joint to rest at the soonest; MuJoCo's own takes 0.02 s
_SOFT = 4.0  # times the way in which bristles come loose otherwise
_FELL = 0.5  # cosine of the tilt below which a walking robot has fallen


@dataclass(frozen=True)
class Setting:
    """Unknowns and simulator of a robot; to be closed, as its simulator may be of processes.

    Attributes:
        guess: of start states.
        drive: of its joints.
        others: simulations of half the step and of gears that hold otherwise.
    """

    unknowns: Unknowns
    guess: StartGuess
    simulator: DrivenSimulations | ClosableSimulator
    drive: Drive
    others: Others

    @property
    def steps(self) -> int:
        """Simulation steps made so far, the smaller ones of `others` among them."""
        return self.simulator.steps + sum(other.steps for other in self.others)

    def close(self) -> None:
        """Ends processes and lets go of a cluster, if there are any."""
        if not isinstance(self.simulator, DrivenSimulations):
            self.simulator.close()


def nominal_model(robot: Robot, config: SamplingConfig, step: float, shell: Sequence[Primitive] = ()) -> mujoco.MjModel:
    """The robot as described, on the ground where the search begins, simulated in steps [s].

    Identification does without a shell, which takes a tenth of a step more: motion that is recorded for it has feet
    alone on the ground.

    Raises:
        RobotError: the robot cannot walk.
    """
    return build_legged_mujoco(robot, robot.model.inertias.tolist()[1:], shell, config.ground, timestep=step)


def nominal_drive(robot: Robot, config: SamplingConfig) -> Drive:
    """The PD law of its drives.

    Raises:
        ConfigError: a list does not fit the robot.
    """
    return Drive(*(spread(getattr(config.drive, name), robot, f"drive.{name}") for name in ("stiffness", "damping")))


def simulations(
    model: mujoco.MjModel, drive: Drive, config: SamplingConfig, capacity: int = CAPACITY, gives: float = GIVES
) -> DrivenSimulations:
    """On threads of this process, or on a device if one is configured.

    Raises:
        ConfigError: there is no such device, or mujoco-warp is not installed.
    """
    if config.device:
        from sysid_nodes.rollouts.warp import WarpSimulations  # mujoco-warp is there for those who use it

        return WarpSimulations(model, drive, device=config.device, capacity=capacity, gives=gives)
    return Simulations(model, drive, threads=config.threads, capacity=capacity, gives=gives)


def finer_simulations(robot: Robot, config: SamplingConfig, drive: Drive, parts: int = 2) -> FinerSimulations:
    """Of the robot that `nominal_model` is of, in parts of the step."""
    fine = nominal_model(robot, config, config.step / parts)
    return FinerSimulations(simulations(fine, drive, config, _FEW), config.step, parts)


def other_simulations(robot: Robot, config: SamplingConfig, drive: Drive) -> Others:
    """Of the same robot, to see what errors of the simulations do."""
    hard = nominal_model(robot, config, config.step)
    hard.dof_solref[6:, 0] = _HARD * config.step
    holding = simulations(hard, drive, config, _FEW, _SOFT * GIVES)
    finer, finest = (finer_simulations(robot, config, drive, parts) for parts in (2, 4))
    return Others(finer, finest, holding)


def prepare(log: MotionLog, robot: Robot, config: SamplingConfig) -> Setting:
    """Model, simulator and unknowns.

    Raises:
        ConfigError: a list does not fit the robot.
        RobotError: the robot cannot walk, or has no such link.
        InputError: the cluster cannot be used, see `sysid_nodes.cluster.connect`.
    """
    model, drive = nominal_model(robot, config, config.step), nominal_drive(robot, config)
    others = other_simulations(robot, config, drive)
    unknowns, guess = Unknowns(robot, config), StartGuess(robot, model, log)
    return Setting(unknowns, guess, _simulator(model, drive, config), drive, others)


def _simulator(model: mujoco.MjModel, drive: Drive, config: SamplingConfig) -> DrivenSimulations | ClosableSimulator:
    """Threads, a device, processes or a cluster's workers, as configured."""
    if config.scheduler:
        from sysid_nodes.rollouts.workers import WorkerSimulations  # Dask is there for those who use it

        return WorkerSimulations(model, drive, scheduler=config.scheduler)
    if config.processes:
        return ProcessSimulations(model, drive, processes=config.processes)
    return simulations(model, drive, config)


def identify(log: MotionLog, robot: Robot, config: SamplingConfig, progress: Progress | None = None) -> SamplingResult:
    """Identifies a log.

    Raises:
        LogError: the log is too short, or the robot fell in it.
        ConfigError: a list does not fit the robot.
        RobotError: the robot cannot walk, or has no such link.
        InputError: the cluster cannot be used, or ceases to be there.
    """
    fall, log = _fall(log), cut_at_fall(log)
    setting = prepare(log, robot, config)
    try:
        if config.method == PAPER:
            fit = fit_paper(log, setting.unknowns, setting.simulator, setting.drive, setting.guess, config, progress)
        else:
            fit = fit_clips(log, setting.unknowns, setting.simulator, setting.guess, setting.others, config, progress)
        found = _result(log, config, setting, fit)
        if fall is None:
            return found
        words = f"the robot falls after {log.t[fall] - log.t[0]:.1f} s; what follows is not used"
        return replace(found, findings=(words, *found.findings))
    finally:
        setting.close()


def cut_at_fall(log: MotionLog) -> MotionLog:
    """The log without what comes after the robot has tilted by 60 degrees: no model of its feet holds there.

    Raises:
        LogError: hardly anything comes before.
    """
    fall = _fall(log)
    if fall is None:
        return log
    usable = log.usable.copy()
    usable[max(fall - round(0.3 / log.step), 0) :] = False
    if usable.sum() * log.step < 1.0:
        raise LogError("the robot falls before there is a second of motion")
    return replace(log, usable=usable)


def _fall(log: MotionLog) -> int | None:
    """Instant at which the robot has fallen; None if it does not."""
    fallen = np.flatnonzero(log.usable & (log.up[:, 2] < _FELL))
    return int(fallen[0]) if len(fallen) else None


def _result(log: MotionLog, config: SamplingConfig, setting: Setting, fit: Fit) -> SamplingResult:
    unknowns = setting.unknowns
    found = quantities(unknowns, config.verdict)
    held = {name: bound_words(name, fit, k) for name, k in unknowns.index.items() if fit.lower[k] or fit.upper[k]}
    parameters = estimates(found, unknowns, fit.vector, fit.covariance, fit.freedom, held, point=config.method == PAPER)
    before = _misfit(fit.problem, unknowns.column("guess"), config)
    findings = (*told(log, fit, held, unknowns), *rough_words(found, fit))
    status = _status(parameters, fit, before, config)
    if status is SamplingStatus.UNTRUSTED:
        parameters = tuple(replace(p, estimate=None, reason=p.reason or status.message) for p in parameters)
    variant = unknowns.variants([fit.vector])
    slopes = [_inertia_slopes(unknowns, fit.vector, k) for k in range(len(unknowns.bodies))]
    return SamplingResult(
        status=status,
        method=config.method,
        parameters=parameters,
        bodies=unknowns.links,
        inertia=variant.inertia[0],
        covariance=np.array([slope @ fit.covariance @ slope.T for slope in slopes]),
        weakness=variant.weakness[0],
        gain=variant.gain[0],
        misfit=fit.misfit,
        misfit_before=before,
        clips=len(fit.problem.first),
        left_out=fit.left_out,
        steps=setting.steps,
        levels=tuple(_level(found, length, *level) for length, level in zip(fit.lengths, fit.levels, strict=True)),
        findings=findings,
        replay=_replay(log, config, setting, fit.vector),
        duration=log.duration,
        posterior=_posterior(log, unknowns, fit),
    )


def _posterior(log: MotionLog, unknowns: Unknowns, fit: Fit) -> Posterior | None:
    """All that a plan of further motion rests on; None where nothing is known of the errors."""
    if not np.isfinite(fit.covariance).all() or not np.isfinite(fit.information).all():
        return None
    return Posterior(
        names=tuple(unknowns.index),
        values=fit.vector,
        covariance=fit.covariance,
        information=fit.information,
        prior=unknowns.column("sigma") ** -2.0,
        clips=len(fit.problem.first),
        duration=log.duration,
    )


def _status(
    parameters: tuple[SamplingEstimate, ...], fit: Fit, before: float, config: SamplingConfig
) -> SamplingStatus:
    if config.method == PAPER:
        return SamplingStatus.POINT
    if not np.isfinite(fit.misfit) or fit.misfit > config.verdict.misfit or fit.misfit > before:
        return SamplingStatus.UNTRUSTED
    asked = [p for p in parameters if p.group in ("inertia", "motors")]
    return SamplingStatus.IDENTIFIED if all(p.identifiable for p in asked) else SamplingStatus.PARTIAL


def _misfit(problem: ClipProblem, vector: Array, config: SamplingConfig) -> float:
    """Root mean square of the residuals of another robot on some of the clips, its start states fitted too."""
    some = replace(problem, first=problem.first[::_SOME], guess=problem.guess[::_SOME])
    residual = settle_starts(some, vector, config.horizons.settling).residual
    return float(np.sqrt(np.mean(residual[residual != 0.0] ** 2)))


def _level(found: tuple[Quantity, ...], length: float, vector: Array, covariance: Array) -> SamplingLevel:
    slopes = jacobian(found, vector)
    sigmas = np.sqrt(np.maximum(np.einsum("qk,kl,ql->q", slopes, covariance, slopes), 0.0))
    return SamplingLevel(length, np.array([q.value(vector) for q in found]), sigmas)


def _inertia_slopes(unknowns: Unknowns, vector: Array, body: int, step: float = 1e-5) -> Array:
    """(10, K) derivatives of a body's parameters."""
    moves = step * np.eye(len(vector))
    columns = [unknowns.inertia(vector + move, body) - unknowns.inertia(vector - move, body) for move in moves]
    return np.array(columns).T / (2.0 * step)


def _replay(log: MotionLog, config: SamplingConfig, setting: Setting, vector: Array) -> ClipReplay:
    """Clips of the report, from their guessed start."""
    length = round(config.verdict.shown / config.step) + 1
    first = place_clips(log, length, _SHOWN, np.random.default_rng(config.seed + 1))
    if not len(first):
        length = round(config.horizons.lengths[-1] / config.step) + 1
        first = place_clips(log, length, _SHOWN, np.random.default_rng(config.seed + 1))
    guess = setting.guess.at(first)
    problem = ClipProblem(log, config.noise, setting.unknowns, setting.simulator, first, length, guess)
    none = np.zeros((len(first), problem.coordinates.size))
    n = log.q.shape[1]
    shown = np.r_[0:3, 4:7, 3, 7 : 7 + n]  # MuJoCo's quaternions begin with w
    nominal, identified = (
        drift(problem.states(v, none), -0.5 * log.step)[..., shown] for v in (setting.unknowns.column("guess"), vector)
    )
    at = problem.instants
    measured = np.concatenate([log.position[at], np.roll(log.rotation[at], -1, axis=-1), log.q[at]], axis=-1)
    return ClipReplay(log.t[at], measured, nominal, identified)
