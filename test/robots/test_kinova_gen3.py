# SPDX-License-Identifier: Apache-2.0
"""The Gen3 against the published tables, which are typed in here once more, and against pinocchio and MuJoCo."""

from __future__ import annotations

import mujoco
import numpy as np
import pinocchio
import pytest

from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinova_gen3 import MOTOR_CONSTANTS, constants

# x, y, z, roll, pitch, yaw of each joint as the public URDF has them (angles rounded to about 7e-6 rad)
JOINT_FRAMES = """
0 0          0.15643   -3.141585  0 0
0 0.005375   -0.12838   1.570800  0 0
0 -0.21038   -0.006375 -1.570800  0 0
0 0.006375   -0.21038   1.570800  0 0
0 -0.20843   -0.006375 -1.570800  0 0
0 0.00017505 -0.10593   1.570800  0 0
0 -0.10593   -0.00017505 -1.570800 0 0
"""
# mass, com, then Ixx Ixy Ixz Iyy Iyz Izz about the com
LINKS = """
1.3773 -2.3e-05 -0.010364 -0.07336  0.00457  1e-06  2e-06 0.004831 0.000448  0.001409
1.1636 -4.4e-05 -0.09958  -0.013278 0.011088 5e-06  0     0.001072 -0.000691 0.011255
1.1636 -4.4e-05 -0.006641 -0.117892 0.010932 0     -7e-06 0.011127 0.000606  0.001043
0.9302 -1.8e-05 -0.075478 -0.015006 0.008147 -1e-06 0     0.000631 -0.0005   0.008316
0.6781 1e-06    -0.009432 -0.063883 0.001596 0      0     0.001607 0.000256  0.000399
0.6781 1e-06    -0.045483 -0.00965  0.001641 0      0     0.00041  -0.000278 0.001641
"""
LAST_LINK = {
    "gripper": "1.284864273 -3.30777e-05 6.81673e-05 -0.084569576 "
    "0.00339136 -4.06892e-06 2.76847e-06 0.00419232 -1.42777e-06 0.00139343",
    "bare": "0.5 0.000281 0.011402 -0.029798 0.000587 3e-06 3e-06 0.000369 -0.000118 0.000609",
}
THETA_GRIPPER = """
1.28486427 -4.25003089e-05 8.75857772e-05 -0.108660427
0.0125807358 -4.06602391e-06 0.0133816828 -8.25759215e-07 5.97932273e-06 0.0013934356
"""
THETA_GRIPPER_WITH_6_LB = """
4.00641849 -4.25003089e-05 8.75857772e-05 -0.602690557
0.114456235 -4.1051479e-06 0.104605998 -8.25759215e-07 5.97932273e-06 0.0135901159
"""


def _table(text: str) -> np.ndarray:
    return np.array([[float(word) for word in line.split()] for line in text.strip().splitlines()])


@pytest.mark.parametrize("variant", ["gripper", "bare"])
def test_joint_frames_axes_and_links(variant: str) -> None:
    robot = load_robot("kinova_gen3", variant=variant)
    model = robot.model
    assert robot.joint_names == tuple(f"joint_{k}" for k in range(1, 8))
    assert (model.nq, model.nv, robot.n) == (7, 7, 7)
    np.testing.assert_array_equal(model.gravity.linear, [0.0, 0.0, -9.81])
    for k, row in enumerate(_table(JOINT_FRAMES), start=1):
        placement = model.jointPlacements[k]
        np.testing.assert_array_equal(placement.translation, row[:3])
        # The published angles are rounded by up to 7.3e-6 rad; ours are the exact multiples of pi.
        np.testing.assert_allclose(placement.rotation, pinocchio.rpy.rpyToMatrix(row[3:]), atol=8e-6)
        assert model.joints[k].shortname() == "JointModelRZ"
    rows = np.vstack([_table(LINKS), _table(LAST_LINK[variant])])
    for inertia, row in zip(model.inertias.tolist()[1:], rows, strict=True):
        xx, xy, xz, yy, yz, zz = row[4:]
        assert inertia.mass == pytest.approx(row[0], rel=1e-14)
        np.testing.assert_allclose(inertia.lever, row[1:4], rtol=1e-12, atol=1e-17)
        np.testing.assert_allclose(inertia.inertia, [[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]], atol=1e-17)


def test_parameters_of_the_last_link_match_the_published_ten_numbers() -> None:
    robot = load_robot("kinova_gen3")
    assert robot.variant == "gripper"
    theta = robot.inertial_parameters()
    assert theta.shape == (7, 10)
    # The table's com and tensor are rounded to nine decimals: 1.3 kg x 5e-9 m.
    np.testing.assert_allclose(theta[robot.body_index()], np.array(THETA_GRIPPER.split(), dtype=float), atol=1e-8)


def test_mass_sums() -> None:
    arm = 1.3773 + 2 * 1.1636 + 0.9302 + 2 * 0.6781
    # Bracelet, 2F-85 base, then knuckles, fingers, inner knuckles and finger tips, two each. The published sum 1.28486
    # is reached without the 0.072 kg of the wrist camera that the same list names.
    parts = 0.364 + 0.66320197 + 2 * (0.01384773 + 0.04260377 + 0.02969376 + 0.04268589)
    gripper, bare = load_robot("kinova_gen3"), load_robot("kinova_gen3", variant="bare")
    # model.inertias[0] holds the base, which stands still
    assert sum(body.mass for body in gripper.model.inertias) == pytest.approx(1.697 + arm + parts, abs=1e-7)
    assert sum(body.mass for body in bare.model.inertias) == pytest.approx(1.697 + arm + 0.5, abs=1e-12)


def test_limits() -> None:
    limits = load_robot("kinova_gen3").limits
    inf = np.inf
    degrees = np.array([inf, 128.9, inf, 147.8, inf, 120.3, inf])
    np.testing.assert_allclose(limits.position_upper, np.deg2rad(degrees), rtol=1e-15)
    np.testing.assert_array_equal(limits.position_lower, -limits.position_upper)
    np.testing.assert_array_equal(limits.velocity, [1.3963] * 4 + [1.2218] * 3)
    np.testing.assert_allclose(limits.acceleration, np.deg2rad([297.94] * 4 + [572.95] * 3), rtol=1e-15)
    np.testing.assert_array_equal(limits.torque, [90.0] * 4 + [45.0] * 3)
    np.testing.assert_array_equal(constants.POSITION_URDF, [inf, 2.41, inf, 2.66, inf, 2.23, inf])
    np.testing.assert_allclose(constants.VELOCITY_PLANNER, np.deg2rad([100.0] * 4 + [180.0] * 3), rtol=1e-15)
    np.testing.assert_array_equal(constants.TORQUE_WARNING, [56.7] * 4 + [29.4] * 3)
    np.testing.assert_array_equal(constants.TORQUE_URDF, [39.0] * 4 + [9.0] * 3)


def test_commanded_limits_keep_every_published_position_and_velocity_limit() -> None:
    limits = load_robot("kinova_gen3").limits
    assert (limits.position_upper <= constants.POSITION_URDF).all()
    assert (limits.velocity <= constants.VELOCITY_PLANNER).all()
    assert (limits.torque > constants.TORQUE_WARNING).all()


def test_urdf_limits_reach_the_model() -> None:
    model = load_robot("kinova_gen3").model
    np.testing.assert_array_equal(model.upperPositionLimit, [np.inf, 2.41, np.inf, 2.66, np.inf, 2.23, np.inf])
    np.testing.assert_array_equal(model.lowerPositionLimit, -model.upperPositionLimit)


def test_motor_constants() -> None:
    np.testing.assert_array_equal(
        load_robot("kinova_gen3").motor.coulomb,
        [0.07840567, 0.35552047, 0.39523440, 0.45348116, 0.09301031, 0.11691337, 0.19954272],
    )
    sysid, controller = MOTOR_CONSTANTS["sysid"], MOTOR_CONSTANTS["controller"]
    expected = {
        "sysid": (
            [0.07840567, 0.35552047, 0.39523440, 0.45348116, 0.09301031, 0.11691337, 0.19954272],
            [11.31528137, 13.08049291, 10.84215580, 11.59371952, 9.80408981, 10.62301569, 9.61005652],
            [7.48535385, 7.32068175, 7.84612368, 7.52851518, 7.42767631, 7.38051793, 7.72484810],
        ),
        "controller": (
            [0.52173831, 0.57695791, 0.42133979, 0.49455154, 0.16110705, 0.13334912, 0.14344402],
            [10.5, 7.40648458, 9.97276334, 8.26679508, 8.85722490, 8.71108316, 8.88819036],
            [8.03, 11.99620246, 9.00254279, 11.58064393, 8.46650409, 8.85370694, 8.85873037],
        ),
    }
    for name, motor in (("sysid", sysid), ("controller", controller)):
        coulomb, viscous, armature = expected[name]
        np.testing.assert_array_equal(motor.coulomb, coulomb)
        np.testing.assert_array_equal(motor.viscous, viscous)
        np.testing.assert_array_equal(motor.armature, armature)
        np.testing.assert_array_equal(motor.offset, np.zeros(7))


def test_encoders_and_wrapping() -> None:
    robot = load_robot("kinova_gen3")
    np.testing.assert_allclose(np.rad2deg(robot.encoder_step), [0.02] * 4 + [0.011] * 3, rtol=1e-14)
    assert robot.wraps.all()
    assert robot.wraps.shape == (7,)


def test_every_joint_frame_has_a_shape_and_every_shape_a_frame() -> None:
    robot = load_robot("kinova_gen3")
    assert {shape.frame for shape in robot.geometry} == {"universe", *robot.joint_names}


@pytest.mark.parametrize("variant", ["gripper", "bare"])
def test_bodies_are_physical_and_mujoco_agrees(variant: str) -> None:
    robot = load_robot("kinova_gen3", variant=variant)
    for inertia in robot.model.inertias:
        moments = np.linalg.eigvalsh(inertia.inertia)
        assert moments[0] > 0.0
        assert moments[0] + moments[1] >= moments[2]
    compiled = mujoco.MjModel.from_xml_string(robot.urdf)
    data = mujoco.MjData(compiled)
    rng = np.random.default_rng(1)
    pin_data = robot.model.createData()
    for q in rng.uniform(-2.0, 2.0, (5, 7)):
        data.qpos[:] = q
        mujoco.mj_forward(compiled, data)
        mass = np.zeros((7, 7))
        mujoco.mj_fullM(compiled, data, mass)
        upper = np.triu(pinocchio.crba(robot.model, pin_data, q))
        np.testing.assert_allclose(np.triu(mass), upper, atol=1e-9)
        np.testing.assert_allclose(data.qfrc_bias, pinocchio.rnea(robot.model, pin_data, q, 0 * q, 0 * q), atol=1e-9)


def test_end_effector_carries_the_published_dumbbell() -> None:
    """A 6 lb dumbbell 0.12 m out on the mounting face gives the published ten numbers of hand and load."""
    robot = load_robot("kinova_gen3")
    frame = robot.model.frames[robot.model.getFrameId("end_effector_link")]
    yaw = pinocchio.rpy.rpyToMatrix(0.0, 0.0, np.pi / 2)
    tensor = yaw @ np.diag([0.00154549554, 0.01219668034, 0.01219668034]) @ yaw.T
    load = frame.placement.act(pinocchio.Inertia(2.72155422, np.array([0.0, 0.0, 0.12]), tensor))
    expected = np.array(THETA_GRIPPER_WITH_6_LB.split(), dtype=float)
    total = robot.inertial_parameters()[6] + load.toDynamicParameters()
    # The published yaw is 1.5708: 3.7e-6 rad x 0.011 kg m2 = 4e-8.
    np.testing.assert_allclose(total, expected, atol=6e-8)
