# SPDX-License-Identifier: Apache-2.0
"""Our own estimator, as one of the methods of the PRIME benchmarks."""

from __future__ import annotations

import time

from benchmarks.peers.estimate import PeerEstimate
from benchmarks.prime_log import AlignedLog
from sysid_nodes.results.least_squares import Iteration
from sysid_nodes.results.prime import EstimateStatus, PrimeEstimate
from sysid_nodes.systems.prime import Model, estimate_motion


def estimate(model: Model, log: AlignedLog) -> PeerEstimate:
    """Full information on the whole log."""
    return run(model, log)[0]


def run(model: Model, log: AlignedLog) -> tuple[PeerEstimate, PrimeEstimate]:
    """The same with the whole result. Covariances are part of the time."""
    seen: list[Iteration] = []
    start = time.perf_counter()
    found = estimate_motion(model, log.steps.times, log.steps.samples, clock=time.perf_counter, progress=seen.append)
    seconds = time.perf_counter() - start
    contact = PeerEstimate(
        q=found.q,
        force=found.contacts.force,
        window="around",
        theta=found.bodies[0].parameters if found.bodies else None,
        seconds=seconds,
        iterations=found.iterations,
        converged=found.status is EstimateStatus.CONVERGED,
        threshold=model.config.contact.threshold,
        costs=tuple(step.cost for step in seen),
    )
    return contact, found
