# SPDX-License-Identifier: Apache-2.0
"""From 30 000 samples (7.5 s at 4 kHz) in arrays to certified bounds: how long, and where the time goes.

The authors' C++ takes 0.5 to 1.0 s for the regressor plus 0.05 to 0.1 s for the solve on a machine like the one this
was written on. Each figure is the median of several runs; CPU time beside wall time, because other programs slow only
the latter.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

import numpy as np

from benchmarks.motions import DURATION, random_pieces
from benchmarks.report import Report, parser, progress
from benchmarks.truth import Arm, make_arm, random_payload
from sysid_nodes import kernel
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.regressors import window_regressors
from sysid_nodes.signals.windows import cut
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, SetMembershipConfig, WindowConfig
from sysid_nodes.systems.interval.estimate.estimator import StatisticalEstimator, before_any_data
from sysid_nodes.systems.interval.feasible_set import FeasibleSet
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder

AUTHORS = "0.55 to 1.1"
"""Regressor and solve of the authors' C++ together [s]."""

RATE = 4000.0

T = TypeVar("T")

Laps = dict[str, tuple[float, float]]
"""Wall and CPU time of each stage [s]."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("speed", __doc__)
    options.add_argument("--runs", type=int, default=9, help="runs a figure")
    options.add_argument("--samples", type=int, default=30000, help="samples at 4 kHz")
    options.add_argument("--windows", type=float, nargs="+", default=[0.2, 0.1, 0.05], help="windows [s]")
    options.add_argument("--spans", type=int, nargs="+", default=[2, 3, 4], help="rows over so many windows, too")
    chosen = options.parse_args(arguments)
    arm, samples, noise = make_data(chosen.seed, chosen.samples)
    found: dict[tuple[str, str, float], Laps] = {}
    for implementation in kernels():
        with use_kernel(implementation):
            for window in chosen.windows:
                for method in ("set_membership", "sensitivity"):
                    config = IntervalIdentifierConfig(method=method, noise=noise, window=WindowConfig(duration=window))
                    title = f"{implementation} kernel, {method}, {window:g} s"
                    laps = [lap(arm, samples, config) for _ in progress(range(chosen.runs), title)]
                    found[implementation, method, window] = {
                        stage: (
                            float(np.median([one[stage][0] for one in laps])),
                            float(np.median([one[stage][1] for one in laps])),
                        )
                        for stage in laps[0]
                    }
    report = Report("speed", "Speed", chosen.out, chosen.command)
    summarise(report, found, chosen.runs, len(samples))
    spans(report, (arm, samples, noise), chosen.spans, chosen.windows, chosen.runs)
    print(report.write())
    return 0


def spans(
    report: Report,
    data: tuple[Arm, JointSamples, NoiseConfig],
    most: Sequence[int],
    windows: Sequence[float],
    runs: int,
) -> None:
    """Cost of rows over several windows, with the kernel that is taken by default."""
    arm, samples, noise = data
    rows: list[tuple[str, ...]] = []
    for window in windows:
        cells = []
        for count in most:
            config = IntervalIdentifierConfig(
                noise=noise, window=WindowConfig(duration=window), set_membership=SetMembershipConfig(spans=count)
            )
            laps = [
                identify(arm, samples, config)["total"] for _ in progress(range(runs), f"{count} spans, {window:g} s")
            ]
            cells.append(
                _words((float(np.median([wall for wall, _ in laps])), float(np.median([cpu for _, cpu in laps]))))
            )
        rows.append((f"{window:g}", *cells))
    report.text("The total with rows over 2 up to so many windows in a row as well (set_membership.spans):")
    report.table(("window [s]", *(f"{count} windows" for count in most)), rows)


def kernels() -> list[str]:
    """The implementations of the regressor that run here."""
    found = []
    for name in kernel.IMPLEMENTATIONS:
        try:
            found.append(kernel.implementation(name))
        except ConfigError:
            print(f"the {name} kernel is not built and is left out", file=sys.stderr)
    return found


@contextmanager
def use_kernel(implementation: str) -> Iterator[None]:
    """Has the library take this kernel."""
    before = os.environ.get("SYSID_KERNEL")
    os.environ["SYSID_KERNEL"] = implementation
    try:
        yield
    finally:
        del os.environ["SYSID_KERNEL"]
        if before is not None:
            os.environ["SYSID_KERNEL"] = before


def make_data(seed: int, count: int) -> tuple[Arm, JointSamples, NoiseConfig]:
    """The paper's kind of motion with the Gen3's encoders, velocities within 1e-4 rad/s, torques within 2.5 %."""
    rng = np.random.default_rng(seed)
    arm = make_arm(
        KnownRobotConfig(),
        random_payload(rng, "dumbbell"),
        random_pieces(rng),
        lambda centre, radius: centre + radius * rng.uniform(-1.0, 1.0, centre.size),
    )
    robot = arm.problem.robot
    t = np.arange(count) / RATE
    q, qd, qdd = arm.problem.motion(t)
    tau = arm.problem.torque(q, qd, qdd) / (1.0 + 0.025 * rng.uniform(-1.0, 1.0, q.shape))
    noise = NoiseConfig(
        velocity_error=(1e-4,),
        acceleration=tuple(arm.problem.motion.acceleration),
        torque_rate=tuple(arm.torque_rate(min(DURATION, count / RATE))),
    )
    q = robot.encoder_step * np.round(q / robot.encoder_step)
    return arm, JointSamples(robot.joint_names, t, q, qd + 1e-4 * rng.uniform(-1.0, 1.0, qd.shape), tau), noise


def identify(arm: Arm, samples: JointSamples, config: IntervalIdentifierConfig) -> Laps:
    """The whole of `identify`, without its stages."""
    laps: Laps = {}
    pipeline = IntervalPipeline(arm.problem.robot, config)
    _time(laps, "total", lambda: pipeline.identify(samples))
    return laps


def lap(arm: Arm, samples: JointSamples, config: IntervalIdentifierConfig) -> Laps:
    """One run: the whole of `identify`, then its stages one by one on the same data."""
    laps = identify(arm, samples, config)
    if config.method == "sensitivity":
        return laps
    pipeline = IntervalPipeline(arm.problem.robot, config)
    reach = Reach(pipeline.chain, np.zeros(pipeline.chain.n))
    builder = RowBuilder(pipeline.chain, reach, pipeline.noise, pipeline.unknowns)
    edges, _ = cut(samples, config.window.duration, config.window.max_gap)
    _time(laps, "checks", lambda: builder.violations(samples, edges))
    _time(laps, "regressor", lambda: window_regressors(pipeline.chain, samples.t, samples.q, samples.qd, edges))
    rows = _time(laps, "rows and radii", lambda: builder.build(samples, edges))
    laps["rows and radii"] = _less(laps["rows and radii"], laps["regressor"])  # build starts with the regressor
    method = FeasibleSet(pipeline.unknowns, config.set_membership)
    _time(laps, "linear programs", lambda: method.step(rows, np.arange(len(rows.t)), thorough=True))
    known = before_any_data(pipeline.unknowns, np.full(pipeline.chain.n, 0.01))
    estimator = StatisticalEstimator(pipeline.unknowns, known)

    def estimate() -> None:
        estimator.add(rows)
        estimator.estimate(method.bounds)

    _time(laps, "nominal", estimate)
    return laps


def _less(a: tuple[float, float], b: tuple[float, float]) -> tuple[float, float]:
    return max(0.0, a[0] - b[0]), max(0.0, a[1] - b[1])


def _time(laps: Laps, stage: str, work: Callable[[], T]) -> T:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    laps[stage] = (time.perf_counter() - wall, time.process_time() - cpu)
    return result


def summarise(report: Report, found: dict[tuple[str, str, float], Laps], runs: int, count: int) -> None:
    """Fills the report."""
    first = next((key for key in found if key[2] == 0.1), next(iter(found)))
    wall, cpu = found[first]["total"]
    report.text(
        f"**{count} samples to certified bounds ({first[0]} kernel, windows of {first[2]:g} s): {wall:.2f} s of wall "
        f"time, {cpu:.2f} s of CPU. The authors' C++: {AUTHORS} s.**"
    )
    report.text(
        f"Median of {runs} runs, milliseconds of CPU (wall). The stages are timed by themselves; the total is that of "
        "one call, `IntervalPipeline.identify`."
    )
    stages = [stage for stage in found[first] if stage != "total"]
    report.table(
        ("kernel", "window [s]", *stages, "total"),
        [
            (implementation, f"{window:g}", *(_words(laps[stage]) for stage in (*stages, "total")))
            for (implementation, method, window), laps in found.items()
            if method == "set_membership"
        ],
    )
    report.text("The sensitivity method on the same data:")
    report.table(
        ("kernel", "window [s]", "total"),
        [
            (implementation, f"{window:g}", _words(laps["total"]))
            for (implementation, method, window), laps in found.items()
            if method == "sensitivity"
        ],
    )


def _words(lap: tuple[float, float]) -> str:
    wall, cpu = lap
    return f"{1e3 * cpu:.0f} ({1e3 * wall:.0f})"


if __name__ == "__main__":
    sys.exit(main())
