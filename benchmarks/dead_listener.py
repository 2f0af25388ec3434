# SPDX-License-Identifier: Apache-2.0
"""Cost of a killed listener to a driver at 1 kHz: time in `publish` before, and until its lease is over.

Driver and two listeners are processes; one listener is killed after some seconds. With shared memory as rmw_fastrtps
has it, or over UDP as this package's nodes (sysid_nodes/messages/transport.py); reliable or best effort; by the depth
of the driver's history.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from benchmarks.report import Report, parser, progress
from sysid_nodes.messages.transport import use_udp

_PERIOD = 1e-3
"""Of the driver [s]."""

_ALIVE, _LEASE = 3.0, 20.0
"""Time before the kill, and from it until a participant that is gone is forgotten [s]."""

_DISCOVERY = 60.0
"""Longest wait for the listeners [s]."""


class Case(NamedTuple):
    """Transport, reliability of the listeners, messages that the driver keeps."""

    transport: str
    reliability: str
    depth: int


CASES = tuple(
    Case(transport, reliability, depth)
    for transport in ("shared memory", "UDP")
    for reliability, depth in (("best_effort", 10), ("reliable", 10), ("reliable", 1000), ("reliable", 5000))
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("dead_listener", __doc__)
    options.add_argument("--after", type=float, default=_LEASE + 3.0, help="how long to look after the kill [s]")
    chosen = options.parse_args(arguments)
    report = Report("dead_listener", "A listener that is killed", chosen.out, chosen.command)
    report.text(
        f"A driver publishes joint states reliably, every {1e3 * _PERIOD:g} ms, to two processes, and one of them is "
        f"killed. Time in `publish`, in milliseconds; the lease of the dead one ends {_LEASE:g} s after the kill."
    )
    rows = []
    for case in progress(CASES, "dead_listener"):
        t, took = (np.array(column) for column in zip(*_run(case, chosen.after), strict=True))
        dead, end = t > _ALIVE, t > _ALIVE + _LEASE - 1.0
        parts = (took[~dead], took[dead & ~end], took[end])
        cells = [f"{1e3 * value(part):.2f}" if part.size else "-" for part in parts for value in (np.mean, np.max)]
        rows.append((f"{case.transport}, {case.reliability}, depth {case.depth}", *cells, took.size))
    spans = ("alive", "dead", "when the lease ends")
    header = [f"{span}, {what}" for span in spans for what in ("mean", "longest")]
    report.table(("", *header, "published"), rows)
    print(report.write())
    return 0


def _run(case: Case, after: float) -> list[tuple[float, float]]:
    """When a message was published and how long that took [s], since the first."""
    variables = os.environ | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_DOMAIN_ID": str(1 + os.getpid() % 101)}
    if case.transport == "UDP":
        use_udp(variables)
    else:
        for name in [name for name in variables if "PROFILES_FILE" in name or name == "FASTDDS_BUILTIN_TRANSPORTS"]:
            del variables[name]

    def begin(role: str, *words: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "benchmarks.dead_listener_process", role, *map(str, words)]
        return subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True)

    driver = begin("drive", case.depth, _ALIVE + after, _PERIOD, _DISCOVERY)
    listeners = [begin("listen", case.reliability) for _ in range(2)]
    try:
        assert driver.stdout is not None
        if not driver.stdout.readline():
            raise SystemExit("the listeners were not found")
        time.sleep(_ALIVE)
        listeners[0].kill()
        found: list[tuple[float, float]] = json.loads(driver.communicate(timeout=_ALIVE + after + 60.0)[0])
        return found
    finally:
        for process in (driver, *listeners):
            process.kill()
            process.wait()


if __name__ == "__main__":
    sys.exit(main())
