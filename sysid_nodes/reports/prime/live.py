# SPDX-License-Identifier: Apache-2.0
"""A live node's output, compared with a replay of its input."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.logs.reader import read_messages, read_topics
from sysid_nodes.logs.storage import absolute
from sysid_nodes.messages.prime.estimate import CONTACT_FORCES, INERTIA, ODOMETRY, TYPES
from sysid_nodes.reports.prime.series import PrimeSeries

Array = npt.NDArray[np.float64]

_SAME = 1e-4  # of two stamps [s]
_EQUAL = 1e-6  # difference of forces [N] and positions [m] that rounding explains


def compare_live(bag: Path, series: PrimeSeries, readings: Mapping[str, int], gave_up: str = "") -> dict[str, Any]:
    """Differences between the forces, places and masses in a recording and those of a replay of it, as plain values.

    Args:
        bag: recording of both the node's input and its output.
        series: of a replay in the live node's mode.
        readings: counts of messages, which show losses on the way.
        gave_up: work that the live node skipped because the machine was slow; empty for none.

    Raises:
        LogError: the recording cannot be read.
    """
    t, force, place = _published_stages(bag, series.force.shape[1:])
    at = np.clip(np.searchsorted(series.t, t - _SAME), 0, len(series.t) - 1)
    both = np.abs(series.t[at] - t) < _SAME
    apart = np.linalg.norm(force[both] - series.force[at[both]], axis=2)
    apart = apart[np.isfinite(apart).all(axis=1)]
    moved = np.linalg.norm(place[both] - series.base[at[both], :3], axis=1)
    masses = [message.estimate[0] for message in _messages(bag, INERTIA)]
    found: dict[str, Any] = {
        "stages": len(t),
        "compared": int(both.sum()),
        "largest_force_difference": float(apart.max()) if apart.size else None,
        "force_difference_rms": float(np.sqrt(np.mean(apart**2))) if apart.size else None,
        "largest_position_difference": float(moved.max()) if moved.size else None,
        "mass_difference": _difference(masses, series),
        "readings": dict(readings),
    }
    return found | {"sentence": _sentence(found, gave_up)}


def _difference(masses: list[float], series: PrimeSeries) -> float | None:
    """Of the last masses [kg]; None where there is none, or it was not observed."""
    return float(masses[-1] - series.theta[-1, 0, 0]) if masses and np.isfinite(masses[-1]) else None


def _published_stages(bag: Path, shape: tuple[int, ...]) -> tuple[Array, Array, Array]:
    """Stamps, forces and base positions as first published; later repetitions are left out."""
    forces: dict[float, Array] = {}
    for message in _messages(bag, CONTACT_FORCES):
        values = [[c.force.x, c.force.y, c.force.z] for c in message.contacts]
        forces.setdefault(_stamp(message), np.array(values))
    places: dict[float, Array] = {}
    for message in _messages(bag, ODOMETRY):
        at = message.pose.pose.position
        places.setdefault(_stamp(message), np.array([at.x, at.y, at.z]))
    stamps = sorted(set(forces) & set(places))
    force = np.array([forces[t] for t in stamps]).reshape(-1, *shape)
    return np.array(stamps), force, np.array([places[t] for t in stamps]).reshape(-1, 3)


def _messages(bag: Path, topic: str) -> Iterator[Any]:
    """Messages of a topic; none where the node got to publish none."""
    if any(found.name == absolute(topic) and found.count for found in read_topics(bag)):
        yield from (message for _, message in read_messages(bag, topic, TYPES[topic]))


def _stamp(message: Any) -> float:
    return float(message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec)


def _sentence(found: Mapping[str, Any], gave_up: str) -> str:
    largest, rms = found["largest_force_difference"], found["force_difference_rms"]
    if not found["stages"]:
        return f"The live node published no estimate{f' ({gave_up})' if gave_up else ''}."
    if largest is None:
        return "Live node and replay have no stage in common."
    stages = f"at {found['compared']} of the {found['stages']} stages that the live node published"
    if max(largest, found["largest_position_difference"]) < _EQUAL:
        text = f"Replayed from the recording, the numbers are the live node's, {stages}"
    else:
        text = f"Replayed from the recording, forces differ from the live node's by {rms:.2g} N (RMS), {stages}"
    if found["mass_difference"] is not None:
        grams = 1e3 * abs(found["mass_difference"])
        text += f"; the last masses differ by {grams:{'.2g' if grams < 10.0 else '.0f'}} g"
    why = [gave_up] if gave_up else []
    recorded = {name[9:]: count for name, count in found["readings"].items() if name.startswith("recorded ")}
    for name, count in recorded.items():
        live = found["readings"].get(f"received {name}", count)
        if live != count:
            why.append(f"of {name} the live node got {live} messages and the recording has {count}")
    return text + (f" ({'; '.join(why)})." if why else ".")
