# SPDX-License-Identifier: Apache-2.0
"""Sign and unit of torques by gravity alone: all that a moment's data can tell, and enough to name a gross mistake."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.models.regressors import standard_regressor
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

    A joint counts where gravity needs more than motion, friction, rotor, offset and another body of the prior may add,
    or an honest reading may have either sign: to speed a Gen3's wrist up may take more than what it carries weighs.
    """
    model = robot.model.copy()
    body = robot.body_index(config.body)
    guess = config.prior.bounds.centre
    if config.target == "payload":
        guess = guess + robot.inertial_parameters()[body]
    if guess[0] > 0.0:
        model.inertias[body + 1] = pinocchio.Inertia(guess[0], guess[1:4] / guess[0], np.zeros((3, 3)))
    data, step = model.createData(), -(-len(samples) // _MOST)
    acceleration = np.gradient(samples.qd, samples.t, axis=0)[::step]
    q, qd, read = samples.q[::step], samples.qd[::step], samples.tau[::step]
    needed = np.array([pinocchio.computeGeneralizedGravity(model, data, one) for one in q])
    moved = np.array([pinocchio.rnea(model, data, *one) for one in zip(q, qd, acceleration, strict=True)]) - needed
    centre, radius = known_box(robot, config.known_robot)
    coulomb, viscous, armature, offset = (np.abs(centre) + radius)[10 * robot.n : 14 * robot.n].reshape(4, robot.n)
    rest = np.zeros_like(q)
    weighs = standard_regressor(Chain.from_robot(robot), q, rest, rest)[:, :, 10 * body : 10 * body + 10]
    besides = np.abs(weighs) @ config.prior.bounds.half_width + np.abs(moved) + offset
    besides += coulomb + viscous * np.abs(qd) + armature * np.abs(acceleration)
    size, other = (np.sqrt(np.mean(torque**2, axis=0)) for torque in (needed, besides))
    found: dict[str, float] = {}
    for k, name in enumerate(samples.names):
        if size[k] < max(1.0, _HEAVY * size.max(), other[k]) or not read[:, k].any():
            continue
        factor = float(needed[:, k] @ read[:, k] / (needed[:, k] @ needed[:, k]))
        left = float(np.sum((read[:, k] - factor * needed[:, k]) ** 2) / np.sum(read[:, k] ** 2))
        if 1.0 - left > _EXPLAINED:
            found[name] = factor
    return found


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
