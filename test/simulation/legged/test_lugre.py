# SPDX-License-Identifier: Apache-2.0
"""LuGre's friction: it holds, comes loose at half as much again, and resists fast motion with Coulomb's."""

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.legged.lugre import LuGre
from sysid_nodes.simulation.legged.set_point_drive import SetPointDrive, SetPointDriveConfig, with_friction

STEP = 5e-4


@pytest.mark.parametrize(
    ("speed", "torque"), [(1e-3, 0.15), (0.15, 0.1 * (1.0 + 0.5 / np.e)), (5.0, 0.1), (-5.0, -0.1)]
)
def test_steady_motion_meets_the_law_s_friction(speed, torque):
    friction, w = LuGre(np.array([0.1]), STEP), np.array([speed])
    for _ in range(20_000):
        found = friction.torque(w)
    assert found[0] == pytest.approx(torque, rel=2e-3)


def test_a_joint_that_is_pushed_a_little_comes_back():
    friction = LuGre(np.array([0.1]), STEP)
    for w in np.repeat([1e-4, 0.0], 1000):
        found = friction.torque(np.array([w]))
    # 0.05 mrad of the 1 mrad in which Coulomb's friction would be reached: a spring.
    assert found[0] == pytest.approx(0.1 * 0.05, rel=0.05)


def test_a_drive_has_one_friction_or_the_other():
    robot, one = load_robot("go2"), {"coulomb": 0.1}
    q, w = np.zeros(12), np.full(12, 5.0)
    lugre, mujoco = (from_flat(SetPointDriveConfig, one | {"friction": law}) for law in ("lugre", "mujoco"))
    drives = [SetPointDrive(robot, config, 0.01) for config in (lugre, mujoco)]
    less = drives[1].torque(q, q, w) - drives[0].torque(q, q, w)
    np.testing.assert_allclose(less, less[0])
    assert 0.05 < less[0] < 0.2, "the step in which bristles bend"
    assert with_friction(robot, mujoco).motor.coulomb.max() > 0.0
    assert with_friction(robot, lugre).motor.coulomb.max() == 0.0
