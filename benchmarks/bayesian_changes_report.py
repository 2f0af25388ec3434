# SPDX-License-Identifier: Apache-2.0
"""The words and tables of bayesian_changes.py."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.records import Record
from benchmarks.report import Asked
from sysid_nodes.results.bayesian import BayesianStatus


def clear_row(name: str, found: Sequence[Record]) -> tuple[object, ...]:
    """Of logs of one kind with one payload."""
    refused = [one for one in found if one["status"] == BayesianStatus.CONTRADICTED.name]
    by_change = sum(bool(one["said"]) for one in refused)
    doubted = sum(bool(one["said"]) for one in found) - by_change
    held = np.array([one["held"] for one in found if one["held"]])
    shares = [f"{100.0 * share:.0f} %" for share in held.mean(axis=0)] if len(held) else ["", ""]
    return name, len(found), by_change, len(refused) - by_change, doubted, len(found) - len(refused) - doubted, *shares


def slight_row(name: str, found: Sequence[Record]) -> tuple[object, ...]:
    """Of logs with one slight change."""
    parts: tuple[list[Record], list[Record]] = ([], [])
    for one in found:
        if one["held"]:
            parts[not one["said"]].append(one)
    shares = [[f"{100.0 * x:.0f} %" for x in np.mean([one["held"] for one in part], axis=0)] for part in parts if part]
    told = [(len(part), *(shares.pop(0) if part else ("", ""))) for part in parts]
    return name, len(found), len(found) - sum(map(len, parts)), *told[0], *told[1]


def verdict(found: Sequence[tuple[bool, Record]]) -> list[Asked]:
    """Whether anything was claimed without a doubt of logs with a payload; found has whether each had one."""
    changed, honest = ([one for took, one in found if took is which] for which in (True, False))
    claimed = [one for one in changed if BayesianStatus[one["status"]].trusted]
    silent = sum(not one["said"] for one in claimed)
    held = [one["held"] for one in claimed if one["held"]]  # of real arms nobody knows
    alarms = sum(one["status"] == BayesianStatus.CONTRADICTED.name for one in honest)
    asked: list[Asked] = []
    if held:
        shares = np.mean(held, axis=0)
        words = f"{' and '.join(f'{100.0 * share:.0f} %' for share in shares)} before and after, {len(held)} logs"
        asked = [
            ("where it is doubted, 95 % intervals within 5 points", words, bool(np.abs(shares - 0.95).max() <= 0.05))
        ]
    return [
        ("of a payload taken up midway nothing is claimed without a doubt", f"{silent} of {len(changed)}", not silent),
        *asked,
        ("an honest log is not contradicted", f"{alarms} of {len(honest)} are", not alarms),
    ]


def slight_verdict(found: Sequence[tuple[bool, Record]]) -> list[Asked]:
    """Whether 95 % intervals hold what constants were and what they became as often as they say."""
    asked = list[Asked]()
    for which, what in ((False, "nothing changes"), (True, "a slight change")):
        held = [one["held"] for changed, one in found if changed is which and one["held"]]
        if held:
            shares = np.mean(held, axis=0)
            words = f"{' and '.join(f'{100.0 * share:.1f} %' for share in shares)} before and after, {len(held)} logs"
            asked.append((f"{what}: 95 % intervals within 5 points", words, bool(np.abs(shares - 0.95).max() <= 0.05)))
    return asked
