# SPDX-License-Identifier: Apache-2.0
"""The end of a legged robot's demo: the bag replayed, compared with what was found live, and put into words."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.demo.closing import machine_lines
from sysid_nodes.cli.demo.ending import NOT_HELD, NOT_THERE, Ending
from sysid_nodes.cli.prime.demo_watch import PrimeWatch
from sysid_nodes.cli.prime.replay import open_log, replay_into
from sysid_nodes.data.config import load_yaml
from sysid_nodes.logs.reader import read_topics
from sysid_nodes.reports.prime.live import compare_live
from sysid_nodes.reports.prime.series import PrimeSeries
from sysid_nodes.results.prime_mode import HORIZON
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sensors import sources
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.session import prime_robot

_BRIEF = 0.05  # what a line with one decimal cannot tell [s]

_FAR = 5.0
"""Standard deviations; one of ten parameters is as far by chance in one of 100000 runs."""


def evaluate(folder: Path, watch: PrimeWatch, source: str) -> dict[str, Any]:
    """Replays folder/bag by the live node's moving horizon, with the truth, and writes all files of a replay.

    Args:
        folder: holds bag, config.yaml and truth.
        watch: what was seen live.
        source: the bag, as the result is to name it.

    Returns:
        The result.

    Raises:
        SysidError: the recording cannot be read.
    """
    config = load_yaml(PrimeSessionConfig, folder / "config.yaml")
    bag = folder / "bag"
    counts = {f"sent {topic}": count for topic, count in watch.sent_counts().items()}
    counts |= {f"received {topic}": count for topic, count in watch.received_counts().items()}
    heard = {f"/{source.topic}" for source in sources(config.prime.sensors)}
    counts |= {f"recorded {topic.name}": topic.count for topic in read_topics(bag) if topic.name in heard}

    def live(series: PrimeSeries) -> Mapping[str, Any]:
        return compare_live(bag, series, counts, gave_up(watch, config))

    robot, log = prime_robot(config), open_log(bag, config)
    return replay_into(folder, robot, config, log, HORIZON, source, folder / "truth", live)


def gave_up(watch: PrimeWatch, config: PrimeSessionConfig) -> str:
    """The work that the live node skipped because the machine was slow; empty for none."""
    parts = []
    if watch.skipped:
        parts.append(f"skipped {watch.skipped} steps")
    if slower := watch.paces - {(config.pacing.hop, config.horizon.window)}:
        hop, window = max(hop for hop, _ in slower), min(window for _, window in slower)
        parts.append(f"solved every {hop} steps over {window} stages at times")
    return f"the live node could not keep up and {' and '.join(parts)}" if parts else ""


def verdict(document: Mapping[str, Any], *, fallen: bool) -> Ending:
    """Exit status, and what did not hold.

    Args:
        document: the result, with the truth.
        fallen: whether the robot lies.
    """
    if fallen:
        return Ending(NOT_THERE, "the robot has fallen")
    body, truth = document["bodies"][0], document["run"]["truth"]["bodies"][0]["parameters"]
    rows = zip(body["parameters"], truth, strict=True)
    far = {row["name"]: abs(row["estimate"] - value) / row["sigma"] for row, value in rows if row["sigma"]}
    worst = max(far, key=lambda name: far[name], default="")
    if document["status"] == PrimeStatus.GOOD.name and worst and far[worst] > _FAR:
        line = f"{worst} of the {body['link']} is {far[worst]:.1f} of its standard deviations from the truth"
        return Ending(NOT_HELD, f"{line}, and the estimate calls itself GOOD")
    return Ending()


def summary(watch: PrimeWatch, document: Mapping[str, Any], usage: Mapping[str, float]) -> str:
    """The findings, in a few lines."""
    run = document["run"]
    truth = run["truth"]
    body = truth["bodies"][0]
    lines = [
        f"The {body['link']} weighs {body['parameters'][0]:.3f} kg with its hidden load: mass found within "
        f"{100.0 * abs(body['mass_error']):.2f} %, centre of mass within {1e3 * body['centre_of_mass_error']:.1f} mm.",
        f"Contact forces {100.0 * truth['force_error']:.1f} % off, contacts F1 {truth['contact_f1']:.4f}, "
        f"base {1e3 * truth['position_rms']:.1f} mm off (RMS).",
    ]
    if lags := sorted(lag for lag in watch.lags if lag > 0.0):
        lines.append(
            f"Live: lag {1e3 * lags[len(lags) // 2]:.0f} ms (median of the reports' longest), "
            f"at most {1e3 * lags[-1]:.0f} ms."
        )
    lines += [*_worse(watch), run["live"]["sentence"]]
    if document["findings"]:
        lines.append(f"In the end: {'; '.join(document['findings'])}.")
    return "\n".join([*lines, *machine_lines(watch.behind, usage)])


def _worse(watch: PrimeWatch) -> list[str]:
    """Times for which the live estimate's status was less than good."""
    spent = [f"{status.name} for {time:.1f} s" for status, time in watch.heard.items() if _shown(status, time)]
    return [f"Of {watch.time:.1f} s the live estimate's status was {', '.join(spent)}."] if spent else []


def _shown(status: PrimeStatus, time: float) -> bool:
    return status not in (PrimeStatus.GOOD, PrimeStatus.STARTING) and time >= _BRIEF
