# SPDX-License-Identifier: Apache-2.0
"""Records every topic of the exploration's demo into a bag, and tells a parent process how things stand.

    python -m sysid_nodes.ros.sampling.recorder BAG

Beside what `recording.py` says, every message's arrays as lists:

    {"posterior": {...}}         every SamplingPosterior
    {"plan": {...}}              every ExplorationPlan
"""

from __future__ import annotations

import sys

from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import PoseStamped
from online_sysid.msg import ActuatorModels, ExplorationPlan, InertialEstimate, SamplingPosterior
from sensor_msgs.msg import Imu, JointState
from visualization_msgs.msg import MarkerArray

from sysid_nodes.logs.storage import absolute
from sysid_nodes.messages.sampling.estimate_markers import MARKERS
from sysid_nodes.messages.sampling.estimates import INERTIA, MODELS, POSTERIOR
from sysid_nodes.messages.sampling.plan import MARKERS as PLAN_MARKERS
from sysid_nodes.messages.sampling.plan import TOPIC as PLAN
from sysid_nodes.robots import load_robot
from sysid_nodes.ros import qos
from sysid_nodes.ros.recording import DIAGNOSTICS, Recorded, StreamRecorder, record
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig

_STREAM = qos.stream("reliable", 5000)
_CONFIG = SamplingSessionConfig()

STREAMS = (
    Recorded("/joint_states", JointState, _STREAM),
    Recorded(absolute(_CONFIG.commands), JointState, _STREAM),
    Recorded(absolute(_CONFIG.imu), Imu, _STREAM),
    Recorded(absolute(_CONFIG.pose), PoseStamped, _STREAM),
)
"""Topics of the robot."""

TOPICS = (
    *STREAMS,
    Recorded(INERTIA, InertialEstimate, qos.LATCHED),
    Recorded(MODELS, ActuatorModels, qos.LATCHED),
    Recorded(POSTERIOR, SamplingPosterior, qos.LATCHED, "posterior"),
    Recorded(PLAN, ExplorationPlan, qos.LATCHED, "plan"),
    Recorded(MARKERS, MarkerArray, qos.LATCHED),
    Recorded(PLAN_MARKERS, MarkerArray, qos.LATCHED),
    Recorded(DIAGNOSTICS, DiagnosticArray, qos.stream("reliable", 5000)),
)
"""All that robot, identifier and planner say."""


if __name__ == "__main__":
    sys.exit(record(sys.argv[1], lambda bag: StreamRecorder(bag, TOPICS, STREAMS, load_robot("go2"))))
