# SPDX-License-Identifier: Apache-2.0
"""Does a session of PRIME cost the same after minutes as at first? What it holds, the process's memory, and CPU time.

A simulated Go2 sways, and PRIME follows live, as its node would; each row is of one stretch of robot time. Time of the
simulation is not counted.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from benchmarks.prime_log import START
from benchmarks.report import Report, parser, progress
from sysid_nodes.data.config import from_flat
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import make_horizon
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
from shared.held_memory import reachable_bytes
from shared.legged_readings import readings_of


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_hours", __doc__)
    options.add_argument("--minutes", type=float, default=10.0, help="of robot time")
    options.add_argument("--rows", type=int, default=10, help="stretches of it")
    options.add_argument("--motion", default="sway", help="of the robot")
    chosen = options.parse_args(arguments)
    config = from_flat(PrimeSessionConfig, {"robot": "go2", "pacing.hop": 4})
    motion = LeggedSimulationConfig(motion=chosen.motion, history=1.0)
    sim = LeggedRobotSim(motion, np.random.default_rng(chosen.seed), start=START)
    session = PrimeSession(sim.robot, config, lambda: make_horizon(sim.robot, config), clock=lambda: 0.0)
    rows, span = [], 60.0 * chosen.minutes / chosen.rows
    for k in progress(range(chosen.rows), "stretches"):
        rows.append((f"{(k + 1) * span:.0f}", *_row(sim, session, span)))
    report = Report("prime-hours", "A long session of PRIME", chosen.out, chosen.command)
    report.text(
        "What the session holds is the size of all objects that it reaches; the process is Python, the simulation and "
        "all libraries."
    )
    head = ("robot time [s]", "session holds [kB]", "process [MB]", "CPU of a robot's second [s]", "solves", "status")
    report.table(head, rows)
    print(report.write())
    return 0


def _row(sim: LeggedRobotSim, session: PrimeSession, span: float) -> tuple[object, ...]:
    """The session's memory after a further span [s], and what it took."""
    spent, solves = 0.0, session.solves
    readings = sim.run(span)
    while some := list(islice(readings, 1000)):
        begun = time.process_time()
        for reading in some:
            session.take(readings_of(reading))
        spent += time.process_time() - begun
    gc.collect()
    held, _ = reachable_bytes(session)
    return (
        f"{held / 1e3:.0f}",
        f"{_resident():.0f}",
        f"{spent / span:.3f}",
        session.solves - solves,
        session.judgement.status.name,
    )


def _resident() -> float:
    """Memory of this process [MB]."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 1e6


if __name__ == "__main__":
    sys.exit(main())
