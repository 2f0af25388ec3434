# SPDX-License-Identifier: Apache-2.0
"""Inverse dynamics and contacts of floating-base robots along a trajectory, with both kernels."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio
import pytest
from shared.moving_robot import base_of, by_stage, random_trajectory

from sysid_nodes.exceptions import RobotError
from sysid_nodes.kernel import stages
from sysid_nodes.models.contact import ContactPlane
from sysid_nodes.models.contact_motion import contact_motion
from sysid_nodes.models.discrete_motion import discrete_motion
from sysid_nodes.models.floating_base import (
    FloatingBase,
    contact_kinematics,
    inverse_dynamics,
    inverse_dynamics_derivatives,
)
from sysid_nodes.robots import load_robot

DT = 0.02
KERNELS = ["reference", *(["compiled"] if stages._stages is not None else [])]


def loads(nc: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(7)
    return 10.0 * rng.normal(size=(3, nc, 3)), rng.normal(size=(3, nc, 3))


@pytest.mark.parametrize("kernel", KERNELS)
def test_against_pinocchio(kernel: str) -> None:
    robot, base = load_robot("go2"), base_of("go2", kernel)
    q = random_trajectory("go2", 0)
    motion = discrete_motion(q, DT)
    force, moment = loads(4)
    out = inverse_dynamics(base, base.inertia, q, motion, force, moment)
    model, data = robot.model, robot.model.createData()
    kinematics = contact_kinematics(base, q)
    for k in range(3):
        expected = pinocchio.rnea(model, data, q[k + 1], motion.velocity[k], motion.acceleration[k])
        for i in range(4):
            expected -= kinematics.linear[k + 1, i].T @ force[k, i] + kinematics.angular[k + 1, i].T @ moment[k, i]
        expected[6:] += robot.motor.armature * motion.acceleration[k, 6:]
        np.testing.assert_allclose(out[k], expected, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name", ["go2", "g1"])
def test_derivatives(name: str, kernel: str) -> None:
    base = base_of(name, kernel)
    friction = replace(base.motor, viscous=np.full(len(base.motor.viscous), 0.1))
    base = replace(base, motor=replace(friction, coulomb=np.full(len(friction.coulomb), 0.3)))
    q = random_trajectory(name, 1)
    force, moment = loads(base.contacts)
    bodies = np.array([0, 3])
    arguments = (base, base.inertia, q, discrete_motion(q, DT), force, moment)
    out, jacobian, regressor = inverse_dynamics_derivatives(*arguments, bodies)
    np.testing.assert_allclose(out, inverse_dynamics(*arguments), rtol=1e-10, atol=1e-8)
    for stage in (1, 2, 3):
        numeric = by_stage(
            lambda x: inverse_dynamics(base, base.inertia, x, discrete_motion(x, DT), force, moment)[1], q, stage
        )
        # Entries reach 1e5 N m/rad (masses over dt^2); rounding of the differences is relative to that.
        np.testing.assert_allclose(jacobian[1, :, stage - 1], numeric, atol=1e-9 * np.abs(numeric).max())
    for index, body in enumerate(bodies):
        # Linear in the parameters: a difference of any size is exact but for rounding.
        heavier = base.inertia.copy()
        change = np.array([0.5, 0.02, -0.01, 0.03, 0.01, 0.001, 0.02, -0.002, 0.001, 0.015])
        heavier[body] += change
        moved = inverse_dynamics(base, heavier, q, discrete_motion(q, DT), force, moment)
        np.testing.assert_allclose(regressor[:, :, 10 * index : 10 * index + 10] @ change, moved - out, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS)
def test_contact_jacobians(kernel: str) -> None:
    base = base_of("g1", kernel)
    q = random_trajectory("g1", 2)
    kinematics = contact_kinematics(base, q)
    numeric = by_stage(lambda x: contact_kinematics(base, x).centre[2], q, 2)
    np.testing.assert_allclose(kinematics.linear[2], numeric, atol=1e-8)


@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.6, 0.0, 0.8)])
def test_contact_motion_derivatives(normal: tuple[float, float, float]) -> None:
    base = base_of("go2")
    q = random_trajectory("go2", 3)
    plane, radii = ContactPlane(normal, 0.1), base.contact_radii + 0.05

    def motion(x: np.ndarray, derivatives: bool = False):  # type: ignore[no-untyped-def]
        return contact_motion(contact_kinematics(base, x), radii, plane, 0.02, DT, derivatives=derivatives)

    found = motion(q, True)
    for stage in (1, 2, 3):
        numeric = by_stage(lambda x: motion(x).slip[1], q, stage)
        np.testing.assert_allclose(found.slip_jacobian[1, ..., stage - 1, :], numeric, atol=1e-7)
    np.testing.assert_allclose(found.gap_jacobian[2], by_stage(lambda x: motion(x).gap[2], q, 2), atol=1e-8)


def test_a_rolling_sphere_does_not_slide() -> None:
    """A sphere on a plane that turns about y by w and moves by w r: its lowest point stands still."""
    base = base_of("go2")
    turn = 0.03 * np.arange(4)
    count = len(turn)
    rotation = np.zeros((count, 4, 3, 3))
    rotation[..., 0, 0] = rotation[..., 2, 2] = np.cos(turn)[:, None]
    rotation[..., 0, 2] = np.sin(turn)[:, None]
    rotation[..., 2, 0] = -np.sin(turn)[:, None]
    rotation[..., 1, 1] = 1.0
    radius = base.contact_radii[0]
    centre = np.zeros((count, 4, 3))
    centre[..., 0], centre[..., 2] = radius * turn[:, None], radius
    empty = np.zeros((count, 4, 3, 18))
    kinematics = replace(
        contact_kinematics(base, random_trajectory("go2", 0, count)),
        centre=centre,
        rotation=rotation,
        linear=empty,
        angular=empty,
    )
    found = contact_motion(kinematics, base.contact_radii, ContactPlane(), 0.0, 0.01, derivatives=False)
    np.testing.assert_allclose(found.gap, 0.0, atol=1e-15)
    np.testing.assert_allclose(found.slip, 0.0, atol=1e-14)


@pytest.mark.skipif(len(KERNELS) == 1, reason="the compiled kernel is not built")
@pytest.mark.parametrize("name", ["go2", "g1"])
def test_kernels_agree(name: str) -> None:
    q = random_trajectory(name, 5)
    motion = discrete_motion(q, DT)
    results = []
    for kernel in KERNELS:
        base = base_of(name, kernel)
        force, moment = loads(base.contacts)
        arguments = (base, base.inertia, q, motion, force, moment)
        results.append((*base.kernel.kinematics(q), *inverse_dynamics_derivatives(*arguments, np.array([0, 2]))))
    for first, second in zip(*results, strict=True):
        np.testing.assert_allclose(first, second, rtol=1e-10, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "message"), [("panda", "has a fixed base"), ("floating_without_contacts", "has no contact points")]
)
def test_robots_it_does_not_take(name: str, message: str) -> None:
    robot = load_robot("panda") if name == "panda" else replace(load_robot("go2"), contacts=())
    with pytest.raises(RobotError, match=message):
        FloatingBase.from_robot(robot)
