# SPDX-License-Identifier: Apache-2.0
"""Torque that nothing stated explains: not the known robot's box, not the prior, not the errors of the readings."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.finding import Finding, Mend
from sysid_nodes.signals.plausibility import ALL_JOINTS
from sysid_nodes.solvers.linear_program import LinearProgram, LpStatus
from sysid_nodes.systems.interval.check.arm_fit import ArmFit
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.unknowns import Unknowns, prismatic_travel, stated_unknowns

Array = npt.NDArray[np.float64]
Edges = npt.NDArray[np.intp]

_EXACT = 1e-3
"""Torque below which nothing counts as an error [N m]."""

_MARGIN = 1.5
"""Factor on the largest residual seen, for a bound."""


def noise_finding(
    fit: ArmFit, allowed: Array, robot: Robot, config: IntervalIdentifierConfig, samples: JointSamples, edges: Edges
) -> list[Finding]:
    """A finding about readings that no robot and no errors within their stated bounds can cause.

    Args:
        fit: of the windows; joints that it leaves no more than `allowed` of are not looked at.
        allowed: (n,) torque error that is stated [N m].
        robot, config: what is stated; without a calibration.
        samples: consecutive ones, none left out.
        edges: (W, 2) first and last sample of each window.
    """
    left = np.array([np.quantile(np.abs(joint.residual), 0.99) for joint in fit.joints])
    over = left > np.maximum(allowed, _EXACT)
    if not over.any():
        return []
    unknowns = stated_unknowns(robot, config)
    builder = row_builder(robot, config, unknowns)
    violations = builder.violations(samples, edges)
    bad = np.logical_or.reduce([np.zeros(len(edges), dtype=bool), *violations.values()])
    missing = np.zeros(robot.n)
    if not bad.all():
        missing[over] = unexplained_torque(builder.build(samples, edges[~bad]), unknowns)[over]
    worst = int(np.argmax(missing))
    name = robot.joint_names[worst] if missing[worst] > _EXACT else ALL_JOINTS
    if missing[worst] > _EXACT:
        line = (
            f"nothing that is stated explains the torque of {name}: a window's mean is off by {missing[worst]:.3g} N m "
            "or more"
        )
    elif bad.any():
        most = max(violations, key=lambda assumption: int(violations[assumption].sum()))
        line = f"{bad.sum()} of {len(bad)} windows contradict what is stated of the errors, mostly: {most}"
    else:
        return []
    mends = [Mend("noise.torque_absolute", float(f"{max(_MARGIN * value, 0.01):.2g}"), joint)
             for joint, value in zip(robot.joint_names, np.maximum(left, allowed / _MARGIN), strict=True)]  # fmt: skip
    if config.noise.model != "window":
        mends.append(Mend("noise.model", "window"))
    return [Finding("noise", name, float(samples.t[0]), line, tuple(mends))]


def row_builder(robot: Robot, config: IntervalIdentifierConfig, unknowns: Unknowns) -> RowBuilder:
    """Rows with the radius that the configuration states."""
    chain = Chain.from_robot(robot)
    noise = Noise.from_config(config.noise, robot.n, robot.encoder_step)
    power = per_joint(config.known_robot.viscous_power, robot.n, "known_robot.viscous_power")
    return RowBuilder(chain, Reach(chain, prismatic_travel(robot)), noise, unknowns, power)


def unexplained_torque(rows: MomentumRows, unknowns: Unknowns) -> Array:
    """(n,) mean torque that some window misses [N m], whatever robot and errors are within their bounds.

    Each joint by itself: the least e such that parameters in their box leave no window's mean torque off by more
    than its honest radius and e. It is 0 for a robot and readings as stated, whatever the motion: friction of unsure
    sign, sampling and errors of position and velocity are in the radius (`RowBuilder`).
    """
    duration = np.diff(rows.t)
    radius = rows.total_radius(unknowns.prior) / duration
    joints = (rows.coefficients[:, k] / duration for k in range(unknowns.joints))
    return np.array([
        _least_excess(own @ unknowns.basis, own @ unknowns.centre, radius[:, k]) for k, own in enumerate(joints)
    ])  # fmt: skip


def _least_excess(rows: Array, offset: Array, radius: Array) -> float:
    """The least e >= 0 with |rows xi + offset| <= radius + e for some |xi| <= 1; 0 where the solver finds none."""
    count, d = rows.shape
    program = LinearProgram(np.append(-np.ones(d), 0.0), np.append(np.ones(d), np.inf))
    one, infinite = np.ones((count, 1)), np.full(count, np.inf)
    program.add_rows(np.hstack([rows, -one]), -infinite, radius - offset)
    program.add_rows(np.hstack([rows, one]), -radius - offset, infinite)
    solution = program.maximise(np.append(np.zeros(d), -1.0))
    return float(solution.x[-1]) if solution.status is LpStatus.OPTIMAL else 0.0
