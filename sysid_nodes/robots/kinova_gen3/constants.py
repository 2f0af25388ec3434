# SPDX-License-Identifier: Apache-2.0
"""Numbers of the Kinova Gen3 (7 joints) and its Robotiq 2F-85 gripper, from the public files named beside them.

The arm's frames, inertias and ratings are the maker's: KORTEX (Kinovarobotics/ros2_kortex, BSD-3-Clause,
kortex_description/arms/gen3/7dof/urdf/gen3_macro.xacro). What the paper's authors measured or chose is from their code:
KRC (roahmlab/kinova_robust_control, BSD-3-Clause), and, GPL-3.0, RAPTOR (roahmlab/RAPTOR, Robots/kinova-gen3 and
Examples/Kinova), ARMOUR (roahmlab/armour, KinovaInfo.h) and OSS (roahmlab/OnlineSafeSysID, config.yaml). Of these only
numbers are here, and no code. Arrays run over joints 1 to 7.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.robots.robot import Array, JointLimits, MotorConstants

JOINTS = tuple(f"joint_{k}" for k in range(1, 8))
LINKS = (
    "base_link",
    "shoulder_link",
    "half_arm_1_link",
    "half_arm_2_link",
    "forearm_link",
    "spherical_wrist_1_link",
    "spherical_wrist_2_link",
    "bracelet_link",
)
"""LINKS[k] moves with joint k; LINKS[0] is fixed."""

CONTINUOUS = (True, False, True, False, True, False, True)

# Fixed transform from the parent joint's frame to the joint's, which then turns about its own z. KORTEX rounds the
# angles to 3.1416 and 1.5708; the multiples of pi are meant.
JOINT_XYZ = (
    (0.0, 0.0, 0.15643),
    (0.0, 0.005375, -0.12838),
    (0.0, -0.21038, -0.006375),
    (0.0, 0.006375, -0.21038),
    (0.0, -0.20843, -0.006375),
    (0.0, 0.00017505, -0.10593),
    (0.0, -0.10593, -0.00017505),
)
JOINT_ROLL = np.pi * np.array([-1.0, 0.5, -0.5, 0.5, -0.5, 0.5, -0.5])

# The vendor's mounting face, where a gripper or a payload sits; its z axis points outwards.
END_EFFECTOR_LINK = "end_effector_link"
END_EFFECTOR_XYZ = (0.0, 0.0, -0.061525)
END_EFFECTOR_ROLL = np.pi


@dataclass(frozen=True)
class LinkInertia:
    """Mass [kg], centre of mass [m] in the joint frame, tensor about it [kg m2] as Ixx, Ixy, Ixz, Iyy, Iyz, Izz."""

    mass: float
    com: tuple[float, float, float]
    tensor: tuple[float, float, float, float, float, float]


# KORTEX. The base never moves: the tensor of a solid cylinder of its size stands in.
BASE_MASS = 1.697
BASE_RADIUS = 0.046

ARM_INERTIAS = (  # KORTEX
    LinkInertia(1.3773, (-2.3e-05, -0.010364, -0.07336), (0.00457, 1e-06, 2e-06, 0.004831, 0.000448, 0.001409)),
    LinkInertia(1.1636, (-4.4e-05, -0.09958, -0.013278), (0.011088, 5e-06, 0.0, 0.001072, -0.000691, 0.011255)),
    LinkInertia(1.1636, (-4.4e-05, -0.006641, -0.117892), (0.010932, 0.0, -7e-06, 0.011127, 0.000606, 0.001043)),
    LinkInertia(0.9302, (-1.8e-05, -0.075478, -0.015006), (0.008147, -1e-06, 0.0, 0.000631, -0.0005, 0.008316)),
    LinkInertia(0.6781, (1e-06, -0.009432, -0.063883), (0.001596, 0.0, 0.0, 0.001607, 0.000256, 0.000399)),
    LinkInertia(0.6781, (1e-06, -0.045483, -0.00965), (0.001641, 0.0, 0.0, 0.00041, -0.000278, 0.001641)),
)
LAST_LINK_INERTIAS = {
    # RAPTOR gen3_2f85_fixed.urdf: bracelet (KORTEX's 0.364 kg), 2F-85 with fingers fixed and wrist camera in one body
    "gripper": LinkInertia(
        1.284864273,
        (-3.30777e-05, 6.81673e-05, -0.084569576),
        (0.00339136, -4.06892e-06, 2.76847e-06, 0.00419232, -1.42777e-06, 0.00139343),
    ),
    # KORTEX: bracelet alone, with its camera
    "bare": LinkInertia(0.5, (0.000281, 0.011402, -0.029798), (0.000587, 3e-06, 3e-06, 0.000369, -0.000118, 0.000609)),
}
VARIANTS = tuple(LAST_LINK_INERTIAS)


def _symmetric(*values: float) -> Array:
    """A magnitude for each joint, infinite where there is no limit."""
    return np.array(values, dtype=np.float64)


_NONE = float("inf")
POSITION_URDF = _symmetric(_NONE, 2.41, _NONE, 2.66, _NONE, 2.23, _NONE)  # [rad] RAPTOR gen3*.urdf, and the vendor's
POSITION_PLANNER = np.deg2rad(_symmetric(_NONE, 128.9, _NONE, 147.8, _NONE, 120.3, _NONE))  # RAPTOR KinovaConstants.h
VELOCITY_URDF = _symmetric(1.3963, 1.3963, 1.3963, 1.3963, 1.2218, 1.2218, 1.2218)  # [rad/s] KORTEX
VELOCITY_PLANNER = np.deg2rad(_symmetric(100, 100, 100, 100, 180, 180, 180))  # RAPTOR KinovaConstants.h
ACCELERATION_PLANNER = np.deg2rad(_symmetric(297.94, 297.94, 297.94, 297.94, 572.95, 572.95, 572.95))  # same
TORQUE_URDF = _symmetric(39, 39, 39, 39, 9, 9, 9)  # [N m] KORTEX, rated
TORQUE_WARNING = _symmetric(56.7, 56.7, 56.7, 56.7, 29.4, 29.4, 29.4)  # ARMOUR KinovaInfo.h
TORQUE_PLANNER = _symmetric(90, 90, 90, 90, 45, 45, 45)  # RAPTOR KinovaConstants.h, 90 % of the hard limits

LIMITS = JointLimits(
    # The tighter source where two differ: a commanded motion then keeps both.
    position_lower=-POSITION_PLANNER,
    position_upper=POSITION_PLANNER,
    velocity=VELOCITY_URDF,
    acceleration=ACCELERATION_PLANNER,
    torque=TORQUE_PLANNER,
)

MOTOR_CONSTANTS = {
    # KRC run_online_sysid_demo.py: what the authors identify payloads with
    "sysid": MotorConstants(
        coulomb=np.array([0.07840567, 0.35552047, 0.39523440, 0.45348116, 0.09301031, 0.11691337, 0.19954272]),
        viscous=np.array([11.31528137, 13.08049291, 10.84215580, 11.59371952, 9.80408981, 10.62301569, 9.61005652]),
        armature=np.array([7.48535385, 7.32068175, 7.84612368, 7.52851518, 7.42767631, 7.38051793, 7.72484810]),
        offset=np.zeros(7),
    ),
    # OSS config.yaml: what their robust controller runs with
    "controller": MotorConstants(
        coulomb=np.array([0.52173831, 0.57695791, 0.42133979, 0.49455154, 0.16110705, 0.13334912, 0.14344402]),
        viscous=np.array([10.5, 7.40648458, 9.97276334, 8.26679508, 8.85722490, 8.71108316, 8.88819036]),
        armature=np.array([8.03, 11.99620246, 9.00254279, 11.58064393, 8.46650409, 8.85370694, 8.85873037]),
        offset=np.zeros(7),
    ),
}
"""The sources disagree (I_a of joint 2: 7.3 against 12.0). ``sysid`` is the robot's own, for this suite identifies."""

ENCODER_STEP = np.deg2rad([0.02, 0.02, 0.02, 0.02, 0.011, 0.011, 0.011])  # the paper, section VI
