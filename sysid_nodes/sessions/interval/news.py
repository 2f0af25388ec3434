# SPDX-License-Identifier: Apache-2.0
"""The subject of an identification, when there is news of it, and the news in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sysid_nodes.results import IdentificationResult
from sysid_nodes.results.identification import LEVEL


@dataclass(frozen=True)
class Subject:
    """The subject of an identification, in words.

    Attributes:
        target: body (the link with all it carries) or payload (only what was added to it).
        frame: link whose moving joint's frame the parameters are expressed in.
        method: identification method.
    """

    robot: str
    body: str
    target: str
    frame: str
    method: str


def is_news(result: IdentificationResult, last: IdentificationResult) -> bool:
    """Whether a result is published after `last`: a tightened bound, another status or another contradiction."""
    changed = result.status is not last.status or result.contradiction is not last.contradiction
    return result.tightened or changed


def _likely(result: IdentificationResult) -> str:
    """The mass with its confidence interval, to go before the status; empty while that is as wide as the proven."""
    found = result.estimate
    if found is None or (found.lower[0], found.upper[0]) == (result.lower[0], result.upper[0]):
        return ""
    low, high = found.lower[0], found.upper[0]
    return f"mass {result.nominal[0]:.4g} kg ({low:.4g} to {high:.4g} with {100 * LEVEL:g} % confidence); "


def sentence(result: IdentificationResult, findings: Sequence[str] = ()) -> str:
    """The status in one sentence, with its cause where there is one.

    Args:
        result: state of knowledge.
        findings: problems of the data, one line each; added where the data contradict the assumptions or use them up.
    """
    if not result.status.speaks_against_assumptions:
        return _likely(result) + result.status.message
    cause = f": {result.contradiction.sentence()}" if result.contradiction else ""
    return "; ".join([result.status.message + cause, *findings])
