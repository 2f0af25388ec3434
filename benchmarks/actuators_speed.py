# SPDX-License-Identifier: Apache-2.0
"""Cost of identifying actuators: a value with its sensitivities, and whole robots; CPU and wall time.

Twelve joints, 23.5 s of 200 Hz encoders, rollouts at 1 kHz, five parameters (armature, delay, bias, viscous, Coulomb),
the robot a Go2 whose drives are simulated by the law itself. On a machine that others use, only the smallest of many
CPU times means anything, and even that is larger than on an idle one.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.report import Report, parser
from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.kernel import implementation
from sysid_nodes.kernel import joint_rollout as kernel
from sysid_nodes.models.actuator import law_vector
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.solvers.shooting.problem import segments
from sysid_nodes.systems.actuators import ActuatorConfig, identify_actuators
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.preparation import prepare

FIVE = ("armature", "delay", "encoder_bias", "viscous", "coulomb")
TRUE = {"armature": 0.02, "delay": 0.005, "encoder_bias": 0.003, "viscous": 0.2, "coulomb": 0.3, "stribeck_speed": 0.1}
WHOLE = 5
"""Runs of a whole robot."""
TARGETS = {"kernel": 50.0, "fit": 1.0}
"""[ns a joint-step], [s on two idle cores]"""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("actuators_speed", __doc__)
    options.add_argument("--repeats", type=int, default=200, help="runs of the kernel, of which the fastest counts")
    chosen = options.parse_args(arguments)
    report = Report("actuators-speed", "Speed of actuator identification", chosen.out, chosen.command)
    config = ActuatorConfig()
    config = replace(config, fitted=replace(config.fitted, position_friction=False))
    robot = load_robot("go2")
    log = _log(config, chosen.seed)
    motions = prepare(log, robot, config)
    problem = JointProblem(motions[0], config, known_law(config, 0), FIVE)
    parameters = np.array([TRUE[name] for name in FIVE])
    first = segments(problem.samples, round(4.0 / 0.005), ())
    start, law = problem.start(first)[0], problem.with_parameters(parameters)
    signals, motion = problem.signals(law), motions[0]

    def roll(active: np.ndarray) -> float:
        options: dict[str, Any] = {"step": motion.step, "stride": motion.stride, "smoothing": config.law.rest_speed}
        fastest = min(
            _cpu(lambda: kernel.joint_rollout(signals, law, first * motion.stride, start, active, **options))[0]
            for _ in range(chosen.repeats)
        )
        return 1e9 * fastest / len(signals)

    rows = [(implementation(), f"{roll(problem.active[:0]):.1f}", f"{roll(problem.active):.1f}")]
    report.section("A rollout")
    report.text(f"CPU time [ns a joint-step], target {TARGETS['kernel']:g} with five sensitivities.")
    report.table(("kernel", "value and start states", "with five sensitivities"), rows)
    report.section("Twelve joints")
    report.text(
        f"Target: {TARGETS['fit']:g} s on two idle cores, which takes at most {2.0 * TARGETS['fit']:g} s of CPU time, "
        f"and is met on one core alone where CPU time is below {TARGETS['fit']:g} s. The fastest of {WHOLE} runs by it."
    )
    whole: list[tuple[str, Callable[[], object]]] = [
        ("preparation", lambda: prepare(log, robot, config)),
        ("fits", lambda: [fit_joint(m, known_law(config, j), config, FIVE) for j, m in enumerate(motions)]),
        ("all, with checks, verdicts, a free gain, replays", lambda: identify_actuators(log, robot, config)),
    ]
    timed = [(name, *min(_cpu(call) for _ in range(WHOLE))) for name, call in whole]
    report.table(("", "CPU [s]", "wall [s]"), [(name, f"{cpu:.2f}", f"{wall:.2f}") for name, cpu, wall in timed])
    print(report.write())
    return 0


def _log(config: ActuatorConfig, seed: int) -> ActuatorLog:
    """Twelve chirped joints, the rigid body's load along their commands."""
    robot, rng = load_robot("go2"), np.random.default_rng(seed)
    t, command = chirp(ChirpConfig(), np.tile([0.0, 0.85, -1.95], 4))
    log = ActuatorLog(robot.joint_names, t, command, t, command, None, np.full(12, 20.0), np.full(12, 1.0))
    law = law_vector(TRUE)
    q = []
    for motion in prepare(log, robot, config):
        found = JointProblem(motion, config, law, ()).simulate(
            np.zeros(0), np.zeros(1, dtype=np.int64), np.array([[motion.q[0], 0.0]])
        )
        q.append(found.position + 8e-4 * rng.standard_normal(len(t)))
    return replace(log, q=np.stack(q, axis=1))


def _cpu(call: Callable[[], object]) -> tuple[float, float]:
    cpu, wall = time.process_time(), time.monotonic()
    call()
    return time.process_time() - cpu, time.monotonic() - wall


if __name__ == "__main__":
    sys.exit(main())
