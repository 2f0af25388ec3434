# SPDX-License-Identifier: Apache-2.0
"""The standard programmes on five robots each, with other loads and grounds; and what should bring one down."""

from __future__ import annotations

import numpy as np
import pytest
from shared.quick_and_slow import mark_slow

from sysid_nodes.exceptions import InputError
from sysid_nodes.simulation.legged.kinematics import bump, smooth_step
from sysid_nodes.simulation.legged.motion_g1 import DANCE, Move, Programme, foot_pose
from sysid_nodes.simulation.legged.motion_go2 import SHOW, Phase, Sway, phase_at, sway_at


def draw(seed, mass, reach):
    """A load and a ground that the robot does not know of."""
    rng = np.random.default_rng(seed)
    return {
        "load__mass": float(rng.uniform(0.0, mass)),
        "load__position": (*rng.uniform(-reach, reach, 2), 0.1),
        "load__com_shift": tuple(rng.uniform(-0.02, 0.02, 3)),
        "ground__friction": float(rng.uniform(0.55, 1.0)),
        "ground__time_constant": float(rng.uniform(0.006, 0.02)),
    }


@pytest.mark.parametrize("seed", mark_slow(range(5), but=[1]))
def test_go2_keeps_its_feet(run, seed):
    show = run(10.0, seed, **draw(seed, 4.0, 0.06))
    truth = show.truth
    assert not show.sim.fallen
    assert truth.q[:, 2].min() > 0.18  # crouched for a hop; 0.30 is standing
    upright = 1.0 - 2.0 * (truth.q[:, 3] ** 2 + truth.q[:, 4] ** 2)
    assert upright.min() > np.cos(0.45)  # it rolls and pitches by 0.25 rad on purpose
    assert not truth.other_mean.any()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_g1_keeps_its_feet(run, seed):
    show = run(15.0, seed, robot="g1", **draw(seed, 3.0, 0.05))
    truth = show.truth
    assert not show.sim.fallen
    assert truth.q[:, 2].min() > 0.6  # squatting; 0.75 is standing
    assert not truth.other_mean.any()


def test_a_humanoid_dropped_by_an_inch_stays_up(run):
    dropped = run(2.0, robot="g1", motion="stand", drop=0.025)
    assert not dropped.sim.fallen
    assert not dropped.truth.contact[dropped.truth.time < 0.02].any()  # the feet reach for the ground
    assert dropped.truth.contact[dropped.truth.time > 1.5].all(axis=1).mean() > 0.9
    assert dropped.truth.q[-1, 2] == pytest.approx(0.75, abs=0.02)


def test_a_robot_dropped_lands_on_its_feet(run):
    dropped = run(2.0, motion="sway", drop=0.15, load__mass=3.0)
    truth = dropped.truth
    assert not truth.contact[truth.time < 0.16].any()  # sqrt(2 h / g) = 0.175 s, less what the legs stretch
    assert truth.contact[truth.time > 0.5].all(axis=1).mean() > 0.95
    assert not dropped.sim.fallen


def test_feet_slip_on_slippery_ground(run):
    """A careful trot over a friction of 0.2: the feet often reach the friction limit, on firm ground seldom."""

    def slipped(mu):
        result = run(3.0, motion="trot", ground__friction=mu, go2__friction=0.18)
        truth = result.truth
        assert not result.sim.fallen
        loaded = (truth.contact[1:] == 1.0) & (truth.contact[:-1] == 1.0)
        limit = np.linalg.norm(truth.force_mean[1:, :, :2], axis=-1) > 0.99 * mu * truth.force_mean[1:, :, 2]
        return (loaded & limit).mean()

    assert slipped(0.2) > 2.5 * slipped(0.9)


@pytest.mark.parametrize("robot", ["go2", pytest.param("g1", marks=pytest.mark.slow)])
def test_a_fallen_robot_goes_limp(run, robot):
    fallen = run(4.0, robot=robot, motion="stand", push__start=0.4, push__duration=0.25, push__force=(0.0, 350.0, 0.0))
    truth = fallen.truth
    assert fallen.sim.fallen
    assert truth.other_mean[-50:, 2].mean() > 10.0  # it lies on its body
    assert np.abs(truth.torque[-50:]).mean() < 1.0


def test_the_motion_does_not_depend_on_the_sensors(run):
    """Scripted control from the true state: seeds and noise change what is seen, not what happens."""
    one, other = run(0.5, 1), run(0.5, 2, sensors__joints__position=0.1, sensors__mocap__rate=50.0)
    np.testing.assert_array_equal(one.truth.q, other.truth.q)
    np.testing.assert_array_equal(one.truth.force_mean, other.truth.force_mean)


@pytest.mark.parametrize("function", [smooth_step, bump])
def test_blends_have_the_derivatives_they_say(function):
    grid, step = np.linspace(0.01, 0.99, 23), 1e-5
    for s in grid:
        _, slope, curvature = function(s)
        assert slope == pytest.approx((function(s + step)[0] - function(s - step)[0]) / (2 * step), abs=1e-6)
        assert curvature == pytest.approx((function(s + step)[1] - function(s - step)[1]) / (2 * step), abs=1e-5)
    assert function(-0.5) == function(0.0)
    assert function(1.5) == function(1.0)


def test_sway_has_the_rate_it_says():
    phase, step = Phase("stand", 3.0, sway=Sway()), 1e-6
    for elapsed in np.linspace(0.05, 2.95, 40):
        rate = (sway_at(phase, elapsed + step)[0] - sway_at(phase, elapsed - step)[0]) / (2 * step)
        np.testing.assert_allclose(sway_at(phase, elapsed)[1], rate, atol=1e-6)
    for elapsed in (0.0, 3.0):
        np.testing.assert_allclose(np.abs(sway_at(phase, elapsed)).max(), 0.0, atol=1e-12)


def test_programmes_last_as_long_as_they_say():
    assert sum(phase.duration for phase in SHOW) == pytest.approx(10.0)
    assert Programme(DANCE).duration == pytest.approx(15.0)
    assert phase_at(SHOW, 100.0)[0].kind == "stand"


def test_the_dance_is_smooth():
    """No jump of any reference from one millisecond to the next."""
    programme = Programme(DANCE)
    figures = [programme.at(t) for t in np.arange(0.0, 15.5, 1e-3)]
    for key, limit in (("feet", 1e-3), ("rocking", 2e-3), ("weight", 2e-3), ("body", 1e-3), ("pelvis", 3e-3)):
        values = np.array([np.ravel(getattr(figure, key)) for figure in figures])
        assert np.abs(np.diff(values, axis=0)).max() < limit, key
    np.testing.assert_allclose(figures[-1].feet[1], [0.05, -0.02, 0.0])


def test_a_rocking_foot_turns_about_its_toes():
    toe, heel = np.array([0.12, 0.0, -0.035]), np.array([-0.05, 0.0, -0.035])
    start = np.array([0.3, 0.1, 0.035])
    for pitch, line in ((0.3, toe), (-0.2, heel)):
        position, rotation = foot_pose(start, 0.4, np.zeros(3), pitch, toe, heel)
        flat, level = foot_pose(start, 0.4, np.zeros(3), 0.0, toe, heel)
        np.testing.assert_allclose(position + rotation @ line, flat + level @ line, atol=1e-12)
        other = heel if pitch > 0.0 else toe
        assert (position + rotation @ other)[2] > 0.02


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Phase("gallop", 1.0), "a Go2 phase is stand, trot or hop, not 'gallop'"),
        (lambda: Phase("trot", 0.0), "a phase needs a positive duration, got 0 s"),
        (lambda: Move("jump", 1.0), "a G1 move is one of stand, sway, squat, twist, step, heel, toe, not 'jump'"),
        (lambda: Move("step", -1.0), "a move needs a positive duration, got -1 s"),
    ],
)
def test_bad_programmes(make, message):
    with pytest.raises(InputError) as caught:
        make()
    assert str(caught.value) == message
