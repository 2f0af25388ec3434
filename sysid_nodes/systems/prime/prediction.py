# SPDX-License-Identifier: Apache-2.0
"""The first guess of a window that has moved on: the last answer, carried on."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sysid_nodes.models.discrete_motion import difference, retract
from sysid_nodes.signals.samples import Samples
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory


def predict(point: Trajectory, problem: PrimeProblem, samples: Mapping[str, Samples], kept: int) -> Trajectory:
    """The last answer's newest stages; new ones go on at constant velocity, joints as measured.

    Args:
        point: the last answer.
        problem: of the window that has moved on.
        samples: its readings of each sensor by its name.
        kept: stages of the last answer that are still in it.
    """
    q, w = point.q[-kept:], point.w[-kept:]
    new = problem.stages - kept
    moved = difference(q[-2:-1], q[-1:])
    rows = [q]
    for _ in range(new):
        rows.append(retract(rows[-1][-1:], moved))
    q = np.concatenate(rows)
    joints = samples.get("joint_position")
    if joints is not None:
        fresh = (joints.steps >= kept) & np.isfinite(joints.values).all(axis=1)
        offsets = point.theta[problem.model.parameters.offsets]
        q[joints.steps[fresh], 7:] = joints.values[fresh] - (offsets if len(offsets) else 0.0)
    # The last stage's contact variables were not used: new ones go on with those before, settled by the step.
    w = np.concatenate([w[:-1], np.repeat(w[-2:-1], new + 1, axis=0)])
    found = Trajectory(q, w, point.theta)
    return problem.solve_contacts(found, first=kept - 2) if new else found
