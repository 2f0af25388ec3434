# SPDX-License-Identifier: Apache-2.0
"""Budgets of certificates, learned from the certificates made: they change slowly from one plan to the next."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.results.certificate import Certificate, Verdict
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.search.config import ProposalConfig
from sysid_nodes.systems.certified.search.limit_rows import Budget

_SPARE = 0.002
"""Distance [m] and angle [rad] added to what the last certificate took."""

_SPARE_RATE = 0.01
"""Speed [rad/s] kept for what happens between the instants at which a range of k is worked out."""

_WORSE = 1.1
_BACK = 0.92
_FORTH = 1.02
_LITTLE = 0.8
_FADES = 0.95
"""Share of a gap of speed that is kept after a trajectory that took less: after a gentle one the next may be brisk."""
_TELLING = 0.1
"""A margin more negative than this [m] says that shapes overlap, not by how much."""


@dataclass(frozen=True)
class Seen:
    """A proposal as the search saw it.

    Attributes:
        obstacle, itself: least sampled distances [m]; infinite where nothing was near.
        doubt: largest `doubt_norm`.
    """

    obstacle: float
    itself: float
    doubt: float


def first_budget(config: ProposalConfig, keep: float, n: int) -> Budget:
    """Before any certificate; keep: the certifier's own distance margin [m]."""
    return Budget(
        keep + config.distance_gap,
        config.torque_gap,
        config.doubt,
        np.full(n, config.position_gap),
        np.full(n, config.velocity_gap),
    )


def learn(budget: Budget, seen: Seen, certificate: Certificate, position_gain: float, least: float) -> Budget:
    """The budget after a certificate, given or refused.

    Args:
        budget: so far.
        seen: the proposal as the search saw it.
        certificate: what the certifier said of it.
        position_gain: K_r [1/s].
        least: torque kept before any certificate, see `Budget.torque`.
    """
    envelope, margins = certificate.envelope, certificate.margins
    if envelope is None:
        if certificate.verdict is Verdict.TRACKING:
            # With little doubt it was the motion's speed: nothing here describes that.
            return replace(budget, doubt=_BACK * seen.doubt) if seen.doubt > _LITTLE * budget.doubt else budget
        return replace(  # the desired motion itself leaves a limit
            budget,
            position=budget.position + _shortfall(margins.position),
            velocity=budget.velocity + _shortfall(margins.velocity),
        )
    doubt = budget.doubt if seen.doubt < 0.9 * budget.doubt else _FORTH * budget.doubt
    # What a start with large errors took is no measure of the next one.
    torque = 1.2 * budget.torque if certificate.verdict is Verdict.TORQUE else max(least, _BACK * budget.torque)
    taken = [
        sampled - margin + _SPARE
        for sampled, margin in ((seen.obstacle, margins.obstacle), (seen.itself, margins.self_distance))
        if np.isfinite(sampled) and margin > -_TELLING
    ]
    rate = (envelope.reference_error + position_gain * envelope.position_error).max(axis=0)
    return replace(
        budget,
        distance=max(taken, default=budget.distance),
        torque=torque,
        doubt=doubt,
        position=_WORSE * envelope.position_error.max(axis=0) + _SPARE + _shortfall(margins.position),
        velocity=np.maximum(_WORSE * rate + _SPARE_RATE, _FADES * budget.velocity) + _shortfall(margins.velocity),
    )


def _shortfall(margin: Array) -> Array:
    return np.where(np.isfinite(margin), np.maximum(-margin, 0.0), 0.0)
