# SPDX-License-Identifier: Apache-2.0
"""The Gen3 with a dumbbell's room in its gripper among the authors' obstacles, at their start configuration."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene, load_scene
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.robots.robot import Primitive, Robot
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.search.config import PlannerConfig
from sysid_nodes.systems.certified.search.planner import Planner

START = np.array([-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415])
TABLE_I = PriorConfig().bounds
SCENES = Path(__file__).resolve().parents[2] / "config" / "scenes"


@cache
def gen3() -> Robot:
    return load_robot("kinova_gen3", variant="gripper")


@cache
def shapes() -> tuple[Primitive, ...]:
    return (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))


@cache
def obstacles() -> Scene:
    return load_scene(SCENES / "kinova_obstacles.yaml")


def tight() -> Bounds:
    """A tenth of Table I about the gripper with six pounds."""
    middle = gen3().inertial_parameters()[6] + [2.7, 0.0, 0.0, -0.49, 0.1, 0.0, 0.1, 0.0, 0.0, 0.012]
    return Bounds(middle - 0.1 * TABLE_I.half_width, middle + 0.1 * TABLE_I.half_width)


class Clock:
    """Time that passes by a fixed amount whenever it is looked at."""

    def __init__(self, tick: float = 0.0) -> None:
        self.now, self.tick = 0.0, tick

    def __call__(self) -> float:
        self.now += self.tick
        return self.now


def planner(config: PlannerConfig | None = None, *, clock: Clock | None = None, seed: int = 0) -> Planner:
    return Planner(
        gen3(),
        shapes(),
        KnownRobotConfig(),
        RobustControlConfig(),
        CertifierConfig(),
        config or PlannerConfig(),
        clock or Clock(),
        seed=seed,
    )
