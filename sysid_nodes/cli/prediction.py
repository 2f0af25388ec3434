# SPDX-License-Identifier: Apache-2.0
"""The end of `sysid predict`: its files and its table."""

from __future__ import annotations

import argparse
import sys

from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.reports.files import REPORT_NAME
from sysid_nodes.reports.prediction import prediction_document, write_prediction
from sysid_nodes.results.torque_comparison import TorqueComparison


def conclude(
    args: argparse.Namespace, found: TorqueComparison, *, robot: str, joints: tuple[str, ...], window: float
) -> int:
    """Writes the comparison, says what is left over, and returns the exit status."""
    told = prediction_document(
        found, robot=robot, joints=joints, model=str(args.model), source=str(args.bag), window=window
    )
    with OutputFolder(args.out) as folder:
        write_prediction(folder, told, found)
    sys.stdout.write(
        f"{'residual, rms [N m]':<20}" + "".join(f"{name.replace('_', ' '):>15}" for name in found.predicted) + "\n"
    )
    for k, joint in enumerate(joints):
        sys.stdout.write(f"{joint:<20}" + "".join(f"{found.rms(name)[k]:>15.3g}" for name in found.predicted) + "\n")
    sys.stdout.write(f"{args.out / REPORT_NAME}\n")
    return 0
