# SPDX-License-Identifier: Apache-2.0
"""One arm of a robot with more joints: which joints, where the others are held, and that torques stay the same."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest

from sysid_nodes.data.joint_vector import ByJoint
from sysid_nodes.exceptions import ConfigError, RobotError
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.robots.arm_chain import hand_of, joints_to, lock_joints
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.systems.interval.arm import load_arm
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

ARM = tuple(f"arm_{k}_joint" for k in range(1, 8))


@pytest.fixture(scope="module")
def tiago() -> Robot:
    return load_robot("", urdf_text=example_urdf("tiago_description/robots/tiago.urdf"))


def test_the_arm_of_a_mobile_robot_with_a_hand(tiago: Robot) -> None:
    assert tiago.n > 40
    assert hand_of(tiago) == "arm_7_link"
    assert joints_to(tiago, "arm_7_link") == ("torso_lift_joint", *ARM)


def test_two_arms_ask_which() -> None:
    both = load_robot("", urdf_text=example_urdf("tiago_description/robots/tiago_dual.urdf"))
    with pytest.raises(RobotError, match="has 2 arms; say which body: arm_left_7_link, arm_right_7_link"):
        hand_of(both)
    left = [name.replace("arm", "arm_left") for name in ARM]
    right = [name.replace("arm", "arm_right") for name in ARM]
    assert hand_of(both, ["torso_lift_joint", *left]) == "arm_left_7_link"
    with pytest.raises(RobotError, match="has 2 arms"):
        hand_of(both, [*left, *right])


def test_a_hand_that_was_corrected_is_named_with_its_size(tiago: Robot) -> None:
    assert tiago.warning.startswith(
        "robot 'tiago': link 'base_antenna_left_link' had an inertia that no body has, off by"
    )
    assert tiago.warning.endswith("and 1 more; corrected")


def test_locked_joints_hold_their_place(tiago: Robot) -> None:
    """Torques of the arm are those of the whole robot with the others at their places."""
    places = {"torso_lift_joint": 0.2, "head_1_joint": 0.4, "hand_thumb_abd_joint": 0.5}
    arm = lock_joints(tiago, ARM, places)
    assert arm.joint_names == ARM
    assert arm.n == arm.limits.torque.size == arm.wraps.size == arm.encoder_step.size == 7
    rng = np.random.default_rng(0)
    q, qd, qdd = rng.uniform(-0.5, 0.5, (3, 7))
    whole = np.clip(np.zeros(tiago.n), tiago.limits.position_lower, tiago.limits.position_upper)
    moving = np.zeros((2, tiago.n))
    for name, place in places.items():
        whole[tiago.joint_names.index(name)] = place
    index = [tiago.joint_names.index(name) for name in ARM]
    whole[index], moving[0, index], moving[1, index] = q, qd, qdd
    expected = pinocchio.rnea(tiago.model, tiago.model.createData(), whole, *moving)[index]
    np.testing.assert_allclose(pinocchio.rnea(arm.model, arm.model.createData(), q, qd, qdd), expected, atol=1e-9)


def test_a_joint_that_is_not_there(tiago: Robot) -> None:
    with pytest.raises(RobotError, match="robot 'tiago' has no joint 'neck'"):
        lock_joints(tiago, (*ARM, "neck"), {})


@pytest.fixture(scope="module")
def config() -> IntervalIdentifierConfig:
    return IntervalIdentifierConfig(robot="urdf")


def test_what_the_log_lacks_is_locked_and_said(config: IntervalIdentifierConfig) -> None:
    text = example_urdf("tiago_description/robots/tiago.urdf")
    arm = load_arm(config, stated=(), logged=dict.fromkeys(ARM, 0.1), urdf_text=text)
    assert arm.robot.joint_names == ARM
    assert any("joint 'torso_lift_joint' is not in the log: held at 0" in note for note in arm.notes)
    assert any("no prior is stated: taken from what the arm can lift" in note for note in arm.notes)
    assert arm.config.prior.lower[0] == 0.0 and 2.0 < arm.config.prior.upper[0] < 20.0


def test_places_and_lists_by_joint_name(config: IntervalIdentifierConfig) -> None:
    from dataclasses import replace

    text = example_urdf("tiago_description/robots/tiago.urdf")
    noise = replace(config.noise, torque_absolute=ByJoint.of((name, float(k)) for k, name in enumerate(ARM)))
    asked = replace(config, locked=ByJoint.of([("torso_lift_joint", 0.3)]), noise=noise)
    arm = load_arm(asked, stated=("prior.lower",), logged=None, urdf_text=text)
    assert arm.robot.joint_names == ARM
    assert arm.config.noise.torque_absolute == tuple(float(k) for k in range(7))
    wrong = replace(config, locked=ByJoint.of([("torso_lift_join", 0.3)]))
    with pytest.raises(ConfigError, match="has no joint 'torso_lift_join'; did you mean 'torso_lift_joint'"):
        load_arm(wrong, stated=(), urdf_text=text)
    few = replace(config, noise=replace(config.noise, jerk=ByJoint.of([("arm_1_joint", 1.0)])))
    with pytest.raises(ConfigError, match=r"'noise\.jerk' has nothing for joint 'torso_lift_joint'"):
        load_arm(few, stated=(), urdf_text=text)


@pytest.mark.parametrize(
    "urdf",
    ["b1_description/urdf/b1.urdf", "go1_description/urdf/go1.urdf", "anymal_b_simple_description/robots/anymal.urdf",
     "anymal_c_simple_description/urdf/anymal.urdf"],
)  # fmt: skip
def test_placeholders_of_legged_robots_pass_with_one_warning(urdf: str) -> None:
    robot = load_robot("", urdf_text=example_urdf(urdf))
    assert "had an inertia that no body has" in robot.warning and "\n" not in robot.warning


@pytest.mark.parametrize(
    ("stated", "changes", "message"),
    [
        (("sensitivity.max_rows",), {}, "'sensitivity.max_rows' has no effect with method set_membership"),
        (("set_membership.max_rows",), {"method": "sensitivity"}, "has no effect with method sensitivity; take it out"),
        (
            ("noise.torque_rate",),
            {"noise.model": "window"},
            "'noise.torque_rate' has no effect with noise.model window",
        ),
        *(
            ((name,), {"noise.torque_interpolation": "hold"}, f"'{name}' has no effect with noise.torque_interpolation")
            for name in ("noise.torque_rate", "noise.torque_curvature")
        ),
        (("noise.torque_curvature",), {"noise.model": "window"}, "has no effect with noise.model window"),
    ],
)
def test_what_has_no_effect_is_refused(stated: tuple[str, ...], changes: dict[str, str], message: str) -> None:
    from sysid_nodes.data.config import from_flat

    with pytest.raises(ConfigError, match=message):
        load_arm(from_flat(IntervalIdentifierConfig, changes), stated=stated)
