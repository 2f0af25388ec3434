# SPDX-License-Identifier: Apache-2.0
"""Actuator identification beside plain and published forms of it: the same logs, the same machine.

`plain` is SciPy's least squares on one rollout of the whole log, with our law and kernel but neither segments nor start
states, sensitivities, robust loss or intervals. `PACE-like` is CMA-ES on 4 n + 1 parameters of the whole coupled robot
in MuJoCo, as PACE does it in Isaac Lab. Fitted on one real Go2 chirp, judged by single rollouts along the others; then
from starts that are far off, for a fit that needs a good guess is half a fit. Without the logs this says so and ends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.actuators_go2 import FITTED, LOGS
from benchmarks.peers.pace import PaceRobot, error, fit_pace
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

PHYSICS = 2.5e-3
"""Step of the PACE-like rollouts [s]."""

SAME = 1.05
"""Replay error relative to the best known from which a fit counts as having found it."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("actuators_peers", __doc__)
    options.add_argument("--logs", type=Path, default=LOGS, help="folder of the chirps")
    options.add_argument("--budget", type=int, default=1280, help="rollouts that the PACE-like search may spend")
    options.add_argument("--starts", type=int, default=5, help="starts that are far off, for each joint")
    chosen = options.parse_args(arguments)
    if not chosen.logs.is_dir():
        print(f"no recorded logs in {chosen.logs}", file=sys.stderr)
        return 0
    robot, config = load_robot("go2"), ActuatorConfig()
    logs = {path.name: read_actuator_table(path, robot.joint_names) for path in sorted(chosen.logs.glob("traj_*.npz"))}
    report = Report("actuators-peers", "Actuator identification beside its peers", chosen.out, chosen.command)
    motions = prepare(logs[FITTED], robot, config)
    rows = [
        _row("ours", logs, *_timed(lambda: _ours(motions, config)), _by_laws(robot, config)),
        _row("plain", logs, *_timed(lambda: _plain(motions, config)), _by_laws(robot, config)),
        _pace(robot, logs, chosen.budget, chosen.seed),
    ]
    report.section("A whole robot")
    report.text(
        f"Fitted on {FITTED}; replay of the {len(logs) - 1} other logs from their first sample to their last by "
        "commands alone. CPU time of the fit; a rollout is one of all joints over the whole log."
    )
    header = ("method", "parameters", "rollouts", "CPU [s]", "RMSE, fitted log [mrad]", "RMSE, others", "worst of them")
    report.table(header, rows)
    _far_starts(report, motions, config, chosen.starts, chosen.seed)
    print(report.write())
    return 0


Replay = Callable[[ActuatorLog, object], float]


def _timed(work: Callable[[], tuple[object, int, int]]) -> tuple[object, int, int, float]:
    began = time.process_time()
    found = work()
    return *found, time.process_time() - began


def _row(
    name: str, logs: dict[str, ActuatorLog], model: object, parameters: int, rollouts: int, spent: float, replay: Replay
) -> tuple[str, ...]:
    errors = {log: 1e3 * replay(logs[log], model) for log in logs}
    own = errors.pop(FITTED)
    others = np.array(list(errors.values()))
    mean = np.sqrt(np.mean(others**2))
    return name, str(parameters), str(rollouts), f"{spent:.1f}", f"{own:.2f}", f"{mean:.2f}", f"{others.max():.2f}"


def _by_laws(robot: Robot, config: ActuatorConfig) -> Replay:
    def replay(log: ActuatorLog, laws: object) -> float:
        assert isinstance(laws, list)
        return float(np.sqrt(np.mean([found.rmse**2 for _, _, found in replay_log(log, robot, laws, config)])))

    return replay


def _ours(motions: tuple[JointMotion, ...], config: ActuatorConfig) -> tuple[object, int, int]:
    names = config.fitted.names
    fits = [fit_joint(motion, known_law(config, j), config, names) for j, motion in enumerate(motions)]
    rollouts = sum(fit.solution.iterations for fit in fits) // len(fits)  # a joint's rollout is a share of a robot's
    return [fit.law for fit in fits], len(names) * len(fits), rollouts


def _plain(motions: tuple[JointMotion, ...], config: ActuatorConfig) -> tuple[object, int, int]:
    names, laws, rollouts = config.fitted.names, [], 0
    guess = np.array([p.start for p in parameters_of(names)])
    for j, motion in enumerate(motions):
        problem = JointProblem(motion, config, known_law(config, j), names)
        found = fit_single(problem, guess)
        laws.append(problem.with_parameters(found.parameters))
        rollouts += found.rollouts
    return laws, len(names) * len(laws), rollouts // len(laws)


def _pace(robot: Robot, logs: dict[str, ActuatorLog], budget: int, seed: int) -> tuple[str, ...]:
    pace = PaceRobot(limb(robot, ""), PHYSICS)

    def progress(spent: int, best: float) -> None:
        print(f"PACE-like: {spent} of {budget} rollouts, {1e3 * best:.1f} mrad", file=sys.stderr, flush=True)

    began = time.process_time()
    found = fit_pace(pace, logs[FITTED], budget, seed, progress)
    spent = time.process_time() - began

    def replay(log: ActuatorLog, values: object) -> float:
        return float(error(log, pace.replay(log, np.asarray(values)[None]))[0])

    return _row("PACE-like", logs, found.values, len(found.values), found.rollouts, spent, replay)


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
