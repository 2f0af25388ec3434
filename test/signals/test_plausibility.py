# SPDX-License-Identifier: Apache-2.0
"""Plausibility: clean data give no finding, each planted fault is found and named."""

import re

import numpy as np
import pytest

from sysid_nodes.data import JointSamples
from sysid_nodes.signals.plausibility import constant_signals

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


def test_clean_data_have_no_finding():
    assert constant_signals(samples()) == []


@pytest.mark.parametrize("count", [0, 1])
def test_almost_no_data_have_no_finding(count):
    empty = JointSamples(NAMES, T[:count], Q[:count], QD[:count], GRAVITY[:count])
    assert constant_signals(empty) == []


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


def test_a_joint_that_rests_while_its_encoder_flickers_has_no_frozen_velocity():
    flicker = 1e-4 * np.random.default_rng(5).integers(0, 2, T.size)
    assert constant_signals(samples(with_joint(Q, 1, lambda _: flicker), with_joint(QD, 1, lambda x: 0 * x))) == []
