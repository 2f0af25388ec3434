# SPDX-License-Identifier: Apache-2.0
"""Writes identified parameters into a URDF or MJCF, or as configuration for other programs.

With --into, only the identified values change; every other byte of the file stays. The result of a body: with target
payload it is added to the link's inertia in the file, with target body it replaces that. The result of actuators:
damping, friction and, in an MJCF, armature, gains and delay; parameters that were not identified keep their value, and
a comment says why. With --format, the result of actuators as
  isaaclab   Python source of an actuator configuration for Isaac Lab
  interval   a parameter file's lines for the interval identifier: friction and armature of the known robot
  prime      the same for PRIME
  sampling   the same for the identification by rollouts, and its drives' gains and delay
  npz        a NumPy archive of all parameters, and of networks' weights if the method made some
  onnx       a folder with JOINT.onnx of each network (optional library onnx), and networks.npz

examples:
  sysid export results/loaded/result.json --into robot.urdf --out robot_loaded.urdf
  sysid export results/loaded/result.json --into scene.xml --link bracelet --out scene_loaded.xml
  sysid export results/chirp --into go2.xml --out go2_identified.xml
  sysid export results/chirp --format isaaclab --out go2_actuators.py
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_nodes.cli.systems import SYSTEMS
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.files import read_document

FORMATS = ("isaaclab", "interval", "prime", "sampling", "npz", "onnx")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", type=Path, metavar="result.json", help="a result, or the folder that holds it")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--into", type=Path, metavar="FILE", help="URDF or MJCF of the robot")
    target.add_argument("--format", choices=FORMATS, help="of actuators: a file for another program")
    parser.add_argument("--out", type=Path, required=True, metavar="FILE", help="file, or folder for onnx, to write")
    parser.add_argument(
        "--link", metavar="NAME", help="link or body that gets the inertia; default: the identified one"
    )
    parser.add_argument(
        "--step", type=float, metavar="S", help="format isaaclab: step of the physics, which delays are counted in [s]"
    )


def run(args: argparse.Namespace) -> int:
    """By the system whose result it is."""
    if args.step is not None and (args.format != "isaaclab" or not args.step > 0.0):
        raise ConfigError("--step is the positive step of --format isaaclab")
    document = read_document(args.result)
    entry = next((entry for entry in SYSTEMS if entry.name == document["pipeline"]), None)
    if entry is not None and (export := entry.load().export) is not None:
        return export(args, document)
    line = f"results of the pipeline '{document['pipeline']}' cannot be exported yet"
    raise InputError(line, source=str(args.result))
