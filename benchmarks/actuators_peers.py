# SPDX-License-Identifier: Apache-2.0
"""Actuator identification beside plain and published forms of it: the same logs, the same machine.

    ours          the product's fit; with the five parameters that all others have, and as it comes
    plain         SciPy's least squares on one rollout of the whole log, with our law and kernel but neither segments
                  nor start states, sensitivities, robust loss or intervals
    jax           our split into joints in plain JAX, gradients through rollouts, Adam
    mjx           the same through MJX, MuJoCo in JAX, on the whole, coupled robot
    mujoco.sysid  MuJoCo's own toolbox: Gauss-Newton on rollouts of the coupled robot
    pace          CMA-ES on 4 n + 1 parameters of the coupled robot, as PACE does it in Isaac Lab

Fitted on one real Go2 chirp, judged by single rollouts along the others, each in its own simulator; then ours and plain
from starts that are far off, for a fit that needs a good guess is half a fit. What is not installed is left out
(benchmarks/README.md); without the logs this says so and ends.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.actuators_go2 import FITTED, LOGS
from benchmarks.peers import jax_joints, mjx_robot, mujoco_sysid
from benchmarks.peers.coupled_robot import CoupledRobot, Drives, error
from benchmarks.peers.jax_joints import FIVE
from benchmarks.peers.pace import fit_pace
from benchmarks.peers.single_shooting import fit_single
from benchmarks.report import Report, parser
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.logs.actuator_table import read_actuator_table
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.robots import Robot, limb, load_robot
from sysid_nodes.solvers.shooting.problem import Array
from sysid_nodes.systems.actuators import ActuatorConfig, replay_log
from sysid_nodes.systems.actuators.fit import fit_joint, known_law, parameters_of
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare

METHODS = ("ours", "plain", "jax", "mjx", "mujoco.sysid", "pace")

_MISSING = {
    name: module.__name__.rpartition(".")[2]
    for name, module in (("jax", jax_joints), ("mjx", mjx_robot), ("mujoco.sysid", mujoco_sysid))
    if not module.AVAILABLE
}

PHYSICS = 2.5e-3
"""Step of the coupled robot's rollouts [s]."""

SAME = 1.05
"""Replay error relative to the best known from which a fit counts as having found it."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("actuators_peers", __doc__)
    options.add_argument("--logs", type=Path, default=LOGS, help="folder of the chirps")
    options.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS), help="which methods")
    options.add_argument("--budget", type=int, default=1280, help="rollouts that the PACE-like search may spend")
    options.add_argument("--descents", type=int, default=400, help="steps of Adam in JAX; MJX makes a tenth of them")
    options.add_argument("--iterations", type=int, default=10, help="of Gauss-Newton in mujoco.sysid")
    options.add_argument("--starts", type=int, default=5, help="starts that are far off, for each joint")
    chosen = options.parse_args(arguments)
    if not chosen.logs.is_dir():
        print(f"no recorded logs in {chosen.logs}", file=sys.stderr)
        return 0
    for name in set(chosen.methods) & set(_MISSING):
        print(f"what {name} needs is not installed; it is left out (see benchmarks/README.md)", file=sys.stderr)
    robot, config = load_robot("go2"), ActuatorConfig()
    logs = {path.name: read_actuator_table(path, robot.joint_names) for path in sorted(chosen.logs.glob("traj_*.npz"))}
    report = Report("actuators-peers", "Actuator identification beside its peers", chosen.out, chosen.command)
    motions = prepare(logs[FITTED], robot, config)
    fits: list[Fit] = []
    for name in chosen.methods:
        if name not in _MISSING:
            fits += _FITS[name](_Task(robot, config, logs[FITTED], motions, chosen))
            print(f"{name}: {fits[-1].running:.1f} s", file=sys.stderr, flush=True)
    _whole_robot(report, fits, logs)
    if {"ours", "plain"} <= set(chosen.methods):
        _far_starts(report, motions, config, chosen.starts, chosen.seed)
    print(report.write())
    return 0


@dataclass(frozen=True)
class Fit:
    """A method's end.

    Attributes:
        name: of the method.
        parameters: it fits.
        evaluations: rollouts of all that it looks at, each with its derivatives if the method has any.
        joint_steps: of one.
        compiling, running: CPU time [s].
        replay: RMSE [rad] of a single rollout along a log.
    """

    name: str
    parameters: int
    evaluations: int
    joint_steps: int
    compiling: float
    running: float
    replay: Callable[[ActuatorLog], float]


@dataclass(frozen=True)
class _Task:
    robot: Robot
    config: ActuatorConfig
    log: ActuatorLog
    motions: tuple[JointMotion, ...]
    chosen: argparse.Namespace

    @property
    def steps(self) -> int:
        """Joint-steps of the whole log in our rollouts."""
        return sum(len(motion.load) for motion in self.motions)

    @property
    def coupled(self) -> CoupledRobot:
        return CoupledRobot(limb(self.robot, ""), PHYSICS)

    def law(self, joint: int, names: tuple[str, ...], values: Array) -> Array:
        """(15,) our law of a joint with these parameters."""
        law = known_law(self.config, joint)
        law[[INDEX[name] for name in names]] = values
        return law

    def by_laws(self, laws: list[Array]) -> Callable[[ActuatorLog], float]:
        """Replays in our simulator, joint by joint."""

        def replay(log: ActuatorLog) -> float:
            return _total([found.rmse for _, _, found in replay_log(log, self.robot, laws, self.config)])

        return replay

    def by_drives(self, drives: Drives) -> Callable[[ActuatorLog], float]:
        """Replays in MuJoCo, coupled."""
        return lambda log: float(error(log, self.coupled.replay(log, [drives]))[0])


def _ours(task: _Task) -> list[Fit]:
    config, fits = task.config, []
    for label, names in (("ours, five a joint", FIVE), ("ours", config.fitted.names)):
        began = time.process_time()
        found = [fit_joint(m, known_law(config, j), config, names) for j, m in enumerate(task.motions)]
        spent = time.process_time() - began
        count = sum(fit.solution.iterations for fit in found) // len(found)  # a joint's is a share of a robot's
        replay = task.by_laws([fit.law for fit in found])
        fits.append(Fit(label, len(names) * len(found), count, task.steps, 0.0, spent, replay))
    return fits


def _plain(task: _Task) -> list[Fit]:
    laws, rollouts, began = [], 0, time.process_time()
    guess = np.array([p.start for p in parameters_of(FIVE)])
    for j, motion in enumerate(task.motions):
        found = fit_single(JointProblem(motion, task.config, known_law(task.config, j), FIVE), guess)
        laws.append(task.law(j, FIVE, found.parameters))
        rollouts += found.rollouts
    spent, n = time.process_time() - began, len(laws)
    return [Fit("plain", len(FIVE) * n, rollouts // n, task.steps, 0.0, spent, task.by_laws(laws))]


def _jax(task: _Task) -> list[Fit]:
    found, steps = jax_joints.fit_joints(task.motions, task.chosen.descents)
    replay = task.by_laws([task.law(j, FIVE, values) for j, values in enumerate(found.values)])
    return [Fit("jax", found.values.size, found.gradients, steps, found.compiling, found.running, replay)]


def _mjx(task: _Task) -> list[Fit]:
    drives, found, steps = mjx_robot.fit_mjx(task.coupled, task.log, task.motions, max(task.chosen.descents // 10, 1))
    replay = task.by_drives(drives)
    return [Fit("mjx", found.values.size, found.gradients, steps, found.compiling, found.running, replay)]


def _toolbox(task: _Task) -> list[Fit]:
    began = time.process_time()
    found = mujoco_sysid.fit_toolbox(task.coupled, task.log, task.chosen.iterations)
    spent, count = time.process_time() - began, len(FIVE) * task.robot.n
    return [Fit("mujoco.sysid", count, found.rollouts, _coupled_steps(task), 0.0, spent, task.by_drives(found.drives))]


def _pace(task: _Task) -> list[Fit]:
    budget = task.chosen.budget

    def progress(spent: int, best: float) -> None:
        print(f"PACE-like: {spent} of {budget} rollouts, {1e3 * best:.1f} mrad", file=sys.stderr, flush=True)

    began = time.process_time()
    found = fit_pace(task.coupled, task.log, budget, task.chosen.seed, progress)
    spent, count = time.process_time() - began, 4 * task.robot.n + 1
    return [Fit("PACE-like", count, found.rollouts, _coupled_steps(task), 0.0, spent, task.by_drives(found.drives))]


_FITS = {"ours": _ours, "plain": _plain, "jax": _jax, "mjx": _mjx, "mujoco.sysid": _toolbox, "pace": _pace}


def _coupled_steps(task: _Task) -> int:
    return (len(task.log.t) - 1) * task.coupled.steps(task.log) * task.robot.n


def _whole_robot(report: Report, fits: Sequence[Fit], logs: dict[str, ActuatorLog]) -> None:
    report.section("A whole robot")
    report.text(
        f"Fitted on {FITTED}; replay of the {len(logs) - 1} other logs from their first sample to their last by "
        "commands alone, RMSE in mrad. CPU time of the fit, compilation apart; ours is of the whole fit, with start "
        "states, robust loss and covariances, where the others end with an estimate. An evaluation is a rollout of all "
        "that the method looks at, with its derivatives; for derivatives by differences every rollout is one."
    )
    rows = []
    for fit in fits:
        own = 1e3 * fit.replay(logs[FITTED])
        others = np.array([1e3 * fit.replay(log) for name, log in logs.items() if name != FITTED])
        rows.append(
            (
                fit.name,
                str(fit.parameters),
                str(fit.evaluations),
                f"{1e9 * fit.running / (fit.evaluations * fit.joint_steps):.0f}",
                f"{fit.compiling:.1f}",
                f"{fit.running:.1f}",
                f"{own:.2f}",
                f"{_total(others):.2f}",
                f"{others.max():.2f}",
            )
        )
    header = ("method", "parameters", "evaluations", "ns a joint-step", "compiling [s]", "fit [s]", "fitted log")
    report.table((*header, "others", "worst of them"), rows)


def _total(errors: Sequence[float] | Array) -> float:
    """Of several RMSEs together."""
    return float(np.sqrt(np.mean(np.square(errors))))


def _far_starts(
    report: Report, motions: tuple[JointMotion, ...], config: ActuatorConfig, count: int, seed: int
) -> None:
    rng, names = np.random.default_rng(seed), config.fitted.names
    errors: dict[str, list[list[float]]] = {"ours": [], "plain": []}
    for j, motion in enumerate(motions):
        own: dict[str, list[float]] = {"ours": [], "plain": []}
        for _ in range(count):
            law = _far_law(known_law(config, j), rng)
            own["ours"].append(_single_rollout(motion, fit_joint(motion, law, config, names).law, config))
            problem = JointProblem(motion, config, law, names)
            found = fit_single(problem, law[problem.active])
            own["plain"].append(_single_rollout(motion, problem.with_parameters(found.parameters), config))
        best = min(min(values) for values in own.values())
        for name, values in own.items():
            errors[name].append([value / best for value in values])
    report.section("From starts that are far off")
    report.text(
        f"{len(motions)} joints from {count} starts each: armature, viscous and Coulomb friction a fifth to five "
        "times what a search usually begins with, delay 0 to 40 ms, bias up to 0.1 rad. Replay error of the fitted log "
        "relative to the best that either found for the joint."
    )
    rows = []
    for name, ratios in errors.items():
        flat = np.array(ratios).ravel()
        rows.append((name, f"{np.median(flat):.3f}", f"{flat.max():.3g}", f"{100.0 * np.mean(flat < SAME):.0f}"))
    report.table(("method", "median", "largest", f"within {100.0 * (SAME - 1.0):.0f} % of the best [%]"), rows)


def _far_law(law: Array, rng: np.random.Generator) -> Array:
    law = law.copy()
    for name, usual in (("armature", 0.01), ("viscous", 0.1), ("coulomb", 0.1)):
        law[INDEX[name]] = usual * 5.0 ** rng.uniform(-1.0, 1.0)
    law[INDEX["delay"]], law[INDEX["encoder_bias"]] = rng.uniform(0.0, 0.04), rng.uniform(-0.1, 0.1)
    return law


def _single_rollout(motion: JointMotion, law: Array, config: ActuatorConfig) -> float:
    problem, first = JointProblem(motion, config, law, ()), np.zeros(1, dtype=np.int64)
    off = problem.simulate(np.zeros(0), first, problem.start(first)[0]).position - motion.q
    return float(np.sqrt(np.mean(off[motion.measured] ** 2)))


if __name__ == "__main__":
    sys.exit(main())
