# SPDX-License-Identifier: Apache-2.0
"""Looks a recording over before anything is identified: what is in it, and how its signals read.

Signs, units and sides of the signals joint by joint with the evidence, rates and gaps, what the wrist weighs, delay
between position and torque, noise, what this motion cannot tell, and the lines of the parameter file that would mend
what is wrong. Findings are against the configuration; the same ones are what the live node reports on /diagnostics.
Of a legged robot (go2, g1, or a configuration of prime_estimator): every stream with its rate, gaps and residuals,
velocities against positions joint by joint, what is off of drives, encoders, feet and ground, and what is not observed.

examples:
  sysid check bags/loaded --config config/kinova_gen3.yaml
  sysid check bags/loaded --urdf my_arm.urdf
  sysid check bags/walk --config config/go2.yaml

exit status 3: something is to be mended, in the configuration or in the recording
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_nodes.cli import configuration
from sysid_nodes.cli.prime.entry import is_wanted


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 folder, or a single .mcap or .db3 file")
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")
    configuration.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """As what the configuration is of."""
    if is_wanted(args):
        from sysid_nodes.cli.prime import check as legged

        return legged.run(args)
    from sysid_nodes.cli.interval import check as arms

    return arms.run(args)
