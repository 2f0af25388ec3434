# SPDX-License-Identifier: Apache-2.0
"""Records every topic of the actuators' demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.actuators.recorder BAG JOINTS

JOINTS: how the names of the leg's joints begin.

Beside what `recording.py` says:

    {"models": {...}}            every ActuatorModels message, its arrays as lists
"""

from __future__ import annotations

import sys

from diagnostic_msgs.msg import DiagnosticArray
from online_sysid.msg import ActuatorModels
from sensor_msgs.msg import JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.logs.storage import absolute
from sysid_nodes.messages.actuators.drive_markers import MARKERS
from sysid_nodes.messages.actuators.models import TOPIC
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.recording import DIAGNOSTICS, Recorded, StreamRecorder, record
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig

_STREAM = qos.stream("reliable", 5000)

STREAMS = (
    Recorded("/joint_states", JointState, _STREAM),
    Recorded(absolute(ActuatorSessionConfig().commands), JointState, _STREAM),
)
"""Topics of the robot and of what commands it."""

TOPICS = (
    *STREAMS,
    Recorded(TOPIC, ActuatorModels, qos.LATCHED, "models"),
    Recorded(MARKERS, MarkerArray, qos.LATCHED),
    Recorded(DIAGNOSTICS, DiagnosticArray, _STREAM),
)
"""All that robot and identifier say."""


if __name__ == "__main__":
    leg = limb(load_robot("go2"), sys.argv[2])
    sys.exit(record(sys.argv[1], lambda bag: StreamRecorder(bag, TOPICS, STREAMS, leg)))
