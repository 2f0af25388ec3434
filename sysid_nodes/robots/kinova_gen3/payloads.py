# SPDX-License-Identifier: Apache-2.0
"""The room that a dumbbell takes in the Gen3's hand.

Of the authors' dumbbells only the weights and the inertia of the six-pound one are published. A uniform bar with its
mass (2.7216 kg) and moments (0.0015455 along, 0.012197 kg m2 across) is 0.2245 m long; a dumbbell has its mass at the
ends and is shorter. A hexagonal head that gives the moment along the bar has its corners 0.037 m from the axis. We
take 0.25 m and 0.05 m for eight pounds and the cube root of the weight in proportion: 0.2271 m and 0.0454 m for six.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots.kinova_gen3.constants import END_EFFECTOR_XYZ, JOINTS
from sysid_nodes.robots.robot import Primitive

DUMBBELLS = (4.0, 5.0, 6.0, 7.0, 8.0)
"""Weights of the paper's dumbbells [lb]; the heaviest one's room holds the others'."""

GRASP_OFFSET = 0.12
"""Centre of a dumbbell in front of the mounting face [m]: RAPTOR, gen3_2f85_fixed_object.urdf."""

_LARGEST = 8.0
_HALF_LENGTH, _HALF_WIDTH = 0.125, 0.05
_ALONG_Y = np.array(((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), (0.0, -1.0, 0.0)))  # the shape's z axis is the hand's y axis


@dataclass(frozen=True)
class PayloadVolumeConfig:
    """Room kept free for what the hand holds."""

    shape: str = option(
        "box",
        "shape of the room; a capsule rounds the box's edges off and is longer",
        choices=("none", "box", "capsule"),
    )
    dumbbell: float = option(8.0, "heaviest dumbbell that the room must hold", unit="lb", minimum=0.5, maximum=50.0)
    grasp_error: float = option(
        0.02,
        "farthest that the dumbbell's centre may be from where it is meant, along each axis",
        unit="m",
        minimum=0.0,
    )


def payload_volume(config: PayloadVolumeConfig) -> tuple[Primitive, ...]:
    """The volume that a configuration asks for, on the last joint; empty for an empty hand."""
    if config.shape == "none":
        return ()
    return (dumbbell_volume(config.dumbbell, shape=config.shape, grasp_error=config.grasp_error),)


def dumbbell_volume(pounds: float, *, shape: str, grasp_error: float) -> Primitive:
    """A body that holds a hexagonal dumbbell, gripped at its middle, in the frame of joint 7.

    The bar lies across the fingers, along the y axes of hand and joint (yaw of pi/2 of the dumbbell's own x axis), and
    may be rolled about itself. It is taken to be straight in the fingers: for a bar that is turned by an angle, add
    half its length times that angle to the grasp error.

    Args:
        pounds: weight [lb].
        shape: ``box`` or ``capsule``.
        grasp_error: largest shift of the centre along each axis [m].

    Raises:
        ConfigError: the weight is not positive, the error is negative or the shape is unknown.
    """
    if not 0.0 < pounds < np.inf:
        raise ConfigError(f"a dumbbell needs a positive weight, got {pounds:g} lb")
    if not 0.0 <= grasp_error < np.inf:
        raise ConfigError(f"a grasp error must not be negative, got {grasp_error:g} m")
    scale = float(np.cbrt(pounds / _LARGEST))
    half_length, half_width = scale * _HALF_LENGTH + grasp_error, scale * _HALF_WIDTH + grasp_error
    position = np.array(END_EFFECTOR_XYZ) - [0.0, 0.0, GRASP_OFFSET]
    if shape == "box":
        size = np.array([half_width, half_length, half_width])
        return Primitive(JOINTS[-1], "box", position, np.eye(3), size, load=True)
    if shape == "capsule":
        # A radius a tenth larger than the bar's leaves the caps to hold its flat ends: at the end plane of the bar the
        # cap is as wide as the bar where it stands out by sqrt(1.1^2 - 1) radii.
        half_bar, bar, shift = scale * _HALF_LENGTH, scale * _HALF_WIDTH, np.sqrt(3.0) * grasp_error
        radius = 1.1 * bar
        half_straight = half_bar - np.sqrt(radius**2 - bar**2)
        return Primitive(
            JOINTS[-1], "capsule", position, _ALONG_Y, np.array([radius + shift, half_straight]), load=True
        )
    raise ConfigError(f"a dumbbell's room is a box or a capsule, got '{shape}'")
