# SPDX-License-Identifier: Apache-2.0
"""Plausibility: clean data give no finding, each planted fault is found and named."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.data import JointSamples
from sysid_nodes.signals.plausibility import (
    constant_signals,
    torque_against_gravity,
    velocity_against_position,
)

NAMES = ("shoulder", "elbow", "wrist")
T = 3.0 + 0.002 * np.arange(2000)
AMPLITUDE = np.array([0.5, 0.8, 0.3])
OMEGA = np.array([1.5, 2.0, 3.0])
PHASE = OMEGA * T[:, None]
Q, QD = AMPLITUDE * np.sin(PHASE), AMPLITUDE * OMEGA * np.cos(PHASE)
GRAVITY = np.array([40.0, 15.0, 0.1]) * np.cos(Q)


def samples(q=Q, qd=QD, tau=GRAVITY, t=T):
    return JointSamples(NAMES, t, q, qd, tau)


def with_joint(values, joint, change):
    out = values.copy()
    out[:, joint] = change(out[:, joint])
    return out


def all_checks(data):
    return [
        *constant_signals(data),
        *velocity_against_position(data),
        *torque_against_gravity(data, GRAVITY),
    ]


def test_clean_data_have_no_finding():
    assert all_checks(samples()) == []


@pytest.mark.parametrize("count", [0, 1])
def test_almost_no_data_have_no_finding(count):
    empty = JointSamples(NAMES, T[:count], Q[:count], QD[:count], GRAVITY[:count])
    assert constant_signals(empty) == []
    assert velocity_against_position(empty) == []


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**31))
def test_errors_inside_their_bounds_have_no_finding(seed):
    rng = np.random.default_rng(seed)
    q = Q + rng.choice([-1e-3, 1e-3], size=Q.shape)
    qd = QD + rng.choice([-2e-3, 2e-3], size=Q.shape)
    # a reading with 2 % noise relative to itself: |reading - truth| <= 0.02 |reading|
    tau = GRAVITY / (1.0 + rng.choice([-0.02, 0.02], size=Q.shape))
    data = samples(q, qd, tau)
    assert velocity_against_position(data) == []
    assert torque_against_gravity(data, GRAVITY) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tau": with_joint(GRAVITY, 1, lambda x: 0 * x + 2)}, r"effort of 'elbow' never changes \(always 2\)"),
        ({"qd": with_joint(QD, 1, lambda x: 0 * x)}, "velocity of 'elbow' never changes while its position does"),
        ({"q": with_joint(Q, 1, lambda x: 0 * x)}, "position of 'elbow' never changes while its velocity does"),
        ({"q": 0 * Q, "qd": 0 * QD}, "no joint moves"),
    ],
)
def test_constant_signals(change, message):
    (finding,) = constant_signals(samples(**change))
    assert finding.kind == "signal"
    assert re.fullmatch(message, finding.message)


def test_a_joint_that_rests_below_its_encoders_step_is_no_frozen_position():
    noise = np.random.default_rng(5).normal(2e-4, 1e-3, T.size)  # with an offset that adds up to 2 mrad in 10 s
    assert constant_signals(samples(with_joint(Q, 1, lambda x: 0 * x), with_joint(QD, 1, lambda _: noise))) == []


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qd": with_joint(QD, 1, lambda x: -x)}, "wrong sign"),
        ({"qd": with_joint(QD, 1, np.rad2deg)}, "57.3: its velocity seems to be in degrees"),
        ({"q": with_joint(Q, 1, np.rad2deg)}, "57.3: it seems to be in degrees"),
        ({"qd": with_joint(QD, 1, lambda x: x * 30 / np.pi)}, "9.549: its velocity seems to be in revolutions per min"),
    ],
)
def test_velocity_against_position(change, message):
    (finding,) = velocity_against_position(samples(**change))
    assert (finding.kind, finding.subject) == ("velocity", "elbow")
    assert message in finding.message


def test_a_jump_of_the_position_is_no_wrong_sign_nor_unit():
    assert velocity_against_position(samples(q=with_joint(Q, 1, lambda x: x + (T > 5.0)))) == []


@pytest.mark.parametrize(
    ("tau", "assumption", "joint", "message"),
    [
        (-GRAVITY, "torque_sign", "all joints", "all joints has the opposite sign"),
        (with_joint(GRAVITY, 1, lambda x: -x), "torque_sign", "elbow", "opposite sign"),
        (1000 * GRAVITY, "torque_unit", "all joints", "N mm instead of N m"),
        (-1000 * GRAVITY, "torque_sign", "all joints", "gravity needs, and seems to be in N mm"),
        (with_joint(GRAVITY, 0, lambda x: x / 13.0), "torque_unit", "shoulder", "motor current"),
        (30 * GRAVITY, "torque_unit", "all joints", "its unit is not N m"),
    ],
)  # fmt: skip
def test_torque_against_gravity(tau, assumption, joint, message):
    rng = np.random.default_rng(0)
    noisy = tau * (1.0 + 0.05 * rng.normal(size=tau.shape))
    noisy[::50] *= -20.0  # outliers must not decide
    (finding,) = torque_against_gravity(samples(tau=noisy), GRAVITY)
    assert (finding.kind, finding.subject) == (assumption, joint)
    assert message in finding.message


@pytest.mark.parametrize("factor", [0.5, 1.0, 3.0])
def test_a_payload_or_a_gain_is_no_finding(factor):
    assert torque_against_gravity(samples(tau=factor * GRAVITY), GRAVITY) == []


def test_torque_that_gravity_does_not_explain_is_not_judged():
    rng = np.random.default_rng(1)
    tau = -GRAVITY + 100.0 * rng.normal(size=GRAVITY.shape)
    assert torque_against_gravity(samples(tau=tau), GRAVITY) == []
