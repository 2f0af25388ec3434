# SPDX-License-Identifier: Apache-2.0
"""More uncertainty never certifies more, and what is certified is free of contact by another library's geometry."""

from __future__ import annotations

from dataclasses import replace

import coal
import numpy as np
import pinocchio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.certified_arm import MOTOR, SCENE, START, box, draw_in_ball, robot, shapes

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results.certificate import Certificate, Entry
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.robots.robot import MotorConstants
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.error_proof import ErrorProblem, closed_loop
from sysid_nodes.systems.certified.certificate.handover import at_rest, handover_entry
from sysid_nodes.systems.certified.certificate.motion import desired_motion, jerk_bound

STILL = np.zeros(7)
EDGES = np.linspace(0.0, 3.0, 4)
TREE = Chain.from_robot(robot()).tree

Margins = dict[str, float]

# Everything a user can raise to be more careful, with a range in which certificates turn from yes to no.
GEOMETRY = {
    "grasp_error": (0.0, 0.3),
    "dumbbell": (1.0, 20.0),
    "obstacle": (0.05, 0.9),
    "distance_margin": (0.0, 0.1),
    "stop_travel": (0.0, 0.2),
    "stop_reaction": (0.0, 0.2),
    "stop_acceleration": (0.0, 30.0),
}
ERRORS = {
    "delay": (0.0, 0.003),
    "period": (2e-4, 0.002),
    "position_error": (1e-6, 2e-3),
    "velocity_error": (0.0, 5e-3),
    "torque_error": (0.0, 3.0),
    "inertia": (0.1, 4.0),
    "coulomb": (0.1, 4.0),
    "viscous": (0.1, 4.0),
    "armature": (0.1, 4.0),
    "offset": (0.1, 4.0),
    "start_speed": (0.0, 0.02),
    "start_distance": (0.0, 0.005),
    "torque_margin": (0.0, 6.0),
}


def control(name: str, value: float) -> RobustControlConfig:
    if name in ("delay", "period"):
        # The law stays the same: what yields to a delay by itself is another law.
        return RobustControlConfig(**{name: value}, damping_share=10.0)  # type: ignore[arg-type]
    if name in ("position_error", "velocity_error", "torque_error"):
        return RobustControlConfig(**{name: (value,)})  # type: ignore[arg-type]
    return RobustControlConfig()


def models(name: str, value: float) -> ModelBox:
    """Models of a box, one kind of its half-widths as many times as large; armature stays positive."""
    given_box = box(0.05)
    if name == "inertia":
        return replace(given_box, theta_radius=value * given_box.theta_radius)
    if name in MOTOR:
        radius = {part: getattr(given_box.motor_radius, part) for part in MOTOR} | {
            name: value * getattr(given_box.motor_radius, name)
        }
        if name == "offset":  # which has none in this box
            radius[name] = np.full(7, 0.2 * value)
        return replace(given_box, motor_radius=MotorConstants(**radius))
    return given_box


def certify(plan: Bezier, name: str, value: float) -> Certificate:
    own = {"distance_margin", "torque_margin", "start_speed", "start_distance", "stop_travel", "stop_reaction"}
    config: dict[str, object] = {"intervals": 8}
    if name.startswith("stop"):
        config |= {"stop_deceleration": (3.0,), "stop_reaction": 0.02}
    if name in own or name == "stop_acceleration":
        config[name] = value
    load = PayloadVolumeConfig(**{name: value} if name in ("grasp_error", "dumbbell") else {})  # type: ignore[arg-type]
    size = value if name == "obstacle" else 0.2
    scene = Scene((Obstacle("post", "box", (0.35, -0.9, 0.2), size=(size, size, 2.0 * size)),))
    made = Certifier(
        robot(),
        (*cover("gripper"), *payload_volume(load)),
        control(name, value),
        CertifierConfig(**config),  # type: ignore[arg-type]
    )
    bounds = models(name, value)
    return made.certify(plan, bounds, made.at_rest(bounds), scene)


postures = st.lists(st.floats(-0.5, 0.5), min_size=7, max_size=7).map(lambda x: START + np.array(x))
shares = st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)).map(sorted)


def raised(careless: Certificate, careful: Certificate, kinds: tuple[str, ...]) -> float:
    """By how much a margin of these kinds is larger for more uncertainty; minus infinite where none is."""
    pairs = [(np.asarray(getattr(x.margins, kind)) for x in (careless, careful)) for kind in kinds]
    return max(float((two[np.isfinite(two)] - one[np.isfinite(two)]).max(initial=-np.inf)) for one, two in pairs)


@pytest.mark.parametrize("name", GEOMETRY)
@settings(max_examples=3)
@given(q=postures, k=st.floats(-0.2, 0.2), share=shares)
def test_more_room_never_certifies_more(name: str, q: np.ndarray, k: float, share: list[float]) -> None:
    plan, (low, high) = Bezier(q, STILL, STILL, np.full(7, k), 3.0), GEOMETRY[name]
    careless, careful = (certify(plan, name, low + x * (high - low)) for x in share)
    assert careless.certified or not careful.certified
    # Distances are worked out along a direction that is good, not best: a tenth of a millimetre may be lost by one.
    assert raised(careless, careful, ("obstacle", "self_distance", "position")) <= 1e-4


@pytest.mark.parametrize("name", ERRORS)
@settings(max_examples=2)
@given(q=postures, k=st.floats(-0.2, 0.2), share=shares)
def test_more_uncertainty_never_certifies_more(name: str, q: np.ndarray, k: float, share: list[float]) -> None:
    plan, (low, high) = Bezier(q, STILL, STILL, np.full(7, k), 3.0), ERRORS[name]
    careless, careful = (certify(plan, name, low + x * (high - low)) for x in share)
    assert careless.certified or not careful.certified
    if careful.certified and careful.proof == careless.proof:
        # Errors are narrowed until they prove themselves and no further, so that one proof's margins may be less than
        # another's by what is left to narrow: these tolerances are what was seen, doubled. The step itself is exactly
        # monotone, see below.
        assert raised(careless, careful, ("position", "obstacle", "self_distance")) <= 2e-3
        assert raised(careless, careful, ("velocity", "torque")) <= 0.15


def follow(name: str, value: float, plan: Bezier) -> np.ndarray:
    """(K,) all bounds that follow from one and the same assumption: level, |e|, |dr/dt|, command, V at a hand-over."""
    bounds, law_config = models(name, value), control(name, value)
    law = gains(robot(), law_config)
    rest = {"start_speed": 0.003, "start_distance": 0.0005} | ({name: value} if name.startswith("start") else {})
    age, jerk = law_config.age, jerk_bound(plan, EDGES)
    problem = ErrorProblem(
        tree=TREE,
        plan=plan,
        box=bounds,
        gains=law,
        loop=closed_loop(bounds, law, law_config),
        start=handover_entry(TREE, bounds, at_rest(TREE, bounds, law, **rest), jerk[0], 4.0, age),
        torque_limit=robot().limits.torque - (value if name == "torque_margin" else 0.0),
    )
    assumed = Assumed(np.full(4, 0.02), np.full(4, 0.05), np.full((4, 7), 5.0))
    outcome = problem.follow(desired_motion(plan, EDGES), jerk, assumed)
    if outcome is None:
        return np.full(1, np.inf)
    errors, demand, loop, rate = outcome[:4]
    moved = Entry(0.01, 0.02, 5.0, np.ones(7))
    handed = handover_entry(TREE, bounds, moved, jerk[0], 4.0, age)
    parts = (errors.level, errors.position, rate.speed, demand.nominal_torque, -loop.limit, [handed.level])
    return np.concatenate([np.ravel(part) for part in parts])


@pytest.mark.parametrize("name", ERRORS)
@settings(max_examples=3)
@given(q=postures, k=st.floats(-0.2, 0.2), share=shares)
def test_every_bound_grows_with_every_uncertainty(name: str, q: np.ndarray, k: float, share: list[float]) -> None:
    """From the same assumption, so that what proves itself for more uncertainty does so for less."""
    plan, (low, high) = Bezier(q, STILL, STILL, np.full(7, k), 3.0), ERRORS[name]
    careless, careful = (follow(name, low + x * (high - low), plan) for x in share)
    if np.isfinite(careful).all():
        assert np.isfinite(careless).all()
        assert (careless <= careful + 1e-12 * np.abs(careful)).all()


@pytest.mark.parametrize("name", [name for name in ERRORS if name[:5] not in ("start", "torqu")] + ["torque_error"])
def test_no_uncertainty_is_left_out(name: str) -> None:
    """Each of them alone makes the steady error larger."""
    low, high = ERRORS[name]
    plan = Bezier(START, STILL, STILL, np.full(7, 0.2), 3.0)
    less, more = (follow(name, low + x * (high - low), plan)[1:4] for x in (0.1, 0.3))
    assert np.isfinite(more).all()
    assert (less < (1.0 - 1e-4) * more).all()


def solid(size: np.ndarray | tuple[float, ...]) -> coal.Box:
    return coal.Box(*(2.0 * np.asarray(size, dtype=float)))


def apart(one: tuple[coal.Box, pinocchio.SE3], two: tuple[coal.Box, pinocchio.SE3]) -> float:
    """Distance by coal [m], negative where they overlap."""
    placed = [x for shape, pose in (one, two) for x in (shape, coal.Transform3s(pose.rotation, pose.translation))]
    return float(coal.distance(*placed, coal.DistanceRequest(), coal.DistanceResult()))


@settings(max_examples=12)
@given(
    q=st.lists(st.floats(-1.0, 1.0), min_size=7, max_size=7).map(lambda x: START + np.array(x)),
    room=st.floats(0.0, 0.25),
    seed=st.integers(0, 100),
)
def test_coal_finds_what_was_certified_apart(q: np.ndarray, room: float, seed: int) -> None:
    """Every pair but those that one joint holds together, by another library, anywhere within the errors."""
    load = payload_volume(PayloadVolumeConfig(grasp_error=room))
    every = (*cover("gripper"), *load)
    made = Certifier(robot(), every, RobustControlConfig(), CertifierConfig(intervals=8, distance_margin=0.0))
    bounds, plan = box(0.05), Bezier(q, STILL, STILL, np.full(7, 0.05), 3.0)
    found = made.certify(plan, bounds, made.at_rest(bounds), SCENE)
    if not found.certified:
        return
    rng, data = np.random.default_rng(seed), robot().model.createData()
    names = list(robot().model.names)
    post = (coal.Box(*SCENE.obstacles[0].size), pinocchio.SE3(np.eye(3), np.array(SCENE.obstacles[0].position)))
    for t in (0.0, 1.3, 3.5):
        assert found.envelope is not None
        e = draw_in_ball(rng, 1, 7)[0] * found.envelope.position_error[found.envelope.interval(t)]
        pinocchio.forwardKinematics(robot().model, data, plan(t).q - e)
        bodies = []
        for shape in every:
            joint = names.index(shape.frame)
            bodies.append(
                (joint, solid(shape.size), data.oMi[joint].act(pinocchio.SE3(shape.rotation, shape.position)))
            )
        for i, (first, *one) in enumerate(bodies):
            if first:
                assert apart(tuple(one), post) >= found.margins.obstacle - 1e-6
            for second, *two in bodies[i + 1 :]:
                held = second == 7 and two[0].halfSide[1] == pytest.approx(load[0].size[1])
                if second != first and (second - first > 1 or held):
                    assert apart(tuple(one), tuple(two)) >= found.margins.self_distance - 1e-6


@pytest.mark.parametrize("grasp_error", [0.19, 0.20, 0.21, 0.25])
def test_a_room_that_reaches_the_forearm_is_refused_however_large(grasp_error: float) -> None:
    q = np.array([0.0, 0.3, 0.0, -0.9, 0.0, 0.1, 0.0])
    made = Certifier(
        robot(),
        (*cover("gripper"), *payload_volume(PayloadVolumeConfig(grasp_error=grasp_error))),
        RobustControlConfig(),
        CertifierConfig(),
    )
    found = made.certify(Bezier(q, STILL, STILL, np.full(7, 0.05), 3.0), box(), made.at_rest(box()), Scene(()))
    assert not found.certified and found.margins.self_distance < 0.0
    assert shapes()[-1].load
