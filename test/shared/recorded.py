# SPDX-License-Identifier: Apache-2.0
"""Recordings made of samples, for tests of commands that read logs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from shared.payload_problem import Problem, gen3_problem

from sysid_nodes.data import JointSamples
from sysid_nodes.logs import BagWriter, stamp_fields
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.models.known_robot import KnownRobotConfig

PAPER = ["--config", str(Path(__file__).resolve().parents[2] / "config/kinova_gen3_certified.yaml")]
"""Arguments of a command: the built-in defaults, which the simulated Gen3 of these recordings keeps."""

Change = Callable[[int, dict[str, Any]], dict[str, Any]]


def problem(seed: int = 5) -> Problem:
    """A Gen3 with a dumbbell and everything else inside the paper's uncertainty."""
    return gen3_problem(np.random.default_rng(seed), KnownRobotConfig())


def record(
    path: Path,
    samples: JointSamples,
    change: Change | None = None,
    markers: Sequence[str] = (),
    topic: str = "/joint_states",
) -> Path:
    """Writes samples as joint states on a topic; `change` may spoil a message, given its index.

    On each topic of `markers` there is one array, with a single marker whose `ns` is the topic's name.
    """
    with BagWriter(path) as bag:
        for name in markers:
            bag.add_topic(name, ARRAY_TYPE, latched=True)
            bag.write(name, float(samples.t[0]), {"markers": [{"ns": name}]})
        bag.add_topic(topic, "sensor_msgs/msg/JointState")
        for k, t in enumerate(samples.t):
            fields: dict[str, Any] = {
                "header": {"stamp": stamp_fields(float(t))},
                "name": list(samples.names),
                "position": samples.q[k].tolist(),
                "velocity": samples.qd[k].tolist(),
                "effort": samples.tau[k].tolist(),
            }
            bag.write(topic, float(t), change(k, fields) if change else fields)
    return path
