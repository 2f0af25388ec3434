# SPDX-License-Identifier: Apache-2.0
"""What RViz is told: the region holds every centre of mass that the bounds allow, the ellipsoid is the body's."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pinocchio
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("visualization_msgs.msg", reason="visualization_msgs is not installed")

from shared.interval_result import make_result
from shared.kinova_motion import PAYLOAD
from visualization_msgs.msg import Marker, MarkerArray

from sysid_nodes.data.inertia import com_to_parameters
from sysid_nodes.messages.fill import to_message
from sysid_nodes.messages.inertia_markers import solid_ellipsoid
from sysid_nodes.reports.interval.body_markers import body_marker_fields, centre_region
from sysid_nodes.results import IdentificationResult, Status

Array = npt.NDArray[np.float64]


def marker_array(result: IdentificationResult, frame: str) -> MarkerArray:
    made: MarkerArray = to_message(MarkerArray, body_marker_fields(result, frame))
    return made


def known(status: Status = Status.PROVEN, slack: float = 0.1) -> IdentificationResult:
    give = slack * np.abs(PAYLOAD) + 0.01
    return replace(make_result(status), nominal=PAYLOAD, lower=PAYLOAD - give, upper=PAYLOAD + give)


@given(st.data())
def test_the_region_holds_the_centre_of_mass_of_every_body_within_the_bounds(data: st.DataObject) -> None:
    lower, upper, inside = np.zeros(10), np.zeros(10), np.zeros(10)
    for k in range(4):
        ends = sorted(data.draw(st.tuples(st.floats(0.01, 9.0), st.floats(0.01, 9.0))))
        lower[k], upper[k] = (ends[0], ends[1]) if k == 0 else (ends[0] - 4.5, ends[1] - 4.5)
        inside[k] = np.clip(lower[k] + data.draw(st.floats(0.0, 1.0)) * (upper[k] - lower[k]), lower[k], upper[k])
    region = centre_region(lower, upper)
    assert region is not None
    centre = inside[1:4] / inside[0]
    assert (region[0] <= centre).all()
    assert (centre <= region[1]).all()


def test_the_region_is_not_larger_than_it_must_be() -> None:
    lower, upper = np.array([2.0, -1.0, 1.0, -4.0]), np.array([4.0, 1.0, 2.0, -2.0])
    region = centre_region(lower, upper)
    assert region is not None
    np.testing.assert_allclose(region, [[-0.5, 0.25, -2.0], [0.5, 1.0, -0.5]], rtol=1e-15)


def test_there_is_no_region_while_the_mass_may_be_zero() -> None:
    assert centre_region(np.zeros(10), np.ones(10)) is None
    result = known()
    result.lower[0] = 0.0
    assert marker_array(result, "hand").markers[0].action == Marker.DELETE


@given(
    mass=st.floats(0.1, 9.0), radii=st.tuples(*[st.floats(0.01, 0.5)] * 3),
    turn=st.tuples(*[st.floats(-1.0, 1.0)] * 3), centre=st.tuples(*[st.floats(-0.5, 0.5)] * 3),
)  # fmt: skip
def test_the_ellipsoid_has_the_inertial_parameters_it_stands_for(
    mass: float, radii: tuple[float, ...], turn: tuple[float, ...], centre: tuple[float, ...]
) -> None:
    rotation = pinocchio.exp3(np.array(turn))
    made = pinocchio.Inertia.FromEllipsoid(mass, *radii)
    theta = com_to_parameters(mass, np.array(centre), rotation @ made.inertia @ rotation.T)
    found = solid_ellipsoid(theta)
    assert found is not None
    at, axes, semi = found
    # mixed magnitudes: the eigenvalues of a thin body are differences of numbers 2500 times larger
    np.testing.assert_allclose(at, centre, atol=1e-9)
    np.testing.assert_allclose(semi, sorted(radii), rtol=1e-6)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    again = pinocchio.Inertia.FromEllipsoid(mass, *semi)
    back = com_to_parameters(mass, at, axes @ again.inertia @ axes.T)
    np.testing.assert_allclose(back, theta, atol=1e-9)


def test_what_is_not_a_body_has_no_ellipsoid() -> None:
    assert solid_ellipsoid(np.full(10, np.nan)) is None
    assert solid_ellipsoid(np.array([1.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0, 9.0])) is None


def test_all_four_are_in_the_bodys_frame_and_follow_it() -> None:
    region, centre, ellipsoid, text = markers = marker_array(known(), "bracelet_link").markers
    assert {marker.header.frame_id for marker in markers} == {"bracelet_link"}
    assert all(marker.frame_locked and not marker.header.stamp.sec for marker in markers)
    assert len({(marker.ns, marker.id) for marker in markers}) == 4
    assert {marker.action for marker in markers} == {Marker.ADD}
    assert (region.type, centre.type, ellipsoid.type) == (Marker.CUBE, Marker.SPHERE, Marker.SPHERE)
    assert 0.0 < region.color.a < 1.0
    assert text.text == "3.59 to 4.42 kg\nPROVEN"


def test_the_shapes_are_where_the_body_is() -> None:
    region, centre, ellipsoid, _ = marker_array(known(), "bracelet_link").markers
    true = PAYLOAD[1:4] / PAYLOAD[0]
    for axis, value in zip("xyz", true, strict=True):
        middle, size = getattr(region.pose.position, axis), getattr(region.scale, axis)
        assert abs(value - middle) <= 0.5 * size
        assert getattr(centre.pose.position, axis) == pytest.approx(value)
        assert getattr(ellipsoid.pose.position, axis) == pytest.approx(value)
    q = ellipsoid.pose.orientation
    rotation = pinocchio.Quaternion(q.w, q.x, q.y, q.z).toRotationMatrix()
    size = np.array([ellipsoid.scale.x, ellipsoid.scale.y, ellipsoid.scale.z])
    made = pinocchio.Inertia.FromEllipsoid(PAYLOAD[0], *(0.5 * size))
    back = com_to_parameters(PAYLOAD[0], true, rotation @ made.inertia @ rotation.T)
    np.testing.assert_allclose(back, PAYLOAD, atol=1e-12)


def test_a_contradiction_takes_the_shapes_away_and_says_why() -> None:
    *shapes, text = marker_array(make_result(Status.INCONSISTENT), "hand").markers
    assert {shape.action for shape in shapes} == {Marker.DELETE}
    assert text.text == "INCONSISTENT"
