# SPDX-License-Identifier: Apache-2.0
"""One robot's runs side by side: what changes between them (warm gears, wear) is in no single log's sigma."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.results.actuators import ActuatorEstimate, ActuatorResult, RunToRun
from sysid_nodes.solvers.shooting import combine_runs

Known = Mapping[tuple[str, str], tuple[float, float]]
"""Estimate and sigma by joint and parameter."""


def compare_runs(result: ActuatorResult, others: Sequence[Known]) -> ActuatorResult:
    """The result with what other runs of the robot say of each parameter that this one and one of them tell."""
    joints = tuple(
        replace(joint, parameters=tuple(_compare(joint.name, row, others) for row in joint.parameters))
        for joint in result.joints
    )
    return replace(result, joints=joints)


def _compare(joint: str, row: ActuatorEstimate, others: Sequence[Known]) -> ActuatorEstimate:
    found = [other[joint, row.name] for other in others if (joint, row.name) in other]
    if row.estimate is None or not row.sigma or not found:
        return row
    values, sigmas = np.array([(row.estimate, row.sigma), *found]).T[:, :, None]
    between = combine_runs(values, sigmas)
    mean, sigma, scatter = (float(x[0]) for x in (between.mean, between.sigma, between.scatter))
    return replace(row, between_runs=RunToRun(len(values), mean, sigma, scatter))
