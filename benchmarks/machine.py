# SPDX-License-Identifier: Apache-2.0
"""Facts of the machine that a figure was measured on."""

from __future__ import annotations

import os
import platform
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks import revision
from sysid_nodes import kernel

_BEGUN = time.monotonic()

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


def _took() -> str:
    """Wall time since the benchmark was loaded, CPU time with that of the processes it has waited for."""
    minutes, used = (time.monotonic() - _BEGUN) / 60.0, sum(os.times()[:4]) / 60.0
    return f"{minutes:.1f} min, {used:.1f} min of CPU"


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
