# SPDX-License-Identifier: Apache-2.0
"""Facts of the machine that a figure was measured on."""

from __future__ import annotations

import math
import os
import platform
import time
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import revision
from sysid_nodes import kernel

_BEGUN = time.monotonic()
_EARLIER: list[float] = []
"""CPU seconds of trials that were read from a file; not a number where it does not say."""

PACKAGES = ("numpy", "scipy", "highspy", "clarabel", "pin")


def facts() -> list[tuple[str, str]]:
    """Pairs of what and value, for the head of a report."""
    load = " ".join(f"{value:.1f}" for value in os.getloadavg())
    return [
        ("CPU", f"{_cpu()}, {os.cpu_count()} cores"),
        ("load average at the end (1, 5, 15 min)", f"{load}"),
        ("system", f"{platform.system()} {platform.release().split('-')[0]}, Python {platform.python_version()}"),
        ("packages", ", ".join(f"{name} {_version(name)}" for name in PACKAGES)),
        ("kernel", kernel.implementation()),
        ("threads of linear algebra", "1"),
        ("took", _took()),
        ("revision", f"{revision.here()}{'' if revision.current() == revision.here() else ', changed while this ran'}"),
    ]


def used() -> float:
    """CPU seconds of this process and of those it has waited for."""
    return sum(os.times()[:4])


def count_earlier(seconds: Iterable[float]) -> None:
    """Has the report say that trials were not run but read, and what CPU time [s] each had taken, if that is known."""
    _EARLIER.extend(seconds)


def _took() -> str:
    """Wall time since the benchmark was loaded, CPU time; that of trials which an earlier run had done apart."""
    took = f"{(time.monotonic() - _BEGUN) / 60.0:.1f} min, {used() / 60.0:.1f} min of CPU"
    known = [seconds for seconds in _EARLIER if math.isfinite(seconds)]
    if not _EARLIER:
        return took
    times = f"{sum(known) / 60.0:.1f} min of CPU" if len(known) == len(_EARLIER) else "unknown times"
    return f"{took}, beside {len(_EARLIER)} trials of runs before it, {times}"


def _cpu() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = dict(line.split(":", 1) for line in lines if ":" in line)
    fields = {key.strip(): value.strip() for key, value in named.items()}
    name = fields.get("model name", platform.machine())
    family = f" (family {fields['cpu family']}, model {fields['model']})" if "cpu family" in fields else ""
    return name + family


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"
