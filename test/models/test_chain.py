# SPDX-License-Identifier: Apache-2.0
"""What Chain reads from a pinocchio model, and what it refuses."""

from types import SimpleNamespace

import numpy as np
import pinocchio as pin
import pytest

from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.chain import Chain


def model_with(joint):
    model = pin.Model()
    model.addJoint(0, joint, pin.SE3.Identity(), "odd")
    return model


def test_names_tree_and_gravity():
    model = pin.Model()
    place = pin.SE3.Random()
    first = model.addJoint(0, pin.JointModelRY(), place, "turn")
    model.addJoint(first, pin.JointModelPrismaticUnaligned(0.0, 3.0, 4.0), pin.SE3.Identity(), "slide")
    model.gravity.linear = np.array([0.0, 1.0, -9.0])
    chain = Chain.from_model(model)
    assert (chain.n, chain.joint_names) == (2, ("turn", "slide"))
    assert chain.tree.parents.tolist() == [-1, 0]
    assert chain.tree.revolute.tolist() == [True, False]
    np.testing.assert_allclose(chain.tree.axis, [[0, 1, 0], [0, 0.6, 0.8]], atol=1e-15)
    np.testing.assert_array_equal(chain.tree.rotation[0], place.rotation)
    np.testing.assert_array_equal(chain.tree.translation[0], place.translation)
    np.testing.assert_array_equal(chain.tree.gravity, [0.0, 1.0, -9.0])


def test_arrays_are_frozen_copies():
    model = pin.buildSampleModelManipulator()
    chain = Chain.from_model(model)
    before = chain.tree.translation.copy()
    model.jointPlacements[1] = pin.SE3.Random()
    np.testing.assert_array_equal(chain.tree.translation, before)
    with pytest.raises(ValueError, match="read-only"):
        chain.tree.translation[0] = 0.0


@pytest.mark.parametrize(
    ("joint", "kind"),
    [
        (pin.JointModelFreeFlyer(), "FreeFlyer"),
        (pin.JointModelSpherical(), "Spherical"),
        (pin.JointModelRUBZ(), "RUBZ"),
    ],
)
def test_other_joints_are_refused_by_name(joint, kind):
    with pytest.raises(RobotError, match=f"joint 'odd' is a JointModel{kind}"):
        Chain.from_model(model_with(joint))


def test_a_model_without_joints_is_refused():
    with pytest.raises(RobotError, match="no moving joint"):
        Chain.from_model(pin.Model())


def test_a_robot_needs_a_fixed_base():
    model = model_with(pin.JointModelRX())
    assert Chain.from_robot(SimpleNamespace(name="arm", floating_base=False, model=model)).n == 1
    with pytest.raises(RobotError, match="robot 'dog' has a floating base"):
        Chain.from_robot(SimpleNamespace(name="dog", floating_base=True, model=model))
