# SPDX-License-Identifier: Apache-2.0
"""A simulated robot is given a load that nobody has told it about, weighs it in safe motion, and carries it to a goal.

A MuJoCo Kinova Gen3 holds a dumbbell among obstacles, in a process of its own. Over DDS, on a ROS domain of their own
on this machine only, certified_planner plans motion that excites, and proves every trajectory safe for all loads that
are possible by then; robust_controller executes nothing else; interval_identifier narrows the ten intervals of the load
down. After 7.5 s the arm goes back to where it began and carries the load over the obstacle to a goal, where its errors
are proven to be about half of what the bounds of the beginning allow. The robot's time waits for the controller,
however slow the machine is. Writes into the folder given by --out
  bag/          recording of all topics
  config.yaml   parameters of all nodes, also for 'sysid replay'
  result.json   the result with its history, plans, margins and the truth
  report.html   everything for people, in one page
  series.npz    torques in that page

A Unitree Go2 (or G1) with a box on its torso stands, sways, trots and hops (or dances). Joint states, IMU and motion
capture come from its own process; prime_estimator finds motion, contact forces and the torso's inertia from them, live,
without a contact sensor. The recording is then replayed. Beside the files above there are
  truth/        what was hidden
  result.mcap   the replay's estimates and the robot in motion, for RViz and Foxglove

A leg of a Go2 on a stand hides what its drives are: armature, delay, friction. Commands and encoders come from its own
process; actuator_identifier finds the drives from them alone, live. Then one drive changes, and it has to say which.

A loaded Go2 moves for eight seconds as anyone would have it; spi_identifier finds its base and motors from set-points,
encoders, inertial sensor and motion capture. exploration_planner then plans eight seconds that tell the most about what
is left, and vets them on robots drawn from the estimate; the robot follows, and the estimate narrows.

A leg whose knee is driven through a four-bar linkage hides its links, friction and losses. bayesian_identifier narrows
them down from motor encoders, torques and a power meter, live: what is known, how well, and what is not.

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

exit status: 1 a proven bound or margin did not hold, too many intervals missed the truth, an estimate that calls itself
good is far from it, an alarm was missing or false, or a replay of the recording says something else; 3 the data
contradicted the stated assumptions; 4 the robot was stopped, did not reach its goal or has fallen; 5 the machine is too
slow, and the line says how busy it was
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
