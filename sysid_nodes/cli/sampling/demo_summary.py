# SPDX-License-Identifier: Apache-2.0
"""The end of the exploration's demo: the bag replayed, compared with the live estimate and with the truth, in words."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.cli.demo.closing import machine_lines
from sysid_nodes.cli.demo.ending import NOT_HELD, Ending
from sysid_nodes.cli.sampling.demo_watch import SamplingWatch
from sysid_nodes.cli.sampling.replay import read_into
from sysid_nodes.data.config import load_yaml
from sysid_nodes.exceptions import SysidError
from sysid_nodes.reports.files import RESULT_BAG
from sysid_nodes.reports.sampling.bag import write_result_bag
from sysid_nodes.reports.sampling.run import SamplingRun, write_sampling_run
from sysid_nodes.reports.sampling.stages import known_after, stages_document
from sysid_nodes.rollouts.rotations import matrix
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot
from sysid_nodes.sessions.sampling.session import SamplingSession

Array = npt.NDArray[np.float64]

_BY_CHANCE = 0.2
"""Share of the 95 % intervals that may miss the truth; of a dozen more than two do by chance in 2 % of runs."""

_FAR = 1.75
"""Half-widths from the middle; as far, 3.4 standard deviations, one of a dozen is by chance in 1 % of runs."""


def evaluate(folder: Path, watch: SamplingWatch, source: str) -> dict[str, Any]:
    """Identifies again from folder/bag, as far as the live node had heard, and writes all files of a replay.

    Args:
        folder: holds bag and config.yaml.
        watch: what was seen live, and the truth.
        source: the bag, as the result is to name it.

    Returns:
        The result.

    Raises:
        SysidError: the recording cannot be read, or nothing can be identified from it.
    """
    config = load_yaml(SamplingSessionConfig, folder / "config.yaml")
    session = SamplingSession(sampling_robot(config), config)
    read_into(session, folder / "bag")
    (first, _), (until, live) = watch.posteriors[0], watch.posteriors[-1]
    began = time.monotonic()
    result = session.identify(until=until)
    spent = time.monotonic() - began
    if watch.plan is None or result.posterior is None:
        raise SysidError("there was no plan, or the recording tells nothing")
    stages = stages_document(
        watch.plan,
        watch.known[0],
        known_after(result.posterior, session.robot, config.sampling),
        watch.truth,
        _path(session, first, until),
        same=result.posterior.id == live.id,
    )
    write_result_bag(folder / RESULT_BAG, session, result, folder / "bag", until=until)
    return write_sampling_run(folder, SamplingRun(result, session.robot, source, spent, config, stages))


def verdict(watch: SamplingWatch, document: Mapping[str, Any]) -> Ending:
    """Exit status, and what did not hold."""
    if not document["exploration"]["replay_equals_live"]:
        return Ending(
            NOT_HELD, "a replay of the recording gives other numbers than the live identifier", watch.overloaded
        )
    claimed, missed = _missed(watch, document)
    if len(missed) > _BY_CHANCE * len(claimed) or any(far > _FAR for far, _ in missed):
        return Ending(NOT_HELD, "more than chance explains: " + _missed_words(missed, claimed))
    return Ending()


def _missed(
    watch: SamplingWatch, document: Mapping[str, Any]
) -> tuple[list[Mapping[str, Any]], list[tuple[float, str]]]:
    """Parameters with an interval and a truth; of those whose interval misses it, by how many half-widths, in words."""
    claimed = [row for row in document["parameters"] if row["lower"] is not None and row["name"] in watch.truth]
    missed = []
    for row in claimed:
        truth, half = watch.truth[row["name"]], 0.5 * (row["upper"] - row["lower"])
        if (far := abs(truth - row["lower"] - half) / half) > 1.0:
            interval = f"{row['lower']:.4g} to {row['upper']:.4g} {row['unit']}"
            words = f"{row['name']} {interval}, in truth {truth:.4g} ({far - 1.0:.2f} half-widths beyond)"
            missed.append((far, words))
    return claimed, missed


def _missed_words(missed: Sequence[tuple[float, str]], claimed: Sequence[Any]) -> str:
    many = f"{len(missed)} of {len(claimed)} intervals of 95 % do not hold the truth"
    return f"{many}: {'; '.join(words for _, words in missed)}"


def summary(watch: SamplingWatch, document: Mapping[str, Any], usage: Mapping[str, float]) -> str:
    """The course of things, in lines."""
    before, after = watch.known[0], watch.known[-1]
    rows = [row for row in zip(before, after, strict=True) if np.isfinite([row[0].sigma, row[1].sigma]).all()]
    ratio = float(np.median([second.sigma / first.sigma for first, second in rows])) if rows else np.nan
    mass, true = after[0], watch.truth["mass"]
    plan = watch.plan
    assert plan is not None  # else there was no second stage
    lines = [
        f"The body weighs {mass.value:.2f} +- {mass.sigma:.2g} kg (one sigma); in truth {true:.2f} kg. "
        f"The first motion alone said {before[0].value:.2f} +- {before[0].sigma:.2g} kg (one sigma).",
        f"{plan.duration:g} s of {', '.join(plan.gaits)}, planned for that estimate, made the standard deviations "
        f"{ratio:.2f} times what they were (median of {len(rows)}).",
    ]
    claimed, missed = _missed(watch, document)
    if missed:
        lines.append(f"{_missed_words(missed, claimed)}.")
    return "\n".join([*lines, *machine_lines(watch.behind, usage)])


def _path(session: SamplingSession, after: float, until: float) -> Array:
    """(P, 3) time since the plan's motion began [s] and place of the base [m], from there and in its heading then."""
    log = session.log(until)
    at = np.flatnonzero(log.usable & (log.t > after))
    if not len(at):
        return np.zeros((0, 3))
    at = at[:: max(round(0.1 / log.step), 1)]
    heading = matrix(log.rotation[at[0]])[:2, 0]
    along = heading / np.linalg.norm(heading)
    place = (log.position[at] - log.position[at[0]])[:, :2]
    turned = np.column_stack([place @ along, place @ np.array([-along[1], along[0]])])
    return np.column_stack([log.t[at] - log.t[at[0]], turned])
