# SPDX-License-Identifier: Apache-2.0
"""Contact points from a configuration, for robots that bring none."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import ContactsConfig, ContactSpec, Robot, load_robot, with_contacts


@pytest.fixture(scope="module")
def z1() -> Robot:
    return load_robot("z1")


def test_a_robot_with_a_fixed_base_has_none(z1: Robot) -> None:
    assert z1.contacts == ()
    assert (z1.motor_order, z1.imu) == ((), "")


def test_points_go_from_link_frames_to_joint_frames() -> None:
    go2 = load_robot("go2")
    own = with_contacts(go2, [ContactSpec("nose", "radar", (0.1, 0.0, 0.0), 0.05), ContactSpec("toe", "FL_foot")])
    nose, toe = own.contacts
    # The radar's frame is pitched by 2.8782 rad (its URDF), so its x axis points back and down in the base frame.
    np.testing.assert_allclose(
        nose.position, [0.28945 + 0.1 * np.cos(2.8782), 0.0, -0.046825 - 0.1 * np.sin(2.8782)], atol=1e-4
    )
    assert (nose.joint, nose.radius, nose.link) == ("root_joint", 0.05, "radar")
    assert toe.joint == "FL_calf_joint"
    np.testing.assert_array_equal(toe.position, [0.0, 0.0, -0.213])
    assert len(go2.contacts) == 4  # the robot that was loaded is as it was


def test_configuration_reads_flat_lists() -> None:
    flat = {"links": "a, b,a", "positions": [float(k) for k in range(9)], "radii": [0.02]}
    specs = from_flat(ContactsConfig, flat).specs()
    assert [spec.name for spec in specs] == ["a_1", "b", "a_2"]
    assert [spec.position for spec in specs] == [(0.0, 1.0, 2.0), (3.0, 4.0, 5.0), (6.0, 7.0, 8.0)]
    assert {spec.radius for spec in specs} == {0.02}
    assert ContactsConfig().specs() == ()
    assert ContactsConfig("foot").specs() == (ContactSpec("foot", "foot"),)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (ContactsConfig("a,b", (1.0, 2.0, 3.0)), "2 contact links need 6 position numbers, got 3"),
        (ContactsConfig("a,b,c", radii=(0.1, 0.2)), "3 contact links need one radius or 3, got 2"),
        (ContactsConfig("", (1.0, 2.0, 3.0)), "0 contact links need 0 position numbers, got 3"),
    ],
)
def test_numbers_must_fit_the_links(config: ContactsConfig, message: str) -> None:
    with pytest.raises(RobotError, match=message):
        config.specs()


@pytest.mark.parametrize(
    ("specs", "message"),
    [
        (
            [ContactSpec("a", "paw")],
            "contact point 'a' of robot 'z1': no link 'paw'; the robot has gripperMover, ",
        ),
        ([ContactSpec("a", "link00")], "link 'link00' does not move"),
        ([ContactSpec("a", "link06", (0.0, float("nan"), 0.0))], "must be three finite numbers"),
        ([ContactSpec("a", "link06", (0.0, 0.0))], "must be three finite numbers"),  # type: ignore[arg-type]
        ([ContactSpec("a", "link06", radius=-0.01)], "radius must not be negative, got -0.01 m"),
        ([ContactSpec("a", "link06"), ContactSpec("a", "link05")], "two contact points of robot 'z1' are named 'a'"),
    ],
)
def test_bad_contact_is_one_clear_line(z1: Robot, specs: list[ContactSpec], message: str) -> None:
    with pytest.raises(RobotError, match=message):
        with_contacts(z1, specs)


def test_own_urdf_of_a_known_robot_keeps_feet_imu_and_motor_order() -> None:
    go2 = load_robot("go2")
    own = load_robot(
        "go2", urdf_text=go2.urdf.replace('name="imu"', 'name="imu_link"').replace('"imu" />', '"imu_link" />')
    )
    assert [point.name for point in own.contacts] == [point.name for point in go2.contacts]
    assert own.motor_order == go2.motor_order
    assert own.imu == ""  # that URDF has no such link
    np.testing.assert_array_equal(own.motor.armature, go2.motor.armature)
