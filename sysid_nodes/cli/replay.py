# SPDX-License-Identifier: Apache-2.0
"""Identifies from a recording, with the same code and the same numbers as the live node.

The configuration decides what is identified
  payload of an arm      by default
  actuators              with --commands or a section 'actuators', from commands and encoders
  legged robot's motion  go2, g1 or a section 'prime', from joint states, IMU and motion capture
  base of a legged robot a section 'sampling', from commands, joint states, IMU and motion capture
  links as a posterior   a section 'bayesian', from joint states and power

Reads a rosbag2 recording (MCAP or sqlite3) and writes into the folder given by --out
  result.json   the result and its history, see docs/interval/result.md
  result.mcap   what the live node would have published, and the robot in motion, for RViz, Foxglove and PlotJuggler
                (actuators and posteriors: with --online)
  report.html   a page for the browser
  scene.json    the 3D scene in that page
  series.npz    the curves in that page

examples:
  sysid replay bags/loaded --config config/kinova_gen3.yaml --out results/loaded
  sysid replay log.mcap --urdf my_arm.urdf --set noise.torque_relative=0.05 --out results/mine
  sysid replay bags/loaded --calibration calibration.json --method sensitivity --out results/compare
  sysid replay bags/chirp --config bags/chirp.yaml --out results/chirp
  sysid replay bags/walk --config config/go2.yaml --mode batch --out results/walk

exit status 3: the data contradict the stated assumptions; the files say so and claim no bounds
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_nodes.cli import configuration
from sysid_nodes.cli.system import Entry
from sysid_nodes.cli.systems import SYSTEMS
from sysid_nodes.exceptions import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 folder, or a single .mcap or .db3 file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")
    add_options(parser)


def add_options(parser: argparse.ArgumentParser) -> None:
    """All arguments but recording and folder."""
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")
    parser.add_argument(
        "--online",
        action="store_true",
        help="actuators, constants as a posterior: as the live node does, window by window, instead of the whole log "
        "at once; writes result.mcap too",
    )
    configuration.add_arguments(parser)
    for entry in SYSTEMS:
        entry.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """By the first system that wants it."""
    chosen = next(entry for entry in SYSTEMS if entry.wanted is not None and entry.wanted(args))
    if args.online and not chosen.online:
        subjects = ", or ".join(entry.subject for entry in SYSTEMS if entry.online)
        raise ConfigError(f"--online is for {subjects}, which this configuration is not of")
    for entry in SYSTEMS:
        given = [name for name in _own_arguments(entry) if getattr(args, name) is not None]
        if given and entry is not chosen:
            option = given[0].replace("_", "-")
            raise ConfigError(f"--{option} is for {entry.subject}, which this configuration is not of")
    replay = chosen.load().replay
    assert replay is not None
    return replay(args)


def _own_arguments(entry: Entry) -> list[str]:
    """Names of the arguments that only this system has."""
    parser = argparse.ArgumentParser(add_help=False)
    entry.add_arguments(parser)
    return list(vars(parser.parse_args([])))
