# SPDX-License-Identifier: Apache-2.0
"""Checks a recording against the configuration before identification.

For an arm it reports, joint by joint, the signs and units of the signals with the evidence for them; rates and gaps;
the load at the wrist; the delay between position and torque; noise; what the motion does not excite; and the lines of
the parameter file that would correct what is wrong. The live node reports the same findings on /diagnostics.
For a legged robot (go2, g1, or a configuration of prime_estimator) it reports each stream with its rate, gaps and
residuals; velocities against positions; deviations of drives, encoders, feet and ground from their description; and
what is not observed.

examples:
  sysid check bags/loaded --config config/kinova_gen3.yaml
  sysid check bags/loaded --urdf my_arm.urdf
  sysid check bags/walk --config config/go2.yaml

exit status 3: the configuration or the recording has to be corrected
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
