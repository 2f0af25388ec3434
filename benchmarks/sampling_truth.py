# SPDX-License-Identifier: Apache-2.0
"""Identification by rollouts against a known truth: errors, how often 95 % intervals hold it, steps and CPU time.

A Go2 with 4.7 kg at the rear sways, trots and hops for ten seconds under noisy sensors; its simulation has a quarter of
the identification's step, softer ground and MuJoCo's own dry friction in the joints. Cases: `as modelled` has nothing
more on top; `slippery` has ground friction 0.5 where 0.8 is assumed; `late` has motion capture 20 ms late. With --peer
the paper's method (CMA-ES, measured start states) gets the same logs.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np
from mujoco import rollout

from benchmarks.report import Report, parser, progress
from benchmarks.sampling_log import simulated_session, true_values
from sysid_nodes.data.config import from_flat
from sysid_nodes.results.sampling import SamplingEstimate, SamplingResult
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import Drive, GroundConfig, Simulations, Variants, Work, build_legged_mujoco
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig

CASES: dict[str, dict[str, Any]] = {
    "as modelled": {},
    "slippery": {"ground.friction": 0.5},
    "late": {"sensors.mocap.stamp_offset": 0.02},
}
TARGETS = {"mass": 0.01, "centre_x": 0.005, "centre_y": 0.005, "centre_z": 0.005, "Ixx": 0.15, "Iyy": 0.15, "Izz": 0.15}
TARGETS |= {"strength.hip": 0.05, "strength.thigh": 0.05, "strength.calf": 0.05}
_STEPS = 100


@dataclass(frozen=True)
class Trial:
    """One log identified by one method."""

    result: SamplingResult
    truth: dict[str, float]
    cpu: float

    @property
    def rows(self) -> dict[str, SamplingEstimate]:
        """Parameters by name."""
        return {row.name: row for row in self.result.parameters}

    def value(self, name: str) -> float:
        """The last level's value, identified or not."""
        k = [row.name for row in self.result.parameters].index(name)
        return float(self.result.levels[-1].estimates[k])

    def error(self, name: str) -> float:
        """Relative, but metres for a centre of mass."""
        off = self.value(name) - self.truth[name]
        return off if name.startswith("centre") else off / self.truth[name]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("sampling_truth", __doc__)
    options.add_argument("--seeds", type=int, default=50, help="logs a case")
    options.add_argument("--duration", type=float, default=10.0, help="of a log [s]")
    options.add_argument("--cases", nargs="+", choices=CASES, default=list(CASES), help="which cases")
    options.add_argument("--peer", action="store_true", help="the paper's method as well")
    chosen = options.parse_args(arguments)
    report = Report("sampling-truth", "Identification by rollouts against a known truth", chosen.out, chosen.command)
    report.text(__doc__.split("\n\n")[1])
    for case in chosen.cases:
        for method in ("gauss_newton", "paper") if chosen.peer else ("gauss_newton",):
            seeds = range(chosen.seed, chosen.seed + chosen.seeds)
            trials = [
                trial(seed, method, chosen.duration, CASES[case]) for seed in progress(seeds, f"{case}, {method}")
            ]
            _tell(report, f"{case}, {method}", trials)
    report.section("Speed of the simulations")
    report.table(
        ("simulations", "closed PD, steps/s", "mujoco.rollout, steps/s", "share"), [_speed(n) for n in (96, 448)]
    )
    print(report.write())
    return 0


def trial(seed: int, method: str, duration: float, options: dict[str, Any]) -> Trial:
    """One log, simulated and identified."""
    config = from_flat(SamplingSessionConfig, {"sampling.method": method, "sampling.seed": seed})
    session, sim = simulated_session(duration, seed, config, **options)
    before = sum(os.times()[:2])
    result = session.identify()
    return Trial(result, true_values(sim), sum(os.times()[:2]) - before)


def _tell(report: Report, title: str, trials: Sequence[Trial]) -> None:
    report.section(title)
    rows = []
    for name, target in TARGETS.items():
        errors = np.array([t.error(name) for t in trials])
        unit, scale = ("mm", 1e3) if name.startswith("centre") else ("%", 1e2)
        stated = [(t.rows[name].lower, t.rows[name].upper, t.truth[name]) for t in trials]
        held = [lower <= true <= upper for lower, upper, true in stated if lower is not None and upper is not None]
        rows.append(
            (
                name,
                f"{scale * float(np.median(errors)):+.2f} {unit}",
                f"{scale * float(np.median(np.abs(errors))):.2f} {unit}",
                f"{scale * float(np.abs(errors).max()):.2f} {unit}",
                f"{scale * target:g} {unit}",
                f"{sum(t.rows[name].identifiable for t in trials)} of {len(trials)}",
                f"{sum(held)} of {len(held)}" if held else "none stated",
            )
        )
    report.table(
        ("parameter", "median", "median, absolute", "largest", "target", "called identified", "95 % hold it"), rows
    )
    steps, cpu = [t.result.steps / 1e6 for t in trials], [t.cpu for t in trials]
    report.text(
        f"Median {np.median(steps):.2f} million steps and {np.median(cpu):.1f} s of CPU a log; misfit "
        f"{np.median([t.result.misfit for t in trials]):.2f}, of the nominal robot "
        f"{np.median([t.result.misfit_before for t in trials]):.2f}."
    )


def _speed(count: int) -> tuple[str, ...]:
    robot = load_robot("go2")
    bodies = robot.model.inertias.tolist()[1:]
    model = build_legged_mujoco(robot, bodies, (), GroundConfig(), timestep=0.002)
    rng, n = np.random.default_rng(0), robot.n
    state = np.zeros((count, model.nq + model.nv))
    state[:, 2], state[:, 3], state[:, 7:19] = 0.3, 1.0, np.tile([0.0, 0.8, -1.6], 4)
    state[:, 7:19] += 0.02 * rng.standard_normal((count, n))
    theta = np.array([bodies[0].toDynamicParameters()])[None]
    ones, none = np.ones((1, n)), np.zeros((1, n))
    variants = Variants((0,), theta, ones, 0.04 * ones, none, np.array([0.8]), np.array([0.01]))
    which = np.zeros(count, dtype=np.int64)
    work = Work(state, which, which, np.tile(np.tile([0.0, 0.8, -1.6], 4), (1, _STEPS, 1)), every=_STEPS)
    simulations = Simulations(model, Drive(np.full(n, 40.0), np.full(n, 1.0)))
    closed = _rate(lambda: simulations.run(variants, work), count)
    data = [mujoco.MjData(model) for _ in range(os.cpu_count() or 1)]
    full = np.concatenate([np.zeros((count, 1)), state], axis=1)
    effort = np.zeros((count, _STEPS, model.nv))
    effort[..., 6:] = 20.0 * np.tanh(2.0 * (work.targets - state[:, None, 7:19]))
    spec = int(mujoco.mjtState.mjSTATE_QFRC_APPLIED)
    with rollout.Rollout(nthread=len(data)) as raw:
        plain = _rate(lambda: raw.rollout(model, data, full, effort, control_spec=spec), count)
    return str(count), f"{closed:.0f}", f"{plain:.0f}", f"{100.0 * closed / plain:.0f} %"


def _rate(function: Any, count: int) -> float:
    """Steps a second, the best of five."""
    function()
    times = []
    for _ in range(5):
        began = time.perf_counter()
        function()
        times.append(time.perf_counter() - began)
    return count * _STEPS / min(times)


if __name__ == "__main__":
    sys.exit(main())
