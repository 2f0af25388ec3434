# SPDX-License-Identifier: Apache-2.0
"""One joint, one term at a time: what is proven is reached, so that no term of the proof can go missing.

For one joint norms are magnitudes, and every inequality of the proof but Young's is an equation. Where a term is alone
the bound must hold and be no more than twice what is reached, or little more.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains, RobustControlConfig, gains
from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots import MotorConstants, load_robot
from sysid_nodes.systems.certified.certificate.closed_loop import (
    Assumed,
    ClosedLoop,
    Disturbance,
    _acceleration,
    _speed,
    rates,
    robust_input,
)
from sysid_nodes.systems.certified.certificate.error_proof import closed_loop
from sysid_nodes.systems.certified.certificate.handover import at_rest, handover_entry
from sysid_nodes.systems.certified.certificate.own_stop import OwnStop
from sysid_nodes.systems.certified.certificate.tracking import _DECAY, _largest, _stationary, propagate

K, ARMATURE, GAIN = 1000.0, 6.5, 4.0
LOOP = ClosedLoop(
    position_gain=GAIN,
    damping=np.array([K]),
    limit=np.array([1e3]),
    viscous_lower=np.zeros(1),
    viscous_upper=np.zeros(1),
    coulomb_upper=np.zeros(1),
    armature_lower=np.array([ARMATURE]),
    armature_upper=np.array([ARMATURE]),
    reference_noise=np.zeros(1),
    sign_width=0.01,
    period=1e-6,
    delay=0.0,
)
NOTHING = Disturbance(
    torque=np.zeros((1, 1)),
    held=np.zeros((1, 1)),
    inertia=np.full((1, 1, 1), ARMATURE),
    inertia_error=np.zeros((1, 1, 1)),
    coriolis=np.zeros((1, 1)),
    inertia_root=np.zeros((1, 1)),
    reference_shift=np.zeros((1, 1)),
)
CALM = Entry(0.0, 0.0, 0.0, np.zeros(1))
R = 0.05  # [rad/s] that r is assumed to stay below
ASSUMED = Assumed(np.full(1, 0.5 * ARMATURE * R**2), np.zeros(1), np.zeros((1, 1)))


def one(value: float) -> np.ndarray:
    return np.array([value])


def all_times(value: float) -> np.ndarray:
    return np.full((1, 1), value)


def reached(bound: float, value: float, least: float = 0.5) -> None:
    assert value <= bound * (1.0 + 1e-9)
    assert value >= least * bound


# --- How fast r can change -------------------------------------------------------------------------------------------

RATES = {  # loop, disturbance, assumption, and |M dr/dt| with M = I_a
    "w": (LOOP, NOTHING._replace(torque=all_times(3.0)), ASSUMED, 3.0),
    "held": (LOOP, NOTHING._replace(held=all_times(2.0)), ASSUMED, 2.0),
    "friction of the wrong sign": (replace(LOOP, coulomb_upper=one(1.5)), NOTHING, ASSUMED, 3.0),
    "viscous": (replace(LOOP, viscous_upper=one(40.0)), NOTHING, ASSUMED, 40.0 * R),
    "coriolis": (LOOP, NOTHING._replace(coriolis=all_times(1.0)), ASSUMED, 1.0),
    "K_r r of the wrong inertia": (LOOP, NOTHING._replace(inertia_error=np.ones((1, 1, 1))), ASSUMED, GAIN * R),
    "K_r e of the wrong inertia": (
        LOOP,
        NOTHING._replace(inertia_error=np.ones((1, 1, 1))),
        ASSUMED._replace(level=np.zeros(1), position=np.sqrt(ARMATURE) * one(0.1)),
        GAIN**2 * 0.1,
    ),
    "noise": (replace(LOOP, reference_noise=one(0.01)), NOTHING, ASSUMED._replace(level=np.zeros(1)), K * 0.01),
}


@pytest.mark.parametrize("name", RATES)
def test_how_fast_r_changes(name: str) -> None:
    loop, found, assumed, torque = RATES[name]
    quiet = name == "noise" or assumed.level[0] == 0.0
    robust = 0.0 if quiet else K * R
    rate = rates(loop, found, assumed, CALM)
    assert rate.speed[0] == pytest.approx((torque + robust) / np.sqrt(ARMATURE), rel=1e-6)
    assert rate.acceleration[0, 0] == pytest.approx((torque + robust) / ARMATURE, rel=1e-6)


def test_the_robust_input_is_what_r_and_its_noise_make_of_it_up_to_its_clip() -> None:
    loop = replace(LOOP, reference_noise=one(0.01))
    assert robust_input(loop, ASSUMED.tube(loop))[0, 0] == pytest.approx(K * (R + 0.01), rel=1e-6)
    assert robust_input(replace(loop, limit=one(7.0)), ASSUMED.tube(loop))[0, 0] == pytest.approx(7.0, rel=1e-6)


def test_a_coupled_joint_is_moved_by_the_other_ones_torque() -> None:
    """M = I_a + root root': the least force on joint 1 accelerates joint 2 as far as M's inverse says, nearly."""
    root = np.array([0.5, 0.8])
    loop = replace(
        LOOP,
        **{
            name: np.repeat(getattr(LOOP, name), 2)
            for name in ("damping", "limit", "viscous_lower", "viscous_upper", "coulomb_upper", "armature_lower")
        },
        armature_upper=np.repeat(ARMATURE, 2),
        reference_noise=np.zeros(2),
    )
    zero = np.zeros((1, 2))
    found = Disturbance(np.array([[10.0, 0.0]]), zero, np.zeros((1, 2, 2)), np.zeros((1, 2, 2)), zero, root[None], zero)
    rate = rates(loop, found, Assumed(np.zeros(1), np.zeros(1), zero), CALM)
    true = np.abs(np.linalg.solve(ARMATURE * np.eye(2) + np.outer(root, root), [10.0, 0.0]))
    for bound, value in zip(rate.acceleration[0], true, strict=True):
        reached(bound, value, 0.8)


# --- Where V comes to rest -------------------------------------------------------------------------------------------


def test_the_mean_square_age_is_that_of_a_sawtooth() -> None:
    for delay, period in ((0.0, 0.001), (0.002, 0.001), (0.001, 0.0), (0.0005, 0.002)):
        ages = delay + period * (np.arange(100000) + 0.5) / 100000
        found = replace(LOOP, delay=delay, period=period)
        assert found.mean_square_age == pytest.approx((ages**2).mean(), rel=1e-6)
        assert found.age == delay + period


def worst(loop: ClosedLoop, found: Disturbance, decay: float) -> float:
    """V at which Vdot can no longer be -2 c V: the largest r (w - v - F_v r) / (2 c) + V over r, by trying them all."""
    r = np.linspace(0.0, R, 20001)
    held = np.clip(loop.damping * (r - loop.reference_noise), -loop.limit, loop.limit)
    friction = loop.coulomb_upper * (1.0 - np.clip((r - found.reference_shift[0]) / loop.sign_width, -1.0, 1.0))
    fed = loop.position_gain * found.inertia_error[0, 0, 0] * r
    power = r * (found.torque[0, 0] + friction + fed - held - loop.viscous_lower * r)
    return float((power / (2.0 * decay) + 0.5 * found.inertia[0, 0, 0] * r**2).max())


STEADY = {
    "w": (LOOP, NOTHING._replace(torque=all_times(20.0))),
    "w against viscous friction": (
        replace(LOOP, viscous_lower=one(500.0), viscous_upper=one(5000.0)),
        NOTHING._replace(torque=all_times(20.0)),
    ),
    "noise": (replace(LOOP, reference_noise=one(0.02)), NOTHING),
    "noise where the input is clipped": (
        replace(LOOP, reference_noise=one(0.02), limit=one(20.0)),
        NOTHING._replace(torque=all_times(30.0)),
    ),
    "friction of the wrong sign": (
        replace(LOOP, coulomb_upper=one(10.0)),
        NOTHING._replace(reference_shift=all_times(1.0)),
    ),
    "friction whose sign is smoothed": (
        replace(LOOP, coulomb_upper=one(30.0), sign_width=0.02),
        NOTHING,
    ),
    "friction whose sign is read late": (
        replace(LOOP, coulomb_upper=one(30.0), sign_width=0.01),
        NOTHING._replace(reference_shift=all_times(0.02)),
    ),
    "inertia fed forward too small": (
        LOOP,
        NOTHING._replace(inertia_error=np.full((1, 1, 1), 100.0), torque=all_times(10.0)),
    ),
}


@pytest.mark.parametrize("name", STEADY)
def test_where_v_comes_to_rest(name: str) -> None:
    loop, found = STEADY[name]
    still = ASSUMED._replace(acceleration=all_times(0.0))
    rate = rates(loop, found, still, CALM)._replace(mismatch=np.zeros(1), weight=np.zeros(1), speed=np.zeros(1))
    for decay in (1.0, 10.0, 40.0):
        star, _ = _stationary(loop, found, still, rate, np.array([decay]))
        reached(float(star[0, 0].min()), worst(loop, found, decay), 0.45 if "clipped" in name else 0.6)


@pytest.mark.parametrize(("period", "delay"), [(1e-9, 0.002), (0.002, 0.0), (0.002, 0.002)])
@pytest.mark.parametrize("weight", [0.0, 1.0])
def test_a_held_torque_costs_what_r_moves_meanwhile(period: float, delay: float, weight: float) -> None:
    """A disturbance one and a half times what holding adds: there Young's inequality is an equation.

    ``weight`` is the share of the feedforward of K_r r, which is held as well.
    """
    loop = replace(LOOP, period=period, delay=delay, position_gain=GAIN if weight == 0.0 else 0.4 * K / ARMATURE)
    ages = delay + period * (np.arange(1000) + 0.5) / 1000
    rate_of_r = 5.0
    stiffness = K + loop.position_gain * ARMATURE * weight
    push = 1.5 * stiffness * rate_of_r * np.sqrt((ages**2).mean())
    found = NOTHING._replace(torque=all_times(push))
    wide = ASSUMED._replace(level=np.full(1, 0.5 * ARMATURE), acceleration=all_times(rate_of_r))
    rate = rates(loop, found, wide, CALM)._replace(
        mismatch=np.zeros(1), weight=one(weight), speed=one(rate_of_r * np.sqrt(ARMATURE))
    )
    decay = 1e-3 * K / ARMATURE
    star, ripple = _stationary(loop, found, wide, rate, np.array([decay]))
    r = np.linspace(0.0, 0.5, 20001)
    power = r * (push + stiffness * rate_of_r * ages.mean() - K * r)
    reached(float(star[0, 0].min()), float((power / (2.0 * decay) + 0.5 * ARMATURE * r**2).max()), 0.6)
    # Within a period the square of the age is what it is, not its mean.
    square = rate.speed[0] ** 2 * loop.period * loop.age**2
    split = K / ARMATURE / (2.0 * np.geomspace(0.05, 0.4, 6))
    np.testing.assert_allclose(ripple[0, 0], 0.5 * split * square, rtol=1e-6)


def test_the_inertia_s_error_turns_e_into_a_disturbance() -> None:
    """K_r^2 delta |r| |e|, next to a disturbance that leaves r where the product counts."""
    e, delta, decay = 0.1, 0.25, 20.0
    loop = replace(LOOP, damping=one(1.0))  # which is little beside what the product may cost of the decay
    extra = GAIN**2 * delta * ARMATURE * e
    assumed = ASSUMED._replace(position=np.sqrt(ARMATURE) * one(e))
    rate = rates(loop, NOTHING, assumed, CALM)._replace(mismatch=one(delta), weight=np.zeros(1), speed=np.zeros(1))
    star, _ = _stationary(loop, NOTHING, assumed, rate, np.array([decay]))
    r = np.linspace(0.0, R, 2001)
    reached(float(star[0, 0].min()), float((r * (extra - r) / (2.0 * decay) + 0.5 * ARMATURE * r**2).max()), 0.5)


# --- On the way there ------------------------------------------------------------------------------------------------


def test_v_decays_from_the_first_torque_on_and_no_sooner() -> None:
    """Half of the first interval passes before any torque of this motion acts: V stays where it was."""
    loop = replace(LOOP, delay=0.006, period=1e-6)
    edges = np.array([0.0, 0.01, 0.02, np.inf])
    found = Disturbance(*(np.repeat(x, 3, axis=0) for x in NOTHING))
    assumed = Assumed(*(np.repeat(x, 3, axis=0) for x in ASSUMED))
    rate = rates(loop, found, assumed, CALM)._replace(speed=np.zeros(3), mismatch=np.zeros(3), weight=np.zeros(3))
    start = Entry(1.0, 0.3, 0.0, np.zeros(1))
    proven = propagate(loop, found, assumed, rate, edges, start)
    fastest = 2.0 * K / ARMATURE  # of V, no bound may be quicker
    assert proven.level[0] >= 1.0
    assert proven.level[1] >= np.exp(-fastest * 0.004)
    assert proven.level[1] <= np.exp(-0.4 * fastest * 0.004) + 1e-9
    assert proven.position[0] >= 0.3
    # Until then nothing pulls e back either; afterwards de/dt = r - K_r e.
    assert proven.position[1] >= 0.3 * np.exp(-GAIN * 0.004)


def test_the_ripple_within_a_period_counts_everywhere() -> None:
    loop = replace(LOOP, delay=0.002, period=0.002)
    edges = np.array([0.0, 0.5, 1.0, np.inf])
    found = Disturbance(*(np.repeat(x, 3, axis=0) for x in NOTHING))
    assumed = Assumed(*(np.repeat(x, 3, axis=0) for x in ASSUMED._replace(acceleration=all_times(1.0))))
    rate = rates(loop, found, assumed, CALM)._replace(speed=np.array([5.0, 0.0, 0.0]))
    proven = propagate(loop, found, assumed, rate, edges, CALM)
    decay = _DECAY * K / ARMATURE
    star, ripple = (x[0] for x in _stationary(loop, found, assumed, rate, decay))
    rest = (star + ripple).min()
    # On top of what was there at the beginning of an interval, and at its end, for the next one to begin with.
    assert proven.level[0] == pytest.approx(rest, rel=1e-6)
    assert proven.level[1] >= (1.0 - 1e-6) * (rest + ripple.min())
    assert proven.level[2] >= (1.0 - 1e-6) * rest


def test_between_the_clip_of_now_and_of_then_holding_still_counts() -> None:
    """A torque that is clipped now may not have been when it was computed."""
    loop, push = replace(LOOP, limit=one(20.0), delay=0.002), NOTHING._replace(torque=all_times(30.0))
    decay, split = 10.0, K / ARMATURE / 0.8
    level = np.full(1, 0.5 * ARMATURE * 0.04**2)
    found = []
    for moved in (0.0, 0.02):
        assumed = ASSUMED._replace(level=level, acceleration=all_times(moved / loop.age))
        rate = rates(loop, push, assumed, CALM)._replace(weight=np.zeros(1))
        found.append(_largest(loop, push, assumed, rate, one(decay), one(split))[0, 0, 0, 0])
    # At r = 0.04, of which 0.02 passed meanwhile; Young's inequality charges 0.4 K r^2.
    assert found[1] - found[0] >= 0.9 * 0.4 * K * 0.04**2 / decay - 0.4 * K * 0.02**2 / decay


# --- Where a trajectory begins ---------------------------------------------------------------------------------------

SECOND, AGE = 3.0, 0.01
TREE = Tree(
    parents=np.array([-1]),
    rotation=np.eye(3)[None],
    translation=np.zeros((1, 3)),
    axis=np.array([[0.0, 1.0, 0.0]]),
    revolute=np.array([True]),
    gravity=np.array([0.0, 0.0, -9.81]),
)


def pendulum() -> ModelBox:
    theta = np.zeros((1, 10))
    theta[0, 6] = SECOND  # about the joint's axis, y
    motor = MotorConstants(np.zeros(1), np.zeros(1), one(ARMATURE), np.zeros(1))
    return ModelBox(theta, 0.0 * theta, motor, MotorConstants(*np.zeros((4, 1))))


WEIGHT = SECOND + ARMATURE


def test_rest_is_no_better_than_it_is_measured() -> None:
    law = Gains(GAIN, one(K), one(1e-3), one(0.0), one(0.0))
    entry = at_rest(TREE, pendulum(), law, 0.003, 5e-4)
    # Where the trajectory starts was measured, where the robot is then is measured again, and it may have crept.
    e, r = 2.0 * 1e-3 + 5e-4, GAIN * 2.5e-3 + 0.003
    assert entry.level == pytest.approx(0.5 * WEIGHT * r**2, rel=1e-6)
    assert entry.position == pytest.approx(np.sqrt(ARMATURE) * e, rel=1e-6)
    assert entry.speed == pytest.approx(np.sqrt(WEIGHT) * GAIN * 0.003, rel=1e-6)


def test_a_hand_over_is_as_bad_as_the_worst_motion_until_the_new_torque_acts() -> None:
    """r and e are driven apart by the former certificate's speed and both jerks, all the same way."""
    former, jerk = Entry(0.02, 0.05, 2.0, one(30.0)), one(20.0)
    found = handover_entry(TREE, pendulum(), former, jerk, GAIN, AGE)
    t = np.linspace(0.0, AGE, 20001)
    apart = 50.0
    r = np.sqrt(2.0 * 0.02 / WEIGHT) + t * 2.0 / np.sqrt(WEIGHT) + apart * (t**2 / 2.0 + GAIN * t**3 / 6.0)
    e = 0.05 / np.sqrt(ARMATURE) + np.concatenate([[0.0], np.cumsum(r[1:] * np.diff(t))]) + apart * t**3 / 6.0
    assert 0.5 * WEIGHT * r[-1] ** 2 <= found.level <= 1.001 * 0.5 * WEIGHT * r[-1] ** 2
    reached(found.position, np.sqrt(ARMATURE) * e[-1], 0.9)
    speed = 2.0 + np.sqrt(WEIGHT) * apart * (AGE + GAIN * AGE**2 / 2.0)
    assert found.speed == pytest.approx(speed, rel=1e-6)


# --- The robot's own stop --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [0.0, 0.7])
def test_the_own_stop_goes_as_far_as_it_can(speed: float) -> None:
    stop = OwnStop(one(2.0), reaction=0.1, acceleration=3.0, travel=0.01)
    steps, dt = 200000, 1e-5
    v, way = speed, 0.0
    for k in range(steps):
        v += dt * (3.0 if k * dt < 0.1 else -2.0)
        if v <= 0.0:
            break
        way += v * dt
    below, above = stop.reach(all_times(speed), all_times(speed))
    assert above[0, 0] == pytest.approx(way + 0.01, rel=1e-3)
    still = 0.5 * 3.0 * 0.1**2 + 0.3**2 / 4.0 + 0.01
    assert below[0, 0] == pytest.approx(still, rel=1e-6)


# --- What the loop is made of ----------------------------------------------------------------------------------------


def test_the_loop_has_the_ends_of_the_box_and_the_law_s_numbers() -> None:
    """Every number another one, so that none can stand for another or be forgotten."""
    motor = MotorConstants(one(2.0), one(5.0), one(7.0), one(0.0))
    radius = MotorConstants(one(0.3), one(0.7), one(0.9), one(0.0))
    assert (motor.coulomb, motor.viscous, motor.armature) == (2.0, 5.0, 7.0)
    law = Gains(GAIN, one(K), one(1e-3), one(0.02), one(0.4))
    control = RobustControlConfig(period=0.003, delay=0.004, sign_width=0.05)
    found = closed_loop(ModelBox(np.zeros((1, 10)), np.zeros((1, 10)), motor, radius), law, control)
    expected = {
        "position_gain": GAIN, "damping": K, "viscous_lower": 4.3, "viscous_upper": 5.7, "coulomb_upper": 2.3,
        "armature_lower": 6.1, "armature_upper": 7.9, "reference_noise": GAIN * 1e-3 + 0.02, "sign_width": 0.05,
        "period": control.longest_period, "delay": 0.004,
    }  # fmt: skip
    assert {name: float(np.squeeze(getattr(found, name))) for name in expected} == pytest.approx(expected, rel=1e-12)
    assert control.longest_period >= 0.003


def test_every_error_of_a_law_is_the_one_of_its_configuration() -> None:
    robot = load_robot("kinova_gen3")
    config = RobustControlConfig(
        position_error=(0.1,) * 7, velocity_error=tuple(np.arange(7.0)), torque_error=tuple(2.0 + np.arange(7.0))
    )
    found = gains(robot, config)
    np.testing.assert_array_equal(found.position_error, 0.1)
    np.testing.assert_array_equal(found.velocity_error, np.arange(7.0))
    np.testing.assert_array_equal(found.torque_error, 2.0 + np.arange(7.0))


@pytest.mark.parametrize("limit", [5.0, 1e4])
def test_rates_of_two_joints_are_sums_of_all_terms(limit: float) -> None:
    """In plain loops, the joints unlike one another; the robust input in force may answer to errors a little older."""
    rng = np.random.default_rng(6)
    low, stiff = np.array([6.0, 4.0]), np.array([800.0, 500.0])
    drag, dry, noise = np.array([3.0, 7.0]), np.array([0.4, 0.9]), np.array([0.01, 0.02])
    loop = replace(
        LOOP, damping=stiff, limit=np.array([limit, 2.0 * limit]), viscous_upper=drag, coulomb_upper=dry,
        armature_lower=low, reference_noise=noise,
    )  # fmt: skip
    torque, held, coriolis, root = rng.uniform(0.5, 1.5, (4, 2, 2))
    error = np.tile([[0.3, 0.1], [0.1, 0.2]], (2, 1, 1))
    found = Disturbance(torque, held, error, error, coriolis, root, root)
    level, e = np.array([0.4, 0.1]), np.array([0.02, 0.03])
    assumed, delta = Assumed(level, e, np.zeros((2, 2))), np.array([0.02, 0.03])

    def norm(x: np.ndarray) -> float:
        return float(np.sqrt((x**2 / low).sum()))

    speed, acceleration = _speed(loop, found, assumed, delta), _acceleration(loop, found, assumed)
    for t, before in ((0, 0), (1, 0)):  # the level was larger in the first interval
        size, former = np.sqrt(2.0 * level[t]), np.sqrt(2.0 * level[before])
        robust = min((stiff / low).max() * former + norm(stiff * noise), norm(loop.limit))
        total = norm(torque[t] + held[t] + 2.0 * dry) + norm(coriolis[t]) + (drag / low).max() * size + robust
        assert speed[t] == pytest.approx(total + delta[t] * GAIN * (size + GAIN * e[t]), rel=1e-7)
        r, off, then = size / np.sqrt(low), e[t] / np.sqrt(low), former / np.sqrt(low)
        x = torque[t] + held[t] + error[t] @ (GAIN * (r + GAIN * off)) + 2.0 * dry + drag * r + coriolis[t]
        x = x + np.minimum(loop.limit, stiff * (then + noise))
        other = root[t] * root[t][::-1] * x[::-1] / (low * low[::-1])
        np.testing.assert_allclose(acceleration[t], x / low + other, rtol=1e-7)
