# SPDX-License-Identifier: Apache-2.0
"""sysid export of an identified body."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.interval.schema import validate_interval
from sysid_nodes.reports.wording import IntervalText, likely_text, summary
from sysid_nodes.results import Status
from sysid_nodes.robots.export import export_body, moved_joints


def run(args: argparse.Namespace, parsed: dict[str, Any]) -> int:
    """Writes the file and returns the exit status."""
    if args.into is None:
        raise ConfigError("--format is for actuators; a body needs --into")
    document = validate_interval(parsed, source=str(args.result))
    theta = _nominal(document, str(args.result))
    link = args.link or document["body"]
    try:
        data = args.into.read_bytes()
    except OSError as error:
        raise InputError(error.strerror or str(error), source=str(args.into)) from None
    added, moving = document["target"] == "payload", moved_joints(data, document["joints"])
    write_atomically(args.out, export_body(data, link, theta, added=added, moving=moving, source=str(args.into)))
    if (status := Status[document["status"]]) in (Status.DOUBTFUL, Status.UNWEIGHED):
        sys.stderr.write(f"sysid: warning: {args.result}: {status.message}\n")
    if blind := document["excitation"]["blind"]:
        sys.stderr.write(f"sysid: the data say nothing about {summary(blind)}; there the file has the prior's guess\n")
    sys.stdout.write(f"{args.out}: {'added to ' if added else ''}{link}:\n")
    for row in document["parameters"]:
        # The file has every digit, for a body that is rounded may not be physical; shown is what is known.
        proven = IntervalText.of(row["nominal"], row["lower"], row["upper"], digits=1)
        text = likely_text(row, proven) or proven
        sys.stdout.write(f"  {row['name']:<5} {text.nominal} {row['unit']} ({text.lower} to {text.upper})\n")
    return 0


def _nominal(document: dict[str, Any], source: str) -> npt.NDArray[np.float64]:
    """The estimate, where there is one.

    Raises:
        InputError: the data contradicted the assumptions, or there were none.
    """
    status = Status[document["status"]]
    if status is Status.INCONSISTENT:
        raise InputError("the data contradict the stated assumptions; there is nothing to export", source=source)
    nominal = [row["nominal"] for row in document["parameters"]]
    if status is Status.WAITING or None in nominal:
        raise InputError("nothing was identified; there is nothing to export", source=source)
    return np.array(nominal, dtype=np.float64)
