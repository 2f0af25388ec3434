# SPDX-License-Identifier: Apache-2.0
"""The structured actuator: names, units and bounds of its parameters, and the levels of its dry friction.

The law itself is `kernel.joint_law`: a PD drive on a delayed command with backlash, a dead zone, limits of torque and
speed, armature, viscous, dry and Stribeck friction. Its parameters here have names; dry friction's amplitude is a sum
over levels,

    coulomb + load_friction |tau_load| + position_friction (q - q_m)       [N m],

tau_load the torque that the rigid body takes from the joint and q_m the middle of the motion.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_vector import did_you_mean
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.kernel.joint_law import LAW, LawValue, joint_law

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ActuatorParameter:
    """A parameter of the law.

    Attributes:
        unit: its unit, of a joint that turns.
        start: where a search begins.
        neutral: the value at which it does nothing.
        lower, upper: between which it makes sense.
    """

    name: str
    unit: str
    start: float
    neutral: float
    lower: float
    upper: float
    meaning: str

    @property
    def naturally_bounded(self) -> bool:
        """Whether nature, not our guess, forbids values beyond the lower bound: there is no negative friction."""
        return self.lower == self.neutral


_INFINITE = float("inf")

PARAMETERS = (
    ActuatorParameter("armature", "kg m²", 0.01, 0.0, 0.0, 50.0, "inertia of motor and gear about the joint"),
    ActuatorParameter("delay", "s", 0.004, 0.0, 0.0, 0.1, "from a command to its torque"),
    ActuatorParameter("gain", "1", 1.0, 1.0, 2e-3, 500.0, "torque of the drive over that of its stated PD law"),
    ActuatorParameter("encoder_bias", "rad", 0.0, 0.0, -0.5, 0.5, "position the drive sees, less the one it reports"),
    ActuatorParameter("torque_offset", "N m", 0.0, 0.0, -1e3, 1e3, "torque that is always there"),
    ActuatorParameter("backlash", "rad", 0.0, 0.0, 0.0, 0.5, "play between drive and joint"),
    ActuatorParameter("dead_zone", "N m", 0.0, 0.0, 0.0, 1e3, "torque wanted of the drive below which it gives none"),
    ActuatorParameter("torque_limit", "N m", 30.0, _INFINITE, 0.01, 1e4, "largest torque of the drive"),
    ActuatorParameter("no_load_speed", "rad/s", 30.0, _INFINITE, 0.1, 1e3, "speed at which no torque is left"),
    ActuatorParameter("viscous", "N m s/rad", 0.1, 0.0, 0.0, 200.0, "friction proportional to speed"),
    ActuatorParameter("stribeck", "N m", 0.0, 0.0, 0.0, 1e3, "friction at rest beyond Coulomb's"),
    ActuatorParameter("stribeck_speed", "rad/s", 0.1, 0.1, 1e-3, 10.0, "speed at which that has fallen to 1/e"),
    ActuatorParameter("coulomb", "N m", 0.1, 0.0, 0.0, 1e3, "friction opposite to the motion, whatever its speed"),
    ActuatorParameter("load_friction", "1", 0.0, 0.0, 0.0, 2.0, "dry friction per torque that the gear passes on"),
    ActuatorParameter("position_friction", "N m/rad", 0.0, 0.0, -1e3, 1e3, "growth of dry friction with position"),
)
"""In the order of a law's vector: `kernel.joint_law.LAW`, then the levels of dry friction."""

LEVELS = tuple(p.name for p in PARAMETERS[len(LAW) :])
INDEX = {p.name: k for k, p in enumerate(PARAMETERS)}

_ROUNDING = 1e-3  # torque below which |tau_load| is rounded off [N m]


def unknown_parameter(name: str) -> ConfigError:
    """The error about a name that is none of a law's parameters: one short line, with the nearest, or the first few."""
    few = f"; it has {', '.join(LAW[:4])} and others (docs/actuators/parameters.md, fitted)"
    return ConfigError(f"an actuator has no parameter '{name}'{did_you_mean(name, INDEX) or few}")


def law_vector(values: dict[str, float] | None = None) -> Array:
    """(15,) parameters in the law's order; what is not named is neutral.

    Raises:
        ConfigError: a name is unknown.
    """
    law = np.array([p.neutral for p in PARAMETERS])
    for name, value in (values or {}).items():
        if name not in INDEX:
            raise unknown_parameter(name)
        law[INDEX[name]] = value
    return law


def friction_levels(q: Array, load_torque: Array, middle: float) -> Array:
    """(N, 3) levels of dry friction for positions and rigid-body torques (N,); columns LEVELS."""
    pressed = np.sqrt(load_torque**2 + _ROUNDING**2)
    return np.stack([np.ones_like(q), pressed, q - middle], axis=1)


def actuator_torque(q: Array, w: Array, signals: Array, law: Array, *, smoothing: float, hard: bool) -> LawValue:
    """Torque of the actuator on the joint and its derivatives, see `kernel.joint_law.joint_law`."""
    return joint_law(q, w, signals, law, smoothing, hard)
