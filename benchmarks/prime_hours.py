# SPDX-License-Identifier: Apache-2.0
"""Does a session of PRIME cost the same after minutes as at first? What it holds, the process's memory, and CPU time.

A simulated Go2 moves for a while, and PRIME follows live, as its node would, round after round of the same readings
with new stamps; between two rounds it hears nothing, and the motion begins anew. Each row is of one stretch of robot
time.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.prime_log import START
from benchmarks.report import Report, parser, progress
from sysid_nodes.cli.prime.demo_config import estimator_file
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.readings import Readings
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import make_horizon
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
from shared.held_memory import reachable_bytes
from shared.legged_readings import readings_of

_SILENCE = 5.0  # between two rounds, so that the next begins a new segment [s]


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_hours", __doc__)
    options.add_argument("--minutes", type=float, default=60.0, help="of robot time")
    options.add_argument("--rows", type=int, default=10, help="stretches of it")
    options.add_argument("--round", type=float, default=60.0, help="length of the motion [s]")
    options.add_argument("--motion", default="sway", help="of the robot")
    chosen = options.parse_args(arguments)
    config = load_yaml(PrimeSessionConfig, estimator_file("go2"))
    motion = LeggedSimulationConfig(motion=chosen.motion, history=1.0)
    sim = LeggedRobotSim(motion, np.random.default_rng(chosen.seed), start=START)
    readings = [readings_of(reading) for reading in sim.run(chosen.round)]
    session = PrimeSession(sim.robot, config, lambda: make_horizon(sim.robot, config), clock=lambda: 0.0)
    each = max(round(60.0 * chosen.minutes / chosen.round / chosen.rows), 1)
    rows = []
    for k in progress(range(chosen.rows), "stretches"):
        later = [(k * each + i) * (chosen.round + _SILENCE) for i in range(each)]
        rows.append((f"{(k + 1) * each * chosen.round / 3600.0:.2f}", *_row(session, readings, later)))
    report = Report("prime-hours", "A long session of PRIME", chosen.out, chosen.command)
    report.text(
        "What the session holds is the size of all objects that it reaches; the process is Python, the readings, the "
        "simulation and all libraries. History is entries of parameters, and stretches of one status."
    )
    head = ("robot time [h]", "session holds [kB]", "process [MB]", "CPU a solve [ms]", "solves", "history", "status")
    report.table(head, rows)
    print(report.write())
    return 0


def _row(session: PrimeSession, readings: Sequence[Readings], later: Sequence[float]) -> tuple[object, ...]:
    """The session after further rounds, each later than the recording by a time [s], and what they took."""
    begun, solves = time.process_time(), session.solves
    for by in later:
        for reading in readings:
            session.take(reading._replace(stamp=reading.stamp + by))
    spent, solves = time.process_time() - begun, session.solves - solves
    gc.collect()
    held, _ = reachable_bytes(session)
    return (
        f"{held / 1e3:.0f}",
        f"{_resident():.0f}",
        f"{1e3 * spent / solves:.1f}",
        solves,
        f"{len(session.history)}, {len(session.stretches)}",
        session.judgement.status.name,
    )


def _resident() -> float:
    """Memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    sys.exit(main())
