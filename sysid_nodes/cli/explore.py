# SPDX-License-Identifier: Apache-2.0
"""Plans the most informative next motion, given the result of an identification.

For a legged robot it reads the result.json of an identification by rollouts and writes into the folder given by --out
  plan.json      the plan: control points, gaits, and the digest of the estimate that it was made for
  commands.csv   vx, vy, wz, roll, pitch, height and gait, 50 rows a second
  plan.html      commands, path and expected standard deviations, beside those of random plans if there are any
Each segment is first simulated on robots drawn from the estimate, with a stop at its end. None may fall, exceed its
limits of position, speed and torque, or leave the area. The robot's controller must accept such commands, as that of
the simulated Go2 does.

For an arm it reads the result.json of the interval identifier and runs the certified planner: the motion is proven safe
for all bodies within the intervals, with the parameter file of the arm's certified motion (--certified). It writes the
same files as 'sysid excite --certified'; the folder must not exist, and --set takes any key of that file.

examples:
  sysid explore results/walk/result.json --duration 40 --out results/plan
  sysid explore results/walk/result.json --set criterion=D --set vetting.area=2 --out results/plan
  sysid explore results/walk/result.json --set search.random=20 --set vetting.draws=30 --out results/plan
  sysid explore results/arm/result.json --certified my_arm.yaml --middle=0,0.5,0,1,0,1,0 --out motion

exit status 3: every plan tried fails on robots drawn from the estimate, or no motion of the arm is certified; nothing
is written
"""

from __future__ import annotations

import argparse
from pathlib import Path

from sysid_nodes.cli.interval.entry import INTERVAL
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.reports.files import read_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "result",
        type=Path,
        metavar="RESULT",
        help="result.json of an identification by rollouts, or of an arm's bounds",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the plan")
    parser.add_argument("--duration", type=float, metavar="S", help="of the plan [s]; default: 40")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        dest="settings",
        metavar="KEY=VALUE",
        help="an option of docs/sampling/parameters.md, part 'Planning'",
    )
    parser.add_argument(
        "--certified", type=Path, metavar="FILE", help="parameter file of an arm's certified motion: plan by it"
    )
    parser.add_argument(
        "--middle", metavar="Q,Q,...", help="posture at which an arm's motion begins [rad]; default: middle of limits"
    )


def run(args: argparse.Namespace) -> int:
    """By the planner of the robot whose result it is."""
    document = read_document(args.result)
    if document["pipeline"] == INTERVAL.name:
        from sysid_nodes.cli.certified.explore import explore_arm  # each is loaded for its own robots alone

        return explore_arm(args, document)
    if args.certified is not None or args.middle is not None:
        raise ConfigError("--certified and --middle are for the result of an arm")
    from sysid_nodes.cli.sampling.explore import explore_walk

    return explore_walk(args, document)
