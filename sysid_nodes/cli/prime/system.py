# SPDX-License-Identifier: Apache-2.0
"""PRIME as the command line knows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sysid_nodes.cli.prime import replay
from sysid_nodes.cli.system import Report, System
from sysid_nodes.reports.files import SERIES_NAME
from sysid_nodes.reports.prime.quantities import prime_quantities
from sysid_nodes.reports.prime.run import report_prime
from sysid_nodes.reports.prime.schema import validate_prime


def _write(page: Path, document: dict[str, Any], folder: Path) -> None:
    validate_prime(document, source=str(folder))
    report_prime(page, document, folder / SERIES_NAME, source=str(folder))


SYSTEM = System(
    replay=replay.run,
    report=Report(_write, prime_quantities),
)
