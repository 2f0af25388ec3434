# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models.joint_load import joint_load
from sysid_nodes.robots import load_robot


@pytest.mark.parametrize("name", ["kinova_gen3", "go2"])
def test_inertia_times_acceleration_and_load_are_the_inverse_dynamics(name: str) -> None:
    robot, rng = load_robot(name), np.random.default_rng(2)
    q, qd, qdd = rng.normal(0.0, 1.0, (3, 4, robot.n))
    found = joint_load(robot, q, qd, qdd)
    # A floating base that is held is a fixed one.
    fixed = robot if not robot.floating_base else load_robot("stand", urdf_text=robot.urdf)
    data = fixed.model.createData()
    for k in range(4):
        np.testing.assert_allclose(found.torque[k], pinocchio.rnea(fixed.model, data, q[k], qd[k], qdd[k]), atol=1e-9)
        mass = pinocchio.crba(fixed.model, data, q[k])
        np.testing.assert_allclose(found.inertia[k], np.diag(mass), atol=1e-12)
    np.testing.assert_allclose(found.torque, found.inertia * qdd + found.load, atol=1e-12)


def test_a_motion_of_other_joints_is_refused() -> None:
    with pytest.raises(SamplesError, match=r"must have shape \(N, 12\)"):
        joint_load(load_robot("go2"), *np.zeros((3, 4, 7)))
