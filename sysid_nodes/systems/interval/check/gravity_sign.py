# SPDX-License-Identifier: Apache-2.0
"""Sign and unit of torques by gravity alone: all that a moment's data can tell, and enough to name a gross mistake."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.known_robot import nominal_parameters
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding, Mend
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

Array = npt.NDArray[np.float64]

_EXPLAINED = 0.7
"""Share of a torque's energy that gravity must explain before a factor between them is believed."""

_HEAVY = 0.25
_MOST = 200


def gravity_factors(robot: Robot, config: IntervalIdentifierConfig, samples: JointSamples) -> dict[str, float]:
    """Factor from the torque gravity needs to the reading, of joints that carry much and are explained by it.

    No sign is wrong that motion, friction and rotors as stated make right together with gravity, for the prior's least
    mass or its largest: to speed a Gen3's wrist up takes more than what it carries weighs.
    """
    body, prior = robot.body_index(config.body), config.prior.bounds
    own = robot.inertial_parameters()[body] if config.target == "payload" else np.zeros(10)
    step = -(-len(samples) // _MOST)
    acceleration = np.gradient(samples.qd, samples.t, axis=0)[::step]
    q, qd, read = samples.q[::step], samples.qd[::step], samples.tau[::step]
    rest, drives = np.zeros_like(q), nominal_parameters(robot, config.known_robot)[10 * robot.n : 13 * robot.n]
    coulomb, viscous, armature = drives.reshape(3, robot.n)
    needed = _rigid_torque(robot, body, own + prior.centre, q, rest, rest)
    drive = coulomb * np.sign(qd) + viscous * qd + armature * acceleration
    ends = [
        prior.centre * (mass / prior.centre[0]) for mass in (prior.lower[0], prior.upper[0]) if prior.centre[0] > 0.0
    ]
    moving = [_rigid_torque(robot, body, own + end, q, qd, acceleration) + drive for end in ends]
    size = np.sqrt(np.mean(needed**2, axis=0))
    found: dict[str, float] = {}
    for k, name in enumerate(samples.names):
        if size[k] < max(1.0, _HEAVY * size.max()) or not read[:, k].any():
            continue
        factor = float(needed[:, k] @ read[:, k] / (needed[:, k] @ needed[:, k]))
        left = float(np.sum((read[:, k] - factor * needed[:, k]) ** 2) / np.sum(read[:, k] ** 2))
        if 1.0 - left > _EXPLAINED and (factor > 0.0 or all(one[:, k] @ read[:, k] < 0.0 for one in moving)):
            found[name] = factor
    return found


def _rigid_torque(robot: Robot, body: int, theta: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """(N, n) torque of the links with a body theta (10,), taken for a point where it has a mass at all [N m]."""
    model = robot.model.copy()
    if theta[0] > 0.0:
        model.inertias[body + 1] = pinocchio.Inertia(theta[0], theta[1:4] / theta[0], np.zeros((3, 3)))
    data = model.createData()
    return np.array([pinocchio.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])


def gross_findings(robot: Robot, config: IntervalIdentifierConfig, samples: JointSamples) -> list[Finding]:
    """Signs and units that a moment of data gives away, by gravity alone."""
    factors, start = gravity_factors(robot, config, samples), float(samples.t[0])
    wrong = {name: factor for name, factor in factors.items() if factor < 0.0 or 500.0 < factor < 2000.0}
    lines = {
        name: "has the opposite sign of the torque gravity needs" + (
            ", and seems to be in N mm instead of N m" if factor < -500.0 else ""
        ) if factor < 0.0 else "seems to be in N mm instead of N m"
        for name, factor in wrong.items()
    }  # fmt: skip
    now = dict(zip(robot.joint_names, np.broadcast_to(np.array(config.signals.torque_sign), robot.n), strict=True))
    mends = {
        name: (Mend("signals.torque_sign", -float(now[name]), name),) * (factor < 0.0)
        + (Mend("signals.torque_unit", "N mm", name),) * (abs(factor) > 500.0)
        for name, factor in wrong.items()
    }
    if len(wrong) == len(factors) > 1 and len(set(lines.values())) == 1:
        line, together = next(iter(lines.values())), tuple(mend for each in mends.values() for mend in each)
        return [Finding("torque_sign", "all joints", start, f"effort of all joints {line}", together)]
    return [
        Finding("torque_sign", name, start, f"effort of '{name}' {line}", mends[name]) for name, line in lines.items()
    ]
