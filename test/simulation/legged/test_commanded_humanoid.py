# SPDX-License-Identifier: Apache-2.0
"""A simulated G1 that obeys commands, with a load that its controller is not told of."""

from pathlib import Path

import numpy as np

from sysid_nodes.data.config import from_flat, load_yaml
from sysid_nodes.rollouts.state import rotation_of
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig


def test_a_simulated_humanoid_leans_and_walks_in_its_first_motion():
    drive = load_yaml(SamplingSessionConfig, Path("config/g1_sampling.yaml")).sampling.drive
    options = {
        "robot": "g1",
        "motion": "commanded",
        "load.mass": 3.0,
        "load.position": (0.05, 0.0, 0.15),
        "drive.enabled": True,
        "drive.stiffness": drive.stiffness,
        "drive.damping": drive.damping,
    }
    sim = LeggedRobotSim(from_flat(LeggedSimulationConfig, options), np.random.default_rng(0))
    lean = []
    for _ in range(48):
        for _ in sim.run(0.1):
            pass
        lean.append(rotation_of(sim.last.q[3:7])[2, :2])
    assert not sim.fallen
    # It is told more than it obeys, 0.12 rad: more would tip it over its toes.
    assert 0.08 < np.abs(lean).max() < 0.2
    assert sim.last.q[0] > 0.08, "half a second's trot at up to 0.4 m/s"
