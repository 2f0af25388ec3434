# SPDX-License-Identifier: Apache-2.0
"""Prediction of motion that the robot was not identified from: the paper's J_rpos, J_pja and J_rvel, and ablations.

A Go2 with 4.7 kg at the rear is identified from ten seconds of swaying, trotting and hopping. Then it follows commands
drawn at random, as someone with a joystick might give them, for a minute; clips of 1.5 s of that are simulated open
loop from their measured start. Errors are relative to those of the described robot on the same clips, whose motors
saturate at 25 N m. Noise and biases of the sensors differ between the logs; the truth is hidden in another simulation.
Ablations repeat the identification with other models of the motors and other lengths of clips.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from benchmarks.report import Report, parser, progress
from benchmarks.sampling_log import simulated_session
from sysid_nodes.data.config import from_flat
from sysid_nodes.data.inertia import parameters_to_log_cholesky
from sysid_nodes.results.sampling import SamplingResult
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.rollouts import GAITS
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.systems.sampling import MotionLog
from sysid_nodes.systems.sampling.exploration.config import CommandsConfig
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves, CurveSpace
from sysid_nodes.systems.sampling.prediction import ERRORS, predict
from sysid_nodes.systems.sampling.unknowns import Unknowns

mpl.use("Agg")
from matplotlib import pyplot as plt  # after the backend is chosen

Array = npt.NDArray[np.float64]

TARGETS = (0.5, 0.5, 0.8)
PAPER = (0.67, 0.72, 0.91)
_SEGMENT, _DEGREE, _SCALE = 4.0, 4, 0.45  # of random commands: [s], of the curves, of the largest commands
_GAITS = ("trot", "trot", "stand")
ABLATIONS: dict[str, Mapping[str, Any]] = {
    "as it is": {},
    "motors without limit": {"sampling.unknowns.motors": "none"},
    "linear gains": {"sampling.unknowns.motors": "linear"},
    "one tanh for all motors": {"sampling.unknowns.motors": "one"},
    "a tanh for each motor": {"sampling.unknowns.motors": "each"},
    "clips of 30 ms only": {
        "sampling.horizons.lengths": (0.03, 0.03),
        "sampling.horizons.clips": (16, 32),
        "sampling.horizons.iterations": (5, 7),
    },
    "clips up to 0.2 s": {
        "sampling.horizons.lengths": (0.03, 0.1, 0.2),
        "sampling.horizons.clips": (16, 24, 24),
        "sampling.horizons.iterations": (5, 5, 7),
    },
    "clips of 0.2 s at once": {
        "sampling.horizons.lengths": (0.2, 0.2),
        "sampling.horizons.clips": (24, 24),
        "sampling.horizons.iterations": (5, 7),
    },
    "as in the paper": {"sampling.method": "paper"},
}


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("sampling_prediction", __doc__)
    options.add_argument("--seeds", type=int, default=5, help="pairs of logs")
    options.add_argument("--duration", type=float, default=10.0, help="of the log to identify from [s]")
    options.add_argument("--held-out", type=float, default=60.0, help="of the log to predict [s]")
    options.add_argument("--horizon", type=float, default=1.5, help="of the clips [s]")
    options.add_argument("--ablations", nargs="*", choices=list(ABLATIONS), default=list(ABLATIONS), help="which")
    chosen = options.parse_args(arguments)
    base, robot = from_flat(SamplingSessionConfig, {}), load_robot("go2")
    found: dict[str, list[Array]] = {name: [] for name in chosen.ablations}
    described = []
    for seed in progress(range(chosen.seed, chosen.seed + chosen.seeds), "logs"):
        log = _driven(chosen.held_out, seed + 1000)
        start = Unknowns(robot, base.sampling).column("guess")
        described.append(predict(log, robot, base.sampling, [start], chosen.horizon, 40).means[0])
        for name in chosen.ablations:
            config = from_flat(SamplingSessionConfig, {**ABLATIONS[name], "sampling.seed": seed})
            session, _ = simulated_session(chosen.duration, seed, config)
            vector = _vector(session.identify(), Unknowns(robot, config.sampling), robot)
            found[name].append(predict(log, robot, config.sampling, [vector], chosen.horizon, 40).means[0])
    report = Report("sampling-prediction", "Prediction of motion by identified robots", chosen.out, chosen.command)
    report.text(__doc__.split("\n\n")[1])
    report.section("Errors, relative to those of the described robot")
    ratios = {name: np.array(found[name]) / np.array(described) for name in found}
    report.table(
        ("identified", *(f"{name}, median (worst)" for name in ERRORS)),
        [
            (name, *(f"{m:.2f} ({w:.2f})" for m, w in zip(np.median(r, axis=0), r.max(axis=0), strict=True)))
            for name, r in ratios.items()
        ]
        + [("asked for", *map(str, TARGETS)), ("the paper, on hardware", *map(str, PAPER))],
    )
    means = np.mean(described, axis=0)
    report.text(
        f"The described robot's errors are {means[0]:.3f} m, {means[1]:.3f} rad and {means[2]:.3f} m/s in the mean of "
        f"{chosen.seeds} logs of {chosen.held_out:g} s, clips of {chosen.horizon:g} s."
    )
    _plot(report.figure("", "Errors relative to the described robot's; dots are logs, lines what is asked for"), ratios)
    print(report.write())
    return 0


def _vector(result: SamplingResult, unknowns: Unknowns, robot: Robot) -> Array:
    """(K,) where the search ended; the paper's method, which has no posterior, tells it by inertia and motors."""
    if result.posterior is not None:
        return result.posterior.values
    vector = unknowns.column("guess")
    vector[:10] = parameters_to_log_cholesky(result.inertia[0])
    for name, k in unknowns.index.items():
        kind, _, group = name.partition(":")
        if kind == "saturation":
            weakness = result.weakness[next(j for j, joint in enumerate(robot.joint_names) if group in joint)]
            vector[k] = (unknowns.strength_guess * weakness) ** 2
    return vector


def _driven(duration: float, seed: int) -> MotionLog:
    """A log of a robot that follows random commands from the start."""
    rng, commands = np.random.default_rng(seed), CommandsConfig()
    space = CurveSpace(commands.largest, [GAITS.index(name) for name in _GAITS], _DEGREE)
    curves = CommandCurves.standing(1, commands.height, _SEGMENT, _DEGREE)
    count = int(duration / _SEGMENT)
    for k in range(count):
        before = curves.points[0, -1, :, -1] if k else np.zeros(5)
        vector = rng.uniform(-1.0, 1.0, (1, space.size))
        curves = curves.append(*space.segment(vector, before, scale=_SCALE, last=k == count - 1))
    session, _ = simulated_session(duration + 1.0, seed, curves=curves, motion="commanded")
    return session.log()


def _plot(path: Path, ratios: Mapping[str, Array]) -> None:
    size = (11.0, 0.6 + 0.4 * len(ratios))
    figure, axes = plt.subplots(1, len(ERRORS), figsize=size, sharey=True, layout="constrained")
    for k, (axis, name, target) in enumerate(zip(axes, ERRORS, TARGETS, strict=True)):
        for row, found in enumerate(ratios.values()):
            axis.barh(row, np.median(found[:, k]), color="lightsteelblue")
            axis.plot(found[:, k], np.full(len(found), row), "k.", markersize=4)
        axis.axvline(target, color="tab:red")
        axis.set_xlabel(f"{name}, relative")
    axes[0].set_yticks(range(len(ratios)), list(ratios))
    axes[0].invert_yaxis()
    figure.savefig(path, dpi=100)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
