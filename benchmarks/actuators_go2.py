# SPDX-License-Identifier: Apache-2.0
"""Actuators of real Go2 robots: identified on one log, judged by a single rollout along every other whole log.

The logs are chirps of a robot that hangs in the air (../shared/data/go2_actuator_chirps); nothing but its commands
drives a rollout. Of the other robot there is one log: identified on its first 60 %, judged on the rest. Without the
logs this says so and ends.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.peers.coupled_robot import CoupledRobot, Drives
from benchmarks.peers.coupled_robot import error as coupled_error
from benchmarks.report import Report, parser, progress
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.logs.actuator_table import read_actuator_table
from sysid_nodes.models.actuator import INDEX, PARAMETERS, law_vector
from sysid_nodes.results.actuators import ActuatorResult, ReplayError
from sysid_nodes.robots import Robot, limb, load_robot
from sysid_nodes.solvers.shooting import combine_runs
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators, replay_log

LOGS = Path(__file__).resolve().parents[2] / "shared" / "data" / "go2_actuator_chirps"
FITTED = "traj_4.npz"
SHARE = 0.6
COUPLED_STEP = 1e-3
"""Of MuJoCo, coupled [s]."""
TARGETS = {"RMSE": 3.5, "MAE": 2.5, "RMSE of the rest": 6.0}
"""[mrad]"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("actuators_go2", __doc__)
    options.add_argument("--logs", type=Path, default=LOGS, help="folder of the chirps")
    options.add_argument("--fitted", default=FITTED, help="log of the first robot to identify")
    options.add_argument("--runs", action="store_true", help="identify every log, for the scatter between runs")
    chosen = options.parse_args(arguments)
    if not chosen.logs.is_dir():
        print(f"no recorded logs in {chosen.logs}", file=sys.stderr)
        return 0
    robot, config = load_robot("go2"), ActuatorConfig()
    report = Report("actuators-go2", "Actuators of real Go2 robots", chosen.out, chosen.command)
    names = sorted(path.name for path in chosen.logs.glob("traj_*.npz"))
    logs = {name: read_actuator_table(chosen.logs / name, robot.joint_names) for name in names}
    _one_robot(report, robot, config, logs, chosen.fitted)
    for path in sorted(chosen.logs.glob("other_*.npz")):
        _rest(report, robot, read_actuator_table(path, robot.joint_names))
    if chosen.runs:
        _scatter(report, robot, config, logs)
    print(report.write())
    return 0


def _one_robot(report: Report, robot: Robot, config: ActuatorConfig, logs: dict[str, ActuatorLog], fitted: str) -> None:
    began = time.monotonic()
    result = identify_actuators(logs[fitted], robot, config)
    took = time.monotonic() - began
    laws = [joint.law for joint in result.joints]
    default = [law_vector()] * robot.n
    rows = []
    for name in progress([name for name in logs if name != fitted], "replay"):
        errors = [error for _, _, error in replay_log(logs[name], robot, laws, config)]
        plain = [error for _, _, error in replay_log(logs[name], robot, default, config)]
        rows.append((name, *_both(errors), _mrad(max(e.rmse for e in errors)), _both(plain)[0]))
    report.section("One robot, whole logs")
    report.text(
        f"Identified on {fitted} in {took:.1f} s ({1e3 * result.rmse:.2f} mrad RMSE there). Targets for every other "
        f"log: {TARGETS['RMSE']} mrad RMSE, {TARGETS['MAE']} mrad MAE. Last column: the stated gains and an ideal "
        "actuator. Peers publish 71.5 mrad on these logs."
    )
    report.table(("log", "RMSE [mrad]", "MAE [mrad]", "worst joint's RMSE", "unfitted RMSE"), rows)
    _parameters(report, result)
    _replay_coupled(report, robot, config, logs, laws)


def _replay_coupled(
    report: Report, robot: Robot, config: ActuatorConfig, logs: dict[str, ActuatorLog], laws: Sequence[np.ndarray]
) -> None:
    """The identified laws in MuJoCo, where joints move each other by what they do and not by what was measured."""
    plain = [law.copy() for law in laws]
    for law in plain:
        law[INDEX["position_friction"]] = 0.0  # MuJoCo's joints have no such friction
    names = ("armature", "viscous", "coulomb", "encoder_bias", "delay")
    drives = Drives(*(np.array([law[INDEX[name]] for law in plain]) for name in names))
    simulated, rows = CoupledRobot(limb(robot, ""), COUPLED_STEP), []
    for name in progress(list(logs), "coupled"):
        log = logs[name]
        found = replay_log(log, robot, plain, config)
        coupled = simulated.replay(log, [drives])[0]
        own = np.stack([np.interp(log.t, motion.t, position) for motion, position, _ in found], axis=1)
        alone = float(np.sqrt(np.mean([error.rmse**2 for _, _, error in found])))
        off = np.sqrt(np.mean((coupled - own) ** 2))
        rows.append((name, _mrad(float(coupled_error(log, coupled[None])[0])), _mrad(alone), _mrad(float(off))))
    report.section("The whole robot at once")
    report.text(
        "One rollout of the coupled robot in MuJoCo with the identified laws, from a log's first sample to its last, "
        "beside the replay of each joint by itself along the measured motion of the others; both without friction that "
        "depends on position, which MuJoCo's joints lack. RMSE against the encoders, and RMS of what the two differ by."
    )
    report.table(("log", "coupled [mrad]", "joint by joint [mrad]", "difference [mrad]"), rows)


def _rest(report: Report, robot: Robot, log: ActuatorLog) -> None:
    """The other robot: first part and rest, by what dry friction depends on."""
    split = float(log.t[0] + SHARE * (log.t[-1] - log.t[0]))
    first, rest = log.between(float(log.t[0]), split), log.between(split, float(log.t[-1]))
    choices = {
        "Coulomb's alone": {"position_friction": False},
        "with load": {"position_friction": False, "load_friction": True},
        "with position (default)": {},
        "with both": {"load_friction": True},
    }
    rows = []
    for name, change in progress(list(choices.items()), "other robot"):
        config = replace(ActuatorConfig(), fitted=replace(ActuatorConfig().fitted, **change))
        result = identify_actuators(first, robot, config)
        errors = [error for _, _, error in replay_log(rest, robot, [joint.law for joint in result.joints], config)]
        rows.append((name, _mrad(result.rmse), *_both(errors), _mrad(max(e.rmse for e in errors))))
    report.section("Another robot, the rest of its log")
    report.text(
        f"Identified on the first {100.0 * SHARE:.0f} %; target for the rest: {TARGETS['RMSE of the rest']} mrad RMSE "
        "with friction that depends on load or position."
    )
    report.table(("dry friction", "RMSE, fitted part [mrad]", "RMSE, rest", "MAE, rest", "worst joint's RMSE"), rows)


def _parameters(report: Report, result: ActuatorResult) -> None:
    names = [p.name for p in PARAMETERS if any(p.name == row.name for row in result.joints[0].parameters)]
    rows = []
    for joint in result.joints:
        cells = []
        for name in names:
            row = joint.parameter(name)
            told = f"{row.estimate:.4g} ± {row.sigma or 0.0:.2g}" if row.identifiable else "–"
            cells.append(told)
        rows.append((joint.name, *cells, f"{joint.verdict.condition:.0f}"))
    report.text("What the motion tells; a dash is a parameter that it does not tell, and that has no value.")
    report.table(("joint", *names, "condition"), rows)


def _scatter(report: Report, robot: Robot, config: ActuatorConfig, logs: dict[str, ActuatorLog]) -> None:
    """From run to run, beyond what each run's sigma explains."""
    results = [identify_actuators(log, robot, config) for log in progress(list(logs.values()), "runs")]
    rows = []
    for name in config.fitted.names:
        ratios, scatters = [], []
        for j in range(robot.n):
            found = [result.joints[j].parameter(name) for result in results]
            known = [(row.estimate, row.sigma) for row in found if row.identifiable and row.sigma]
            if len(known) < 3:
                continue
            values, sigmas = (np.array(column)[:, None] for column in zip(*known, strict=True))
            between = combine_runs(values, sigmas)
            scatters.append(float(between.scatter[0] / np.median(sigmas)))
            ratios.append(float(np.std(values, ddof=1) / np.median(sigmas)))
        if ratios:
            rows.append((name, len(ratios), f"{np.median(ratios):.2f}", f"{np.median(scatters):.2f}"))
    report.section("Scatter between runs")
    report.text(
        "Standard deviation of the estimates of all runs over a single run's sigma (1 where that explains it), and the "
        "scatter that is left beyond it, in the same unit; medians over the joints that at least three runs tell."
    )
    report.table(("parameter", "joints", "spread over sigma", "left between runs"), rows)


def _both(errors: Sequence[ReplayError]) -> tuple[str, str]:
    rmse = float(np.sqrt(np.mean([error.rmse**2 for error in errors])))
    return _mrad(rmse), _mrad(float(np.mean([error.mae for error in errors])))


def _mrad(value: float) -> str:
    return f"{1e3 * value:.2f}"


if __name__ == "__main__":
    sys.exit(main())
