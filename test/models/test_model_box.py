# SPDX-License-Identifier: Apache-2.0
"""The box of models: it holds every physical body within the bounds, its middle is physical, and misuse is refused."""

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.inertia import parameters_to_pseudo_inertia, pseudo_inertia_to_parameters
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig, known_box
from sysid_nodes.models.model_box import model_box
from sysid_nodes.robots import load_robot

ROBOT = load_robot("kinova_gen3", variant="gripper")
KNOWN = KnownRobotConfig()
PRIOR = PriorConfig().bounds
BODY = 6


def eigenvalues(theta):
    return np.linalg.eigvalsh(parameters_to_pseudo_inertia(theta))


def bodies(rng, count):
    """Random mass distributions, many of them flat, thin or small, of the prior's size."""
    for _ in range(count):
        points = rng.normal(size=(rng.integers(1, 6), 3)) * rng.uniform(0.0, 0.4, 3) + rng.uniform(-0.15, 0.15, 3)
        points[:, 2] -= 0.1
        mass = rng.uniform(0.1, 2.0, len(points))
        homogeneous = np.c_[points, np.ones(len(points))]
        yield pseudo_inertia_to_parameters((homogeneous.T * mass) @ homogeneous)


def test_no_physical_body_within_the_bounds_is_left_out():
    box, rng = model_box(ROBOT, KNOWN, PRIOR, BODY), np.random.default_rng(0)
    inside = [x for x in bodies(rng, 20000) if (x >= PRIOR.lower).all() and (x <= PRIOR.upper).all()]
    assert len(inside) > 200
    for theta in inside:
        assert (np.abs(theta - box.theta[BODY]) <= box.theta_radius[BODY]).all()


def test_what_no_body_can_have_is_cut_off():
    """Table I allows negative moments of inertia."""
    box = model_box(ROBOT, KNOWN, PRIOR, BODY)
    lower = box.theta[BODY] - box.theta_radius[BODY]
    upper = box.theta[BODY] + box.theta_radius[BODY]
    for k in (4, 6, 9):
        assert upper[k] - lower[k] < PRIOR.upper[k] - PRIOR.lower[k]
    for k in (5, 7, 8):
        assert max(-lower[k], upper[k]) < 0.2


@pytest.mark.parametrize("share", [1.0, 0.3, 0.01])
def test_the_middle_is_physical_and_the_ends_are_reached(share):
    centre = PRIOR.centre.copy()
    centre[4:] = [0.1, 0.0, 0.1, 0.0, 0.0, 0.02]
    bounds = PRIOR if share == 1.0 else Bounds(centre - share * PRIOR.half_width, centre + share * PRIOR.half_width)
    box = model_box(ROBOT, KNOWN, bounds, BODY)
    assert eigenvalues(box.theta[BODY])[0] >= 0.0
    assert box.theta[BODY, 0] > 0.0
    off = np.maximum(np.abs(box.theta[BODY] - bounds.lower), np.abs(bounds.upper - box.theta[BODY]))
    assert (box.theta_radius[BODY] <= off + 1e-14).all()


def test_the_rest_of_the_robot_is_what_is_known_of_it():
    box = model_box(ROBOT, KNOWN, PRIOR, BODY)
    centre, radius = known_box(ROBOT, KNOWN)
    assert (box.theta[:BODY].ravel() == centre[:60]).all()
    assert (box.theta_radius[:BODY].ravel() == radius[:60]).all()
    assert (box.motor.coulomb == centre[70:77]).all() and (box.motor_radius.viscous == radius[77:84]).all()
    assert (box.armature_lower == centre[84:91] - radius[84:91]).all()
    assert (box.armature_upper == centre[84:91] + radius[84:91]).all()


def test_bounds_of_a_payload_are_added_to_the_body():
    half = np.array([0.1, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01, 0.01])
    load = np.array([2.0, 0.0, 0.0, -0.3, 0.06, 0.0, 0.06, 0.0, 0.0, 0.01])
    box = model_box(ROBOT, KNOWN, Bounds(load - half, load + half), BODY, target="payload")
    own = ROBOT.inertial_parameters()[BODY]
    spread = half + 0.05 * np.abs(own)
    for sign in (-1.0, 1.0):
        ends = own + load + sign * spread
        physical = ends[[0, 1, 2, 3]]
        assert (np.abs(physical - box.theta[BODY, :4]) <= box.theta_radius[BODY, :4]).all()


def test_contains():
    box = model_box(ROBOT, KNOWN, PRIOR, BODY)
    assert box.contains(box.theta, box.motor)
    out = box.theta.copy()
    out[2, 3] += 1.01 * box.theta_radius[2, 3] + 1e-12
    assert not box.contains(out, box.motor)
    assert not box.contains(box.theta, replace(box.motor, coulomb=box.motor.coulomb * 1.06))
    assert not box.contains(np.where(np.arange(10) == 0, np.nan, box.theta), box.motor)


def narrow(**changes):
    """Bounds around a sound body, some entries replaced."""
    centre = np.array([3.0, 0.0, 0.0, -0.4, 0.1, 0.0, 0.1, 0.0, 0.0, 0.02])
    lower, upper = centre - 0.001, centre + 0.001
    for name, (low, high) in changes.items():
        lower[int(name[1:])], upper[int(name[1:])] = low, high
    return Bounds(lower, upper)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        (narrow(p0=(-2.0, -1.0)), "no physical body lies within the bounds on m"),
        (narrow(p4=(0.2, 0.21)), "no physical body lies within the bounds on Ixx"),
        (narrow(p5=(0.05, 0.06)), "no physical body lies within the bounds on Ixy"),
        (narrow(p3=(-2.0, -1.9)), "no physical body lies within the bounds"),
    ],
)
def test_bounds_without_a_physical_body(bounds, words):
    with pytest.raises(ConfigError, match=words):
        model_box(ROBOT, KNOWN, bounds, BODY)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"bounds": Bounds(np.zeros(9), np.ones(9))}, "10 finite intervals"),
        ({"bounds": Bounds(PRIOR.lower, np.full(10, np.inf))}, "10 finite intervals"),
        ({"target": "hand"}, "unknown target 'hand' of the bounds; known: body, payload"),
        ({"known": KnownRobotConfig(armature_relative=1.0)}, "the armature of joint_1 may be zero"),
        ({"known": KnownRobotConfig(friction_relative=1.5)}, "viscous friction may be negative"),
    ],
)
def test_misuse(arguments, words):
    given = {"robot": ROBOT, "known": KNOWN, "bounds": PRIOR, "body": BODY, **arguments}
    with pytest.raises(ConfigError, match=words):
        model_box(**given)


@pytest.mark.parametrize("target", ["body", "payload"])
def test_a_nominal_body_of_ones_own_stands_in_the_middle(target):
    """The box is of the same bodies, wherever within it the law's own stands."""
    bounds = narrow()
    usual = model_box(ROBOT, KNOWN, bounds, BODY, target)
    moved = usual.theta[BODY] + 0.5 * usual.theta_radius[BODY] * np.array([1, -1, 1, -1, 1, 0, 1, 0, 0, 1])
    box = model_box(ROBOT, KNOWN, bounds, BODY, target, moved)
    np.testing.assert_array_equal(box.theta[BODY], moved)
    own = 0.0 if target == "body" else known_box(ROBOT, KNOWN)[0][10 * BODY : 10 * BODY + 10]
    for end in (bounds.lower, bounds.upper):
        assert (np.abs(own + end - box.theta[BODY]) <= box.theta_radius[BODY] + 1e-14).all()
    again = model_box(ROBOT, KNOWN, bounds, BODY, target, usual.theta[BODY])
    np.testing.assert_array_equal(again.theta_radius, usual.theta_radius)


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        (0, 3.0011, "not within"),
        (0, 2.9989, "not within"),
        (9, np.nan, "not within"),
        (4, 0.0995, "not physical"),
    ],
)
def test_a_nominal_body_that_is_none_is_refused(entry, value, words):
    bounds = narrow(p1=(-0.2, 0.2), p4=(0.0, 0.2))
    nominal = np.array([3.0, 0.0, 0.0, -0.4, 0.1, 0.0, 0.1, 0.0, 0.0, 0.02])
    if words == "not physical":
        nominal[1] = 0.2  # the centre of mass is further off than the moment about z allows
    nominal[entry] = value
    with pytest.raises(ConfigError, match=f"the nominal body is {words}"):
        model_box(ROBOT, KNOWN, bounds, BODY, "body", nominal)


@pytest.mark.parametrize("name", ["ur10", "panda"])
def test_robots_without_known_armature_are_refused(name):
    robot = load_robot(name)
    with pytest.raises(ConfigError, match=r"the armature of .* may be zero"):
        model_box(robot, KNOWN, PRIOR, robot.body_index())
