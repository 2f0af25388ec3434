# SPDX-License-Identifier: Apache-2.0
"""The end of the actuators' demo: the bag replayed, compared with what was said live and with the truth, in words."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.actuators.demo_watch import ActuatorWatch
from sysid_nodes.cli.actuators.encoders import read_encoders
from sysid_nodes.cli.actuators.online import replay_into
from sysid_nodes.cli.demo.closing import machine_lines
from sysid_nodes.cli.demo.ending import NOT_HELD, Ending
from sysid_nodes.data.config import load_yaml
from sysid_nodes.reports.actuators.live import compare_live, session_run
from sysid_nodes.reports.actuators.run import write_actuator_run
from sysid_nodes.reports.actuators.truth import compare_truth
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig, actuator_robot

_STATES = "/joint_states"
_ENOUGH = 0.8  # of the claimed 95 % intervals; of a dozen, two may miss by chance


def evaluate(folder: Path, watch: ActuatorWatch, source: str) -> dict[str, Any]:
    """Replays folder/bag by the live node's session and writes all files of a replay.

    Args:
        folder: holds bag and config.yaml.
        watch: what was seen live, and the truth.
        source: the bag, as the result is to name it.

    Returns:
        The result.

    Raises:
        SysidError: the recording cannot be read, or nothing can be identified from it.
    """
    config = load_yaml(ActuatorSessionConfig, folder / "config.yaml")
    began = time.monotonic()
    session, updates = replay_into(folder, folder / "bag", actuator_robot(config), config, states=_STATES)
    live, took = compare_live(folder / "bag", updates), time.monotonic() - began
    start = next(raw.stamp for raw in read_encoders(folder / "bag", _STATES, session.robot) if raw is not None)
    return write_actuator_run(folder, session_run(session, source, took, live, watch.truth, start))


def verdict(watch: ActuatorWatch, document: Mapping[str, Any]) -> Ending:
    """Exit status, and what did not hold."""
    held, told = _count_held(watch, document)
    kind, changed = watch.truth["kind"], watch.truth["changed"]
    named = [(alarm["kind"], alarm["joint"]) for alarm in document["online"]["alarms"]]
    if not told:
        return Ending(NOT_HELD, "nothing was identified")
    if held < _ENOUGH * told:
        return Ending(NOT_HELD, f"of {told} intervals only {held} hold the truth")
    if named != ([(kind, changed)] if kind else []):
        said = ", ".join(f"{kind} of {joint}" for kind, joint in named) or "none"
        return Ending(NOT_HELD, f"alarms: {said}; what changed: {f'{kind} of {changed}' if kind else 'nothing'}")
    live = document["online"]["live"]
    if live["equal"] != live["published"]:
        return Ending(NOT_HELD, str(live["sentence"]), watch.overloaded)
    return Ending()


def summary(watch: ActuatorWatch, document: Mapping[str, Any], usage: Mapping[str, float]) -> str:
    """The findings, in a few lines."""
    held, told = _count_held(watch, document)
    count = sum(len(joint["parameters"]) for joint in document["joints"])
    lines = [
        f"{told} of {count} parameters are identified, the 95 % intervals of {held} hold the hidden truth; one rollout "
        f"follows the motion within {1e3 * document['replay']['rmse']:.2g} mrad (RMSE)."
    ]
    lines += [f"Alarm: {alarm['message']}." for alarm in document["online"]["alarms"]]
    if watch.truth["kind"]:
        lines.append(f"What changed: the {watch.truth['kind']} of '{watch.truth['changed']}'.")
    oracles = [joint["oracle"] for joint in document["joints"]]
    if all(oracle and oracle["error"] is not None for oracle in oracles):
        worst = 100.0 * max(oracle["error"] / oracle["rms"] for oracle in oracles)
        least = 100.0 * min(oracle["inside"] for oracle in oracles)
        lines.append(
            f"The torque oracle is within {worst:.2g} % (RMS) of the hidden torque; its 95 % band holds that for at "
            f"least {least:.0f} % of the time."
        )
    lines.append(document["online"]["live"]["sentence"])
    return "\n".join([*lines, *machine_lines(watch.behind, usage)])


def _count_held(watch: ActuatorWatch, document: Mapping[str, Any]) -> tuple[int, int]:
    """Claimed intervals that hold the truth, and all that are claimed."""
    claimed = {
        (joint["name"], row["name"]): row["identifiable"] for joint in document["joints"] for row in joint["parameters"]
    }
    rows = [row for row in compare_truth(document, watch.truth) if claimed[row["joint"], row["name"]]]
    return sum(row["holds"] for row in rows), len(rows)
