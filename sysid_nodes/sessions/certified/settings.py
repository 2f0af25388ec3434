# SPDX-License-Identifier: Apache-2.0
"""Settings needed to read a recorded run of the certified loop: robot, shapes, uncertainty, law."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.config import from_flat, option, own_parameters, section
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import TARGETS, ModelBox, model_box
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots import Primitive, Robot, load_robot
from sysid_nodes.robots.covering import covering_shapes
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig

ESTIMATES = "Bounds that are only estimates count here, so no certificate proves anything about the arm."
"""To be said wherever `estimates` is on."""


@dataclass(frozen=True)
class CertifiedSettings:
    """Of the keys that all nodes of certified motion share, those that say what was proven of what."""

    robot: str = option("kinova_gen3", "robot by name")
    variant: str = option("", "variant of the robot; empty takes its default")
    body: str = option("", "link whose bounds arrive; empty takes the robot's last")
    target: str = option("body", "what the bounds are of, as the identifier's target", choices=TARGETS)
    estimates: bool = option(
        False,
        "move on bounds that are ESTIMATED as well, of the paper's Algorithm 1 (the identifier's method sensitivity, "
        "with sensitivity.nested_after) or of a calibration by posterior; and on those that are DOUBTFUL; certificates "
        "then prove nothing about the arm, and their config_id says so",
    )
    payload_volume: PayloadVolumeConfig = section(PayloadVolumeConfig, "room that the payload takes")
    known_robot: KnownRobotConfig = section(KnownRobotConfig, "uncertainty of the known robot")
    prior: PriorConfig = section(PriorConfig, "bounds of the body until others arrive")
    control: RobustControlConfig = section(RobustControlConfig, "the law")
    certifier: CertifierConfig = section(CertifierConfig, "the proof")

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> CertifiedSettings:
        """From dotted names and values of a parameter file for the whole loop.

        Raises:
            ConfigError: a value is wrong.
        """
        names = {"scene", "planner", "controller"}
        mine = {name: value for name, value in values.items() if name.split(".")[0] not in names}
        return from_flat(cls, own_parameters(cls, mine))


class CertifiedModel:
    """Settings put together.

    Attributes:
        robot: nominal.
        shapes: that cover robot and load.
        load: the load's own; None where there is none.
        estimates: whether bounds that are not proven count, and so nothing is proven about the arm.
        armature: (n,) least armature of the models [kg m2].
        encoder_error: (n,) largest error of a measured position [rad].

    Raises:
        InputError: the settings do not fit together.
    """

    def __init__(self, settings: CertifiedSettings) -> None:
        self._settings = settings
        self.robot: Robot = load_robot(settings.robot, variant=settings.variant)
        self.shapes: tuple[Primitive, ...] = covering_shapes(self.robot, settings.payload_volume)
        own = payload_volume(settings.payload_volume) if settings.robot == "kinova_gen3" else ()
        self.load = own[0] if own else None
        self.prior: Bounds = settings.prior.bounds
        self.estimates = settings.estimates
        self.armature: Array = self.box(self.prior).armature_lower
        self.encoder_error: Array = gains(self.robot, settings.control).position_error

    def box(self, bounds: Bounds) -> ModelBox:
        """Models that bounds on the body leave.

        Raises:
            ConfigError: there are none.
        """
        settings = self._settings
        body = self.robot.body_index(settings.body)
        return model_box(self.robot, settings.known_robot, bounds, body, settings.target)

    def judge_rest(self, q: Array, bounds: Bounds, scene: Scene) -> Certificate:
        """Whether standing still at a posture (n,) can be certified: every motion that ends there includes it.

        Raises:
            ConfigError: no model fits the bounds.
        """
        settings, box, still = self._settings, self.box(bounds), np.zeros(self.robot.n)
        certifier = Certifier(self.robot, self.shapes, settings.control, settings.certifier)
        return certifier.certify(Bezier(q, still, still, still, 3.0), box, certifier.at_rest(box), scene)
