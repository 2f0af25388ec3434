# SPDX-License-Identifier: Apache-2.0
"""PRIME: motion, contact forces and inertial parameters of legged robots from joints, IMU, torques and mocap."""

from sysid_nodes.systems.prime.arrival import Knowledge
from sysid_nodes.systems.prime.config import ContactConfig, InertiaConfig, PrimeConfig, ProcessConfig
from sysid_nodes.systems.prime.full_information import estimate_motion
from sysid_nodes.systems.prime.horizon_config import HorizonConfig
from sysid_nodes.systems.prime.model import Model, build_model
from sysid_nodes.systems.prime.moving_horizon import MovingHorizon

__all__ = [
    "ContactConfig",
    "HorizonConfig",
    "InertiaConfig",
    "Knowledge",
    "Model",
    "MovingHorizon",
    "PrimeConfig",
    "ProcessConfig",
    "build_model",
    "estimate_motion",
]
