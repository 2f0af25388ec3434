# SPDX-License-Identifier: Apache-2.0
"""Generates an exciting motion for a robot's drives or links, to be sent as commands and recorded.

Writes into the folder given by --out
  trajectory.yaml  a trajectory_msgs/JointTrajectory
  trajectory.csv   a row a point: t, command_NAME
  trajectory.npz   t, command, velocity, acceleration, joint_names
  motion.svg       what it looks like
  certificates/    with --certified: what is proven of each part, for 'sysid verify'
The motion stays within the limits of position, velocity and acceleration. Collisions and torque limits are NOT checked:
suspend a legged robot, and clear the surroundings of an arm. With --certified, the parameter file of an arm's certified
motion, the motion starts at --middle and is proven to respect obstacles, joint and torque limits and self-collision for
all models that the file allows; --set then takes duration, rate and any key of that file.
Kinds of motion: chirp; fourier; optimal, which minimises the expected uncertainty of `parameters` over a chirp and
random motions; links, which does so for links, friction and rotors of an arm, within its torque limits.
Armature and delay need a few Hz, friction needs slow reversals.

examples:
  sysid excite --robot go2 --out chirp
  sysid excite --robot kinova_gen3 --set kind=optimal --set duration=30 --set last=2 --out gen3
  sysid excite --robot panda --middle=0,-0.3,0,-1.8,0,1.6,0.6 --set kind=links --set amplitude=0.6 --out panda
  sysid excite --certified config/kinova_gen3_certified.yaml --middle=0,0.5,0,1,0,1,0 --out gen3
  sysid excite --urdf my.urdf --middle=0,0.8,-1.6 --set kind=fourier --set amplitude=0.2 --out mine
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

from sysid_nodes.cli.certified_motion import DRIVES, CertifiedMotion, middle, refuse_existing, write_whole
from sysid_nodes.cli.configuration import parse_setting
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.actuators.excitation import ExcitationConfig, excite
from sysid_nodes.systems.actuators.link_excitation import excite_links
from sysid_nodes.systems.actuators.optimal_excitation import excite_best


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to make; must not exist")
    parser.add_argument("--robot", metavar="NAME", help="robot by name")
    parser.add_argument("--urdf", metavar="FILE", help="its URDF, for a robot that is not registered")
    parser.add_argument(
        "--certified", type=Path, metavar="FILE", help="parameter file of an arm's certified motion: plan it so"
    )
    parser.add_argument("--middle", metavar="Q,Q,...", help="posture to move about [rad]; default: middle of limits")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", dest="settings", action="append", default=[],
        help="kind (chirp, fourier, optimal, links), duration, rate, first, last, amplitude, share, rest, draws, seed, "
        "parameters, stiffness, damping",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Makes the motion and returns the exit status."""
    out: Path = args.out
    refuse_existing(out)
    certified = None
    if args.certified is not None:
        if args.robot or args.urdf:
            raise ConfigError("--certified names the robot: leave out --robot and --urdf")
        certified = CertifiedMotion(args.certified, args.settings, DRIVES)
        robot, kind = certified.robot, "certified"
        planned = certified.plan(middle(args.middle, robot))
        if isinstance(planned, str):
            raise ConfigError(planned)
        motion = planned
    else:
        if not (args.robot or args.urdf):
            raise ConfigError("give --robot or --urdf, or --certified")
        robot = load_robot(args.robot or "urdf", urdf=args.urdf or "")
        config = from_flat(
            ExcitationConfig,
            dict(parse_setting(text, ExcitationConfig) for text in args.settings),
            source="command line",
        )
        about, kind = middle(args.middle, robot), config.kind
        best = {"optimal": excite_best, "links": excite_links}.get(kind)
        motion = best(config, robot, about) if best else excite(config, robot.limits, about)
    write_whole(out, robot, motion, certified)
    worst = int(np.argmax(motion.condition))
    sys.stdout.write(
        f"{out}: {kind}, {motion.t[-1]:g} s; condition at most {motion.condition[worst]:.0f} "
        f"({robot.joint_names[worst]}), fastest {np.abs(motion.qd).max():.2g} rad/s\n"
    )
    if certified is not None:
        sys.stdout.write(certified.words())
    return 0
