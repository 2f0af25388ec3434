"""Identifies the payload, or a legged robot's motion, in a recorded log: the same steps and numbers as the live node.

Reads a rosbag2 recording (MCAP or sqlite3) and writes into the folder given by --out
  result.json   the result and its history, see docs/interval/result.md
  result.mcap   the ParameterBounds messages that the live node would have published
  report.html   everything for people, in one page
  series.npz    the torques in that page
For a legged robot (go2, g1, or a configuration of prime_estimator) the topics are joint states, IMU and motion capture,
and result.mcap has contact forces, markers, odometry, smoothed joint states and the torso's inertia.
With --commands, or a configuration that has actuators, the actuators are identified from commands and encoders; then
there is no result.mcap, and series.npz has the motion.

examples:
  sysid replay bags/loaded --config config/kinova_gen3.yaml --out results/loaded
  sysid replay log.mcap --urdf my_arm.urdf --set noise.torque_relative=0.05 --out results/mine
  sysid replay bags/loaded --calibration calibration.json --method sensitivity --out results/compare
  sysid replay bags/chirp --config bags/chirp.yaml --out results/chirp
  sysid replay bags/walk --config config/unitree_go2.yaml --mode batch --out results/walk

exit status 3: the data contradict the stated assumptions; the files say so and claim no bounds
"""

from __future__ import annotations

import argparse
from pathlib import Path

import sysid_nodes.cli.actuators.replay as actuators
import sysid_nodes.cli.interval.replay as interval
import sysid_nodes.cli.prime.replay as prime
from sysid_nodes.cli import configuration
from sysid_nodes.cli.actuators.configuration import wanted as actuators_wanted
from sysid_nodes.cli.prime.configuration import wanted
from sysid_nodes.exceptions import ConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 folder, or a single .mcap or .db3 file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder for the results")
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")
    configuration.add_arguments(parser)
    prime.add_arguments(parser)
    actuators.add_arguments(parser)


def run(args: argparse.Namespace) -> int:
    if actuators_wanted(args):
        return actuators.run(args)
    if wanted(args):
        return prime.run(args)
    if given := next((name for name in ("mode", "imu_topic", "pose_topic", "truth") if getattr(args, name)), None):
        raise ConfigError(f"--{given.replace('_', '-')} is for legged robots, which this configuration is not of")
    return interval.run(args)
