# SPDX-License-Identifier: Apache-2.0
"""Runs a simulated robot with hidden parameters and the nodes that identify them, live; then replays the recording.

The robot runs in a process of its own. All processes talk over DDS, on a separate ROS domain of this machine.

kinova: a Kinova Gen3 holds a dumbbell of unknown mass among obstacles. interval_identifier narrows ten intervals
  around the load's inertial parameters; certified_planner plans exciting motion and proves each trajectory safe for
  all loads inside them; robust_controller executes only such trajectories. After 7.5 s the arm returns to its start and
  carries the load over the obstacle to a goal, where the proven tracking errors are about half of those at the
  beginning. Simulated time waits for the controller, however slow the machine is.
go2, g1: a Unitree Go2 (or G1) with a box on its torso stands, sways, trots and hops (or dances). prime_estimator
  estimates motion, contact forces and torso inertia from joint states, IMU and motion capture, without contact sensors.
actuators: a leg of a Go2 on a stand. actuator_identifier identifies armature, delay and friction of its drives from
  commands and encoders. Then one drive changes, and the node reports which one.
spi: a loaded Go2 walks for eight seconds; spi_identifier estimates base and motors from commands, encoders, IMU and
  motion capture. exploration_planner then plans the most informative eight seconds, and checks the plan on robots drawn
  from the estimate. The robot follows the plan, and the estimate narrows.
fourbar: a leg whose knee is driven through a four-bar linkage. bayesian_identifier estimates links, friction and losses
  from motor encoders, torques and a power meter, and says which of them the data do not determine.

Files in the folder given by --out
  bag/          recording of all topics
  config.yaml   parameters of all nodes, also for 'sysid replay'
  result.json   the result with its history, and the hidden truth
  report.html   a page for the browser
  series.npz    data of the figures in that page
  scene.yaml    kinova: the obstacles
  result.mcap   not kinova: the replay's estimates and the robot in motion, for RViz and Foxglove
  truth/        not kinova: the hidden truth

examples:
  sysid demo kinova
  sysid demo kinova --payload 2.5 --out results/demo
  sysid demo kinova --seed 4 --identify 3 --rviz
  sysid demo go2
  sysid demo g1 --payload 3 --out results/dance
  sysid demo actuators
  sysid demo actuators --change gain --out results/drives
  sysid demo spi
  sysid demo fourbar

exit status: 1 a proven bound or margin did not hold, too many intervals missed the truth, an estimate with status GOOD
is far from the truth, an alarm was missing or false, or the replay differs from the live result; 3 the data contradict
the stated assumptions; 4 the robot was stopped, did not reach its goal or fell; 5 the machine is too slow (the message
says how busy it was)
"""

from __future__ import annotations

import argparse
import importlib

from sysid_nodes.cli.demo.arguments import add_arguments, refuse_others_options
from sysid_nodes.cli.demo.ending import exit_status
from sysid_nodes.cli.demo.machine import Machine

__all__ = ["add_arguments", "run"]

_SYSTEMS = {
    "kinova": "certified",
    "go2": "prime",
    "g1": "prime",
    "actuators": "actuators",
    "spi": "sampling",
    "fourbar": "bayesian",
}
"""Introduction to the demo of each robot."""


def run(args: argparse.Namespace) -> int:
    """Runs the demo of the robot that was asked for and returns the exit status."""
    refuse_others_options(args)
    machine = Machine()
    demo = importlib.import_module(f"sysid_nodes.cli.{_SYSTEMS[args.robot]}.demo")
    return exit_status(lambda: demo.run(args, machine), machine)
