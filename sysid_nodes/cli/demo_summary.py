"""The end of a demo: the bag replayed, compared with what was found live, and put into words."""

from __future__ import annotations

import argparse
import contextlib
import io
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli import replay
from sysid_nodes.cli.demo_screen import behind
from sysid_nodes.cli.demo_watch import Watch
from sysid_nodes.reports.interval_report import REPORT_NAME, write_report
from sysid_nodes.reports.result_file import RESULT_NAME, read_result, write_result
from sysid_nodes.reports.series_file import SERIES_NAME, read_series
from sysid_nodes.reports.wording import IntervalText, missed, verdict

_STEP = ("t", "status", "nominal", "lower", "upper")


def evaluate(folder: Path, live_file: Path, watch: Watch, source: str) -> tuple[dict[str, Any], bool]:
    """Replays folder/bag and writes result.json, series.npz and report.html, the truth included.

    The replay says what each assumption costs and how well the torques are explained, which the live node does not.
    Its numbers are those found live; where samples were lost on the way to the live node, they are not, and then the
    live ones are written.

    Args:
        folder: holds the bag and config.yaml.
        live_file: result that the identifier saved.
        watch: what was seen.
        source: the bag, as the result is to name it.

    Returns:
        The result, and whether the replay gave the live numbers.

    Raises:
        SysidError: the replay failed.
    """
    again = folder / ".replay"
    parser = argparse.ArgumentParser()
    replay.add_arguments(parser)
    words = [str(folder / "bag"), "--config", str(folder / "config.yaml"), "--out", str(again)]
    with contextlib.redirect_stdout(io.StringIO()):
        replay.run(parser.parse_args(words))
    live, document = read_result(live_file), read_result(again)
    series = again / SERIES_NAME
    torques = read_series(series) if series.exists() else None
    agree = same(live, document)
    if not agree:
        document = live | {"joints": document["joints"]}
    document |= {"truth": [float(x) for x in watch.truth], "source": source}
    if series.exists():
        series.replace(folder / SERIES_NAME)
    write_report(folder / REPORT_NAME, document, torques)
    write_result(folder / RESULT_NAME, document)
    shutil.rmtree(again)
    return document, agree


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two results hold the same numbers, to the last bit, at every step."""
    return one["parameters"] == other["parameters"] and _steps(one) == _steps(other)


def missed_ever(watch: Watch, document: Mapping[str, Any]) -> list[str]:
    """Parameters whose truth was outside an interval that was published, or is outside the result's."""
    return sorted(watch.missed | set(missed(document)))


def summary(
    watch: Watch, document: Mapping[str, Any], *, agree: bool, usage: Mapping[str, float], out: Path, seed: int
) -> str:
    """What a user should know now."""
    lines = [_found(watch, document), *_health(watch), *behind(watch)]
    if usage:
        shares = ", ".join(f"{name} {100.0 * share:.0f} %" for name, share in usage.items())
        lines.append(f"Processor, of one core during the motion: {shares}.")
    lines += [
        f"A window took {1e3 * sum(watch.solve_times) / max(len(watch.solve_times), 1):.0f} ms to solve, "
        f"the slowest {1e3 * max(watch.solve_times, default=0.0):.0f} ms.",
        "The recording, replayed, gives the same numbers to the last bit."
        if agree
        else "The recording, replayed, gives other numbers than the live identifier: it did not hear all of it.",
        "",
        f"  {out / REPORT_NAME}   to look at in a browser",
        f"  {out / RESULT_NAME}   for programs",
        f"  {out / 'bag'}           the recording; to identify from it again:",
        f"      sysid replay {out / 'bag'} --config {out / 'config.yaml'} --out {out}_again",
        f"  sysid demo kinova --seed {seed}   carries the same payload again",
    ]
    return "\n".join(lines)


def _found(watch: Watch, document: Mapping[str, Any]) -> str:
    told = verdict(document)
    if watch.contradicted:
        return f"{told.headline}: {watch.contradicted}"
    mass = document["parameters"][0]
    text = IntervalText.of(mass["nominal"], mass["lower"], mass["upper"], digits=2)
    if wrong := missed_ever(watch, document):
        return f"WRONG: the truth was outside at some time: {', '.join(wrong)}. Please report this."
    return (
        f"{told.label}: hand and dumbbell weigh {text.lower} to {text.upper} kg; the hidden truth is "
        f"{watch.truth[0]:.3f} kg.\n"
        f"All ten truths were inside in each of {watch.updates} updates."
    )


def _health(watch: Watch) -> list[str]:
    lines = [
        f"{watch.published} joint states published, {watch.recorded} recorded, {watch.received} received by the "
        f"identifier, {watch.lost} lost, {watch.rejected} not used."
    ]
    if watch.lost or watch.overflowed or watch.recorded < watch.published:
        lines.append(
            "This machine could not keep up: what was lost is missing from the result, which is sound without."
        )
    return lines


def _steps(document: Mapping[str, Any]) -> dict[int, tuple[Any, ...]]:
    return {step["window"]: tuple(step[name] for name in _STEP) for step in document["history"]}
