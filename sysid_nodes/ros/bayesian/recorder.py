# SPDX-License-Identifier: Apache-2.0
"""Records every topic of the four-bar leg's demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.bayesian.recorder BAG

Beside what `recording.py` says:

    {"posterior": {...}}         every ParameterPosterior message, its arrays as lists
"""

from __future__ import annotations

import sys

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import JointFriction, ParameterPosterior
from sensor_msgs.msg import BatteryState, JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.logs.storage import absolute
from sysid_nodes.messages.bayesian.posterior import FRICTION_TOPIC, TOPIC
from sysid_nodes.messages.bayesian.posterior_markers import MARKERS
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.fourbar_leg import LOOP
from sysid_nodes.robots.loops import parse_loop
from sysid_nodes.ros import qos
from sysid_nodes.ros.recording import DIAGNOSTICS, Recorded, StreamRecorder, record
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig

_STREAM = qos.stream("reliable", 5000)

STREAMS = (
    Recorded("/joint_states", JointState, _STREAM),
    Recorded(absolute(BayesianSessionConfig().power), BatteryState, _STREAM),
)
"""Topics of the robot."""

TOPICS = (
    *STREAMS,
    Recorded(TOPIC, ParameterPosterior, qos.LATCHED, "posterior"),
    Recorded(FRICTION_TOPIC, JointFriction, qos.LATCHED),
    Recorded(MARKERS, MarkerArray, qos.LATCHED),
    Recorded(DIAGNOSTICS, DiagnosticArray, _STREAM),
)
"""All that robot and identifier say."""


if __name__ == "__main__":
    leg = load_robot("fourbar_leg")
    sys.exit(record(sys.argv[1], lambda bag: StreamRecorder(bag, TOPICS, STREAMS, leg, (parse_loop(LOOP),))))
