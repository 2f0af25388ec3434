# SPDX-License-Identifier: Apache-2.0
"""The way of the robot's own stop: postures it could take, measured by an engine that shares no code with the proof."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from shared.certified_arm import SCENE, START, box, certifier, draw_in_ball, plan, robot, shapes

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.intervals import Affine
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.rollouts.contact_watch import ContactWatch
from sysid_nodes.systems.certified.certificate import own_stop
from sysid_nodes.systems.certified.certificate.config import CertifierConfig, TrackingConfig
from sysid_nodes.systems.certified.certificate.own_stop import OwnStop, own_stop_words, sweep_stop
from sysid_nodes.systems.certified.certificate.recursion import place

ENGINE = 2e-6
"""Error of the engine's distances [m]."""

KEEP = CertifierConfig().distance_margin
STOP = OwnStop(np.array([1.0, 1.5, 1.0, 1.5, 2.0, 2.0, 2.0]), reaction=0.02, acceleration=1.5, travel=0.005)
STOPPING = {
    "stop_deceleration": tuple(STOP.deceleration),
    "stop_reaction": 0.02,
    "stop_acceleration": 1.5,
    "stop_travel": 0.005,
}
NEAR = Scene((*SCENE.obstacles, Obstacle("ball", "sphere", (0.03, 0.72, 0.25), (0.1,))))


def stops(rng: np.random.Generator, q: np.ndarray, qd: np.ndarray, count: int) -> np.ndarray:
    """(count, n) postures of stops that begin at a state (n,), the joints anywhere on their ways, many at their ends.

    Each joint accelerates as it may for as long as the robot may react, brakes as it likes, but not less than it must,
    and strays by what it may.
    """
    many = (count, len(q))
    begins = STOP.reaction * rng.choice([0.0, 1.0], many)
    pushed = STOP.acceleration * rng.choice([-1.0, 0.0, 1.0], many)
    q, qd = q + begins * (qd + 0.5 * pushed * begins), qd + begins * pushed
    harder = STOP.deceleration * (1.0 + rng.exponential(1.0, many) * rng.choice([0.0, 1.0], (count, 1)))
    most = np.abs(qd) / harder
    t = most * np.where(rng.random(many) < 0.5, 1.0, rng.random(many))
    way = np.abs(qd) * t - 0.5 * harder * t**2
    return np.asarray(q + np.sign(qd) * way + STOP.travel * rng.choice([-1.0, 0.0, 1.0], many))


@pytest.mark.parametrize(("seed", "size"), [(0, 0.3), (1, 0.6), (3, 0.6)])
def test_no_posture_of_a_stop_is_nearer_than_certified(seed: int, size: float) -> None:
    wanted, rng = plan(size, seed=seed), np.random.default_rng(seed)
    plain, found = (
        judge.certify(wanted, box(0.1), judge.at_rest(box(0.1)), NEAR) for judge in (certifier(), certifier(**STOPPING))
    )
    assert found.envelope is not None, found.binding
    watch = ContactWatch(robot(), shapes(), NEAR.obstacles, self_collision_pairs(robot(), shapes()).kept)
    margins, limits = found.margins, robot().limits
    outside = within = np.inf
    for t in rng.uniform(0.0, 3.4, 90):
        i, state = found.envelope.interval(t), wanted(t)
        e, r = draw_in_ball(rng, 2, 7) * [found.envelope.position_error[i], found.envelope.reference_error[i]]
        # The true state is the desired one less e and less de/dt = r - K_r e.
        for q in stops(rng, state.q - e, state.qd - (r - 4.0 * e), 12):
            outside = min(outside, watch.to_obstacles(q).distance)
            within = min(within, watch.to_itself(q).distance)
            room = np.minimum(limits.position_upper - q, q - limits.position_lower)
            assert (room >= margins.position - 1e-12).all()
    assert margins.obstacle + KEEP <= max(outside, 0.0) + ENGINE
    assert margins.self_distance + KEEP <= max(within, 0.0) + ENGINE
    # The samples are such that what is certified without the stop does not hold for them.
    assert outside < plain.margins.obstacle + KEEP or within < plain.margins.self_distance + KEEP
    assert within - margins.self_distance - KEEP < 0.03


def test_nor_behind_a_position_controller() -> None:
    """Whose errors fill a box."""
    wanted, rng, tracking = plan(0.6, seed=1), np.random.default_rng(1), TrackingConfig((0.01,), (0.03,))
    found = certifier(**STOPPING).certify_tracked(wanted, box(0.1), tracking, NEAR)
    assert found.envelope is not None, found.binding
    watch = ContactWatch(robot(), shapes(), NEAR.obstacles, self_collision_pairs(robot(), shapes()).kept)
    nearest = np.full(2, np.inf)
    for t in rng.uniform(0.0, 3.4, 60):
        e, de = rng.choice([-1.0, 1.0], (2, 7)) * [[0.01], [0.03]]
        state = wanted(t)
        for q in stops(rng, state.q - e, state.qd - de, 12):
            nearest = np.minimum(nearest, [watch.to_obstacles(q).distance, watch.to_itself(q).distance])
    certified = np.array([found.margins.obstacle, found.margins.self_distance]) + KEEP
    assert (certified <= np.maximum(nearest, 0.0) + ENGINE).all()
    assert (certified > nearest - 0.15).all()


def test_it_takes_little_at_rest_and_the_more_the_faster() -> None:
    """5 mrad at rest: levers of whatever posture would make 25 mm of them and more."""
    lost = []
    for size in (0.0, 0.3, 0.6):
        wanted = Bezier(START, np.zeros(7), np.zeros(7), size * np.array([1.0, -0.3, 0.5, 0.3, 1.0, 0.5, 1.0]), 3.0)
        plain, kept = (
            judge.certify(wanted, box(0.1), judge.at_rest(box(0.1)), NEAR).margins
            for judge in (certifier(), certifier(**STOPPING))
        )
        limited = np.isfinite(plain.position)
        assert (kept.position[limited] < plain.position[limited] - 0.0049).all()
        lost.append([plain.obstacle - kept.obstacle, plain.self_distance - kept.self_distance])
    away, own = np.array(lost).T
    assert 0.0025 < away[0] < 0.02 and 0.0 < own[0] < 0.01
    assert (np.diff(away) > 0.0).all() and (np.diff(own) > 0.0).all()


def test_the_way_goes_on_as_the_joint_moves() -> None:
    below, above = STOP.reach(np.full((1, 7), 0.1), np.full((1, 7), 0.4))
    # In 0.02 s at 1.5 rad/s2 it gains 0.03 rad/s and 0.3 mrad.
    assert below[0] == pytest.approx(0.005 + 0.0003 + 0.03**2 / (2.0 * STOP.deceleration))
    assert above[0] == pytest.approx(0.005 + 0.0083 + 0.43**2 / (2.0 * STOP.deceleration))


def test_a_stop_of_some_joints_is_refused() -> None:
    with pytest.raises(ConfigError, match="must be positive for every joint, or 0 for all of them"):
        certifier(stop_deceleration=(1.0, 1.0, 0.0, 1.0, 1.0, 1.0, 1.0))
    assert OwnStop.of(CertifierConfig(), 7) is None


def test_what_certificates_say_of_it() -> None:
    assert "do not keep" in own_stop_words(CertifierConfig(), 7)
    assert (
        "keep the way of the robot's own stop clear: 1 rad/s2 or more after 0.02 s of at most 1.5 rad/s2, 0.005 rad"
        in own_stop_words(
            CertifierConfig(**STOPPING),
            7,  # type: ignore[arg-type]
        )
    )


@pytest.mark.parametrize(("below", "above"), [(0.3, 0.1), (0.9, 1e-17), (1e-17, 0.9), (2.0**-30, 1e8)])
def test_ways_that_are_rounded_lose_nothing(below: float, above: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """The box that posture and stop fill, in rational numbers: no less, and no more than digits can be lost."""
    seen = []
    monkeypatch.setattr(own_stop, "place", lambda tree, q, *, boxed: seen.append(q) or place(tree, q, boxed=boxed))
    tree, centre = Chain.from_robot(robot()).tree, np.full((1, 7), 0.7)
    ways = np.full((1, 7), below), np.full((1, 7), above)
    sweep_stop(tree, Affine(centre, np.zeros((15, 1, 7)), np.zeros((1, 7))), *ways, boxed=False)
    for j in range(7):
        middle, half = Fraction(float(seen[0].centre[0, j])), Fraction(float(seen[0].terms[8 + j, 0, j]))
        least, most = Fraction(0.7) - Fraction(below), Fraction(0.7) + Fraction(above)
        size = Fraction(0.7) + Fraction(below) + Fraction(above)
        assert middle - half <= least - size / 10**16 and middle + half >= most + size / 10**16
        assert half <= (Fraction(below) + Fraction(above)) / 2 + 2 * size / 10**15
