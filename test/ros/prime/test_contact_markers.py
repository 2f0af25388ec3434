# SPDX-License-Identifier: Apache-2.0
"""What RViz is told of contacts: arrows end where force times scale says, cones hold what friction allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from geometry_msgs.msg import Point
from shared.legged_readings import still
from visualization_msgs.msg import Marker, MarkerArray

from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.prime.contact_markers import COLOURS, METRES_PER_NEWTON, contact_marker_fields
from sysid_nodes.messages.prime.estimate import BASE_WRENCH, BASE_WRENCH_SIGMA
from sysid_nodes.results.prime import OutsideWrench
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.ros.prime.messages import (
    to_contact_forces,
    to_inertial_estimate,
    to_joint_state,
    to_odometry,
    to_wrenches,
)
from sysid_nodes.sessions.prime.trust import PrimeJudgement
from sysid_nodes.sessions.prime.update import PrimeUpdate

ROBOT = load_robot("go2")
UP = np.array([0.0, 0.0, 1.0])


def update(status: PrimeStatus = PrimeStatus.GOOD, inflation: float = 1.0) -> PrimeUpdate:
    estimate = still(ROBOT, 100.0 + 0.01 * np.arange(15))
    return PrimeUpdate(estimate, range(12, 14), PrimeJudgement(status, (), inflation), 0.02, 100.14)


def markers(status: PrimeStatus = PrimeStatus.GOOD) -> dict[tuple[str, int], Marker]:
    return {
        (marker.ns, marker.id): marker
        for marker in to_message(MarkerArray, contact_marker_fields(update(status), UP)).markers
    }


def test_a_foot_on_the_ground_has_arrow_and_cone_one_in_the_air_has_them_deleted() -> None:
    found = markers()
    assert len(found) == 3 * 4 + 1
    for name in ("force", "friction_cone"):
        assert found[name, 0].action == Marker.ADD
        assert all(found[name, k].action == Marker.DELETE for k in (1, 2, 3))
    assert all(found["contact", k].action == Marker.ADD for k in range(4))
    assert found["contact", 0].color != found["contact", 1].color
    assert {marker.header.frame_id for marker in found.values()} == {"world"}


def test_a_cone_stands_where_its_contact_is() -> None:
    found = markers()
    cone, contact = found["friction_cone", 0], found["contact", 0]
    assert cone.pose.position == contact.pose.position
    assert cone.points[0] == Point()


def test_the_arrow_shows_the_force() -> None:
    tail, head = markers()["force", 0].points
    assert head.x - tail.x == pytest.approx(5.0 * METRES_PER_NEWTON)
    assert head.z - tail.z == pytest.approx(50.0 * METRES_PER_NEWTON)


@pytest.mark.parametrize("status", PrimeStatus)
def test_the_colour_tells_what_the_estimate_is_worth(status: PrimeStatus) -> None:
    colour = markers(status)["force", 0].color
    assert (colour.r, colour.g, colour.b) == pytest.approx(COLOURS[status])
    assert markers(status)["status", 0].text.startswith(status.name)
    assert len(set(COLOURS.values())) == len(PrimeStatus)


def test_a_force_that_is_not_known_is_not_drawn() -> None:
    unknown = replace(update(), stages=range(14, 15))
    found = {
        (marker.ns, marker.id): marker for marker in to_message(MarkerArray, contact_marker_fields(unknown, UP)).markers
    }
    assert found["force", 0].action == Marker.DELETE


def test_forces_and_their_sigma_in_newtons_scaled_by_the_doubt() -> None:
    message = to_contact_forces(update(PrimeStatus.DOUBTFUL, inflation=4.0), 13)
    assert message.status == PrimeStatus.DOUBTFUL
    assert message.header.stamp.sec == 100
    assert message.header.stamp.nanosec == pytest.approx(130_000_000, abs=1000)
    first = message.contacts[0]
    assert (first.frame, first.in_contact) == ("FL_foot", True)
    assert (first.force.x, first.force.z) == (5.0, 50.0)
    assert (first.force_sigma.x, first.force_sigma.y, first.force_sigma.z) == pytest.approx((2.0, 4.0, 6.0))


def test_a_push_is_on_the_base_in_its_axes_and_its_sigma_scaled_by_the_doubt() -> None:
    base = update(PrimeStatus.DOUBTFUL, inflation=4.0)
    assert to_wrenches(base, 13, "base") == {}
    wrench = np.tile(np.arange(6.0), (15, 1))
    pushed = replace(base, estimate=replace(base.estimate, outside=OutsideWrench(wrench, 0.5 + wrench)))
    found = to_wrenches(pushed, 13, "base")
    value, sigma = found[BASE_WRENCH], found[BASE_WRENCH_SIGMA]
    assert value.header.frame_id == sigma.header.frame_id == "base"
    assert (value.wrench.force.y, value.wrench.torque.z) == (1.0, 5.0)
    assert (sigma.wrench.force.y, sigma.wrench.torque.z) == (3.0, 11.0)


def test_the_odometry_s_covariance_is_turned_into_the_world() -> None:
    """The tangent's first three are the base's own axes: a robot that lies on its side swaps them."""
    base = update()
    q = base.estimate.q.copy()
    q[:, 3:7] = [0.0, 0.0, np.sin(np.pi / 4), np.cos(np.pi / 4)]  # a quarter turn to the left: own x is the world's y
    spread = base.estimate.q_covariance.copy()
    spread[:, 0, 0] = 4e-6
    turned = replace(base, estimate=replace(base.estimate, q=q, q_covariance=spread))
    message = to_odometry(turned, 13, "base")
    covariance = np.array(message.pose.covariance).reshape(6, 6)
    np.testing.assert_allclose(np.diag(covariance), [1e-6, 4e-6, 1e-6, 1e-6, 1e-6, 1e-6], atol=1e-12)
    assert (message.header.frame_id, message.child_frame_id) == ("world", "base")
    assert message.pose.pose.orientation.w == pytest.approx(np.cos(np.pi / 4))


def test_smoothed_joints_go_by_the_robot_s_names() -> None:
    message = to_joint_state(update(), 13, ROBOT.joint_names)
    assert tuple(message.name) == ROBOT.joint_names
    assert len(message.position) == len(message.velocity) == 12
    assert len(message.effort) == 0


def test_the_inertia_is_the_body_s_with_its_sigmas() -> None:
    message = to_inertial_estimate(update(), ROBOT)
    theta = ROBOT.inertial_parameters()[0]
    np.testing.assert_allclose(message.estimate, theta)
    np.testing.assert_allclose(message.sigma, 0.01)
    assert message.centre_of_mass.x == pytest.approx(theta[1] / theta[0])
    assert (message.robot, message.body) == ("go2", "base")
    assert message.message.startswith(PrimeStatus.GOOD.message)
