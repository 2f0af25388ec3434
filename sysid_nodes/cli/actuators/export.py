# SPDX-License-Identifier: Apache-2.0
"""sysid export of actuators."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.actuators.export import arrays, driven_joints, interval_yaml, prime_yaml, sampling_yaml
from sysid_nodes.reports.actuators.export_isaac_lab import isaac_lab
from sysid_nodes.reports.actuators.methods import WEIGHTS_NAME, read_weights, write_onnx_files
from sysid_nodes.reports.actuators.schema import validate_actuators
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.results.actuators import ActuatorStatus
from sysid_nodes.robots.export_joints import export_joints

FORMATS: dict[str, Callable[[Mapping[str, Any], float], str]] = {
    "isaaclab": isaac_lab,
    "interval": interval_yaml,
    "prime": prime_yaml,
    "sampling": sampling_yaml,
}
"""Text of each format, of a result and the step of the simulation [s]."""

_STEP = 0.005  # of the physics in most of Isaac Lab's tasks [s]


def run(args: argparse.Namespace, parsed: dict[str, Any]) -> int:
    """Writes the file and returns the exit status."""
    if args.link is not None:
        raise ConfigError("--link is for identified bodies, not for actuators")
    source = str(args.result)
    document = validate_actuators(parsed, source=source)
    if args.format == "onnx":
        return _write_networks(args, document)
    joints = driven_joints(document, source)
    if args.into is not None:
        try:
            data = args.into.read_bytes()
        except OSError as error:
            raise InputError(error.strerror or str(error), source=str(args.into)) from None
        write_atomically(args.out, export_joints(data, joints, source=str(args.into)))
    elif args.format == "npz":
        write_atomically(args.out, arrays(document, read_weights(args.result)))
    else:
        write_atomically(args.out, FORMATS[args.format](document, args.step or _STEP))
    for joint in joints:
        if joint.untold:
            sys.stderr.write(f"sysid: {joint.name}: not identified and not written: {', '.join(joint.untold)}\n")
    sys.stdout.write(f"{args.out}\n")
    return 0


def _write_networks(args: argparse.Namespace, document: dict[str, Any]) -> int:
    if document["status"] == ActuatorStatus.CONTRADICTION.name:
        driven_joints(document, str(args.result))  # says so
    networks = read_weights(args.result)
    if not networks:
        raise InputError(
            "has no networks: replay with actuators.method=network or residual, and look whether the law was better",
            source=str(args.result),
        )
    with OutputFolder(args.out, WEIGHTS_NAME) as folder:
        np.savez_compressed(folder / WEIGHTS_NAME, allow_pickle=False, **networks)
        write_onnx_files(folder, networks)
    sys.stdout.write(f"{args.out}\n")
    return 0
