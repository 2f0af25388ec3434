# SPDX-License-Identifier: Apache-2.0
"""Readings of a simulated walking robot as the identification by rollouts takes them, without a bag between."""

from __future__ import annotations

from typing import Any

from benchmarks.sampling_log import simulated_session
from sysid_nodes.simulation.legged import LeggedRobotSim
from sysid_nodes.systems.sampling.log import Readings


def walking_readings(duration: float, seed: int = 0, **options: Any) -> tuple[Readings, LeggedRobotSim]:
    """Streams of a walk."""
    session, sim = simulated_session(duration, seed, **options)
    return session.readings(), sim
