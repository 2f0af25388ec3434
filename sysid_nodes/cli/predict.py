# SPDX-License-Identifier: Apache-2.0
"""Predicts the torques of a recording from a calibration, a result or a URDF, to validate it on new data.

The residuals of each joint are compared with those of the robot description without friction and, for a calibration,
with those of plain least squares on the same runs. Torques are means over windows, so nothing is differentiated.
The result of a Bayesian identification contains its configuration, and is compared with its prior.

examples:
  sysid predict calibration.json bags/other --config config/my_arm.yaml --out results/predicted
  sysid predict results/loaded/result.json bags/other --config config/my_arm.yaml --out results/predicted
  sysid predict my_arm.urdf bags/other --out results/described
  sysid predict results/posterior bags/other --out results/predicted
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from sysid_nodes.cli.configuration import add_arguments as add_configuration
from sysid_nodes.cli.interval.entry import INTERVAL
from sysid_nodes.cli.system import Entry
from sysid_nodes.cli.systems import maker_of
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.files import read_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="calibration.json, result.json or its folder, or a URDF"
    )
    parser.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 folder, or a single .mcap or .db3 file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")
    add_configuration(parser)


def run(args: argparse.Namespace) -> int:
    """By the system whose model it is; calibrations and URDFs are the interval identifier's."""
    document = None if args.model.suffix in (".urdf", ".xml") else _document(args.model)
    if document is None or document.get("kind") == "calibration":
        maker: Entry | None = INTERVAL
    else:
        maker = maker_of(document, args.model if args.model.is_dir() else args.model.parent)
    if maker is None or (predict := maker.load().predict) is None:
        line = f"is a result of the pipeline '{document and document['pipeline']}', not of an arm"
        raise InputError(line, source=str(args.model))
    return predict(args, document)


def _document(path: Path) -> dict[str, Any]:
    """A calibration, or a result.

    Raises:
        InputError: it is neither.
    """
    if path.is_file():
        try:
            parsed = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            parsed = None  # read_document says what is wrong
        if isinstance(parsed, dict) and parsed.get("kind") == "calibration":
            return parsed
    return read_document(path)
