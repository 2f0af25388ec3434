# SPDX-License-Identifier: Apache-2.0
"""Cost of an identifier that runs beside the robot: an hour of joint states at 1 kHz, message by message.

CPU time of this process while messages are pushed, a window at a time; making the messages is not counted. Flat means:
the cost of a window and the memory do not grow with the hours.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt

from benchmarks.disturbances import Context, reading, signs
from benchmarks.report import Report, parser, progress
from benchmarks.truth import Arm, SineMotion, make_arm, random_payload
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.results import IdentificationResult
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, SetMembershipConfig, WindowConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

mpl.use("Agg")
from matplotlib import pyplot as plt

Array = npt.NDArray[np.float64]

VELOCITY_ERROR = 1e-4
PATTERNS = ("uniform", "bias", "square")
_CHUNK = 10.0
"""Data made at a time [s]."""


@dataclass(frozen=True)
class Run:
    """Observations of one stream.

    Attributes:
        t: (W,) end of each window since the start [s].
        cpu: (W,) CPU time of its messages, the update included [s].
        update: (W,) CPU time of the update alone [s].
        memory: (M, 2) time [s] and resident memory [MB].
        contains: the truth was inside every interval published.
        messages: pushed.
        result: the last one.
    """

    t: Array
    cpu: Array
    update: Array
    memory: Array
    contains: bool
    messages: int
    result: IdentificationResult


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("streaming", __doc__)
    options.add_argument("--duration", type=float, default=3600.0, help="of the long stream [s]")
    options.add_argument("--short", type=float, default=60.0, help="of the streams that compare settings [s]")
    options.add_argument("--rate", type=float, default=1000.0, help="messages per second [Hz]")
    options.add_argument("--window", type=float, default=0.1, help="of the long stream [s]")
    options.add_argument("--windows", type=float, nargs="+", default=[0.2, 0.1, 0.05, 0.03], help="compared [s]")
    options.add_argument(
        "--spans", type=int, default=4, help="rows over so many windows, compared with one error pattern"
    )
    chosen = options.parse_args(arguments)
    report = Report("streaming", "Streaming", chosen.out, chosen.command)
    long = stream(chosen.seed, "uniform", chosen.window, chosen.rate, chosen.duration, "long stream")
    _long(report, long, chosen.window, chosen.rate)
    report.section("Other windows and errors")
    report.text(
        f"{chosen.short:g} s of stream each, at {chosen.rate:g} Hz. While a fresh stream still tightens its bounds, "
        "updates cost more than later on."
    )
    rows = []
    settings = [(pattern, window, 1) for pattern in PATTERNS for window in chosen.windows]
    for pattern, window, spans in [*settings, *((PATTERNS[0], window, chosen.spans) for window in chosen.windows)]:
        run = stream(chosen.seed, pattern, window, chosen.rate, chosen.short, f"{pattern}, {window:g} s", spans)
        rows.append((pattern, f"{window:g}", spans, *_figures(run, window), "yes" if run.contains else "**no**"))
    header = (
        "torque error",
        "window [s]",
        "spans",
        "CPU [ms], mean",
        "p99",
        "share of a core",
        "update [ms], mean",
        "p99",
    )
    report.table((*header, "truth inside"), rows)
    print(report.write())
    return 0


def make_stream_arm(seed: int) -> Arm:
    rng = np.random.default_rng(seed)
    return make_arm(
        KnownRobotConfig(),
        random_payload(rng, "dumbbell"),
        SineMotion.random(rng, 7),
        lambda centre, radius: centre + radius * rng.uniform(-1.0, 1.0, centre.size),
    )


def messages(arm: Arm, seed: int, pattern: str, rate: float, duration: float) -> Iterator[JointSamples]:
    """The stream in chunks, stamps rising through all of them."""
    rng = np.random.default_rng([seed, 1])
    robot = arm.problem.robot
    total = round(duration * rate) + 1
    chunk = round(_CHUNK * rate)
    for first in range(0, total, chunk):
        t = np.arange(first, min(first + chunk, total)) / rate
        q, qd, qdd = arm.problem.motion(t)
        # The same draws in every chunk, so that "bias" does not change sides.
        sign = signs(pattern, np.random.default_rng(seed) if pattern != "uniform" else rng,
                     Context(t, np.zeros((t.size, robot.n, 10)), 0, 0.1))  # fmt: skip
        yield JointSamples(
            robot.joint_names,
            1.0 + t,
            robot.encoder_step * np.round(q / robot.encoder_step),
            qd + VELOCITY_ERROR * rng.uniform(-1.0, 1.0, qd.shape),
            reading(arm.problem.torque(q, qd, qdd), sign, 0.025, 0.0),
        )


def stream(seed: int, pattern: str, window: float, rate: float, duration: float, title: str, spans: int = 1) -> Run:
    """Pushes every message through a fresh identifier."""
    arm = make_stream_arm(seed)
    noise = NoiseConfig(
        velocity_error=(VELOCITY_ERROR,),
        acceleration=tuple(arm.problem.motion.acceleration),
        torque_rate=tuple(arm.torque_rate(duration, 4e-3)),
    )
    effort = SetMembershipConfig(spans=spans)
    config = IntervalIdentifierConfig(noise=noise, window=WindowConfig(duration=window), set_membership=effort)
    pipeline = IntervalPipeline(arm.problem.robot, config, clock=time.process_time)
    spent = np.full((round(duration / window) + 2, 3), np.nan)  # in place before the memory is looked at
    memory = [(0.0, _resident())]
    windows = 0
    contains = True
    count = 0
    chunks = messages(arm, seed, pattern, rate, duration)
    for _ in progress(range(-(-round(duration * rate + 1) // round(_CHUNK * rate))), title):
        samples = next(chunks)
        position, velocity, effort = (values.tolist() for values in (samples.q, samples.qd, samples.tau))
        stamps = samples.t.tolist()
        start = time.process_time()
        for k in range(len(stamps)):
            result = pipeline.push(samples.names, stamps[k], position[k], velocity[k], effort[k])
            if result is not None:
                now = time.process_time()
                spent[windows] = stamps[k] - 1.0, now - start, result.solve_time
                windows += 1
                contains &= bool(((result.lower <= arm.theta) & (arm.theta <= result.upper)).all())
                start = time.process_time()
        count += len(stamps)
        memory.append((stamps[-1] - 1.0, _resident()))
    t, cpu, update = spent[:windows].T
    return Run(t, cpu, update, np.array(memory), contains, count, pipeline.result)


def _resident() -> float:
    """Resident memory [MB]; NaN where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return float("nan")
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def _figures(run: Run, window: float) -> tuple[str, ...]:
    return (
        f"{1e3 * run.cpu.mean():.2f}",
        f"{1e3 * np.percentile(run.cpu, 99):.2f}",
        f"{100.0 * run.cpu.mean() / window:.1f} %",
        f"{1e3 * run.update.mean():.2f}",
        f"{1e3 * np.percentile(run.update, 99):.2f}",
    )


def _long(report: Report, run: Run, window: float, rate: float) -> None:
    mean, p99, share, update, update99 = _figures(run, window)
    duration = run.t[-1]
    early = run.cpu[(run.t > 0.05 * duration) & (run.t <= 0.2 * duration)].mean()
    late = run.cpu[run.t > 0.85 * duration].mean()
    settled = run.memory[:, 0] > 0.05 * duration
    growth = run.memory[-1, 1] - run.memory[settled, 1][0]
    report.text(
        f"**{duration:.0f} s at {rate:g} Hz, {run.messages} messages, {run.cpu.size} windows of {window:g} s: "
        f"{mean} ms of CPU a window (p99 {p99} ms), {share} of a core; the last 15 % of the stream cost "
        f"{late / early:.2f} times what its first minutes did (5 % to 20 %), memory grew by {growth:.1f} MB from 5 % "
        f"of the stream to its end.**"
    )
    rejected = ", ".join(f"{name} {count}" for name, count in run.result.samples_rejected.items()) or "none"
    report.table(
        ("", ""),
        [
            ("CPU of a window, mean / p99 / max [ms]", f"{mean} / {p99} / {1e3 * run.cpu.max():.1f}"),
            ("of it the update, mean / p99 [ms]", f"{update} / {update99}"),
            ("CPU of the rest, a message [us]", f"{1e6 * (run.cpu - run.update).sum() / run.messages:.1f}"),
            ("resident memory at the start / at 5 % / at the end [MB]",
             f"{run.memory[0, 1]:.0f} / {run.memory[settled, 1][0]:.0f} / {run.memory[-1, 1]:.0f}"),
            ("messages rejected", rejected),
            ("truth inside every interval published", "yes" if run.contains else "**no**"),
            ("status at the end", run.result.status.name),
        ],
    )  # fmt: skip
    _plot(report.figure("", "CPU of a window and resident memory along the stream"), run, window)


def _plot(path: Path, run: Run, window: float) -> None:
    bins = max(1, min(60, run.t.size // 10))
    parts = np.array_split(np.arange(run.t.size), bins)
    minute = np.array([run.t[part].mean() / 60.0 for part in parts])
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(9.0, 5.0), sharex=True, layout="constrained",
                                         height_ratios=(2.0, 1.0))  # fmt: skip
    for label, value, colour in (
        ("p99", lambda x: np.percentile(x, 99), "#90cdf4"),
        ("mean", np.mean, "#2b6cb0"),
    ):
        top.plot(minute, [1e3 * value(run.cpu[part]) for part in parts], "o-", ms=3, color=colour, label=label)
    third = 1e3 * window / 3.0
    top.axhline(third, color="#c53030", lw=1.0)
    top.text(0.995, third, "a third of a core ", transform=top.get_yaxis_transform(), ha="right", va="bottom",
             color="#c53030", fontsize=9)  # fmt: skip
    top.set(ylabel="CPU of a window [ms]", ylim=(0.0, 1.2 * third))
    top.set_title(f"{run.cpu.size} windows of {window:g} s, {run.messages} messages")
    top.legend(frameon=False, ncols=2, loc="center right")
    bottom.plot(run.memory[:, 0] / 60.0, run.memory[:, 1], color="#2f855a")
    bottom.set(xlabel="time in the stream [min]", ylabel="memory [MB]", ylim=(0.0, 1.25 * run.memory[:, 1].max()))
    for axis in (top, bottom):
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(axis="y", alpha=0.3)
    figure.savefig(path, dpi=130)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())
