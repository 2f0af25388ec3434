# SPDX-License-Identifier: Apache-2.0
"""What the simulated driver does to readings, and that the identifier's `signals` undo it."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals.driver import DriverSignals, SignalsConfig
from sysid_nodes.signals.stream import JointStream
from sysid_nodes.simulation.arm.driver_readings import DriverConfig, DriverReadings

NAMES = ("a", "b", "c")


def reading(k: int) -> RawJointState:
    return RawJointState(1.0 + 0.001 * k, NAMES, np.full(3, 0.001 * k), np.ones(3), np.array([1.0, 2.0, 3.0]))


def test_by_default_readings_pass_and_nothing_is_drawn() -> None:
    rng = np.random.default_rng(0)
    before, read = rng.bit_generator.state, reading(0)
    assert DriverReadings(DriverConfig(), 3, rng).pass_on(read) == [read]
    assert rng.bit_generator.state == before


def test_what_the_driver_does_the_identifier_s_signals_undo() -> None:
    """Sign, offset and the order of names; noise and losses stay."""
    config = DriverConfig(
        torque_sign=(-1.0,), torque_offset=(0.5, -2.0, 0.0), torque_noise=(0.1,), dropped=0.2, shuffled=True
    )
    driver = DriverReadings(config, 3, np.random.default_rng(1))
    signals = DriverSignals(SignalsConfig(torque_sign=(-1.0,), torque_offset=(0.5, -2.0, 0.0)), 3)
    stream = JointStream(NAMES, [False] * 3, signals=signals)
    passed = [message for k in range(3000) for message in driver.pass_on(reading(k))]
    assert 0.17 < 1.0 - len(passed) / 3000 < 0.23  # four standard deviations of a binomial
    assert len({message.names for message in passed}) == 6
    samples = [stream.push(m.names, m.stamp, m.position, m.velocity, m.effort) for m in passed]
    torque = np.array([sample.tau for sample in samples if sample is not None])
    assert len(torque) == len(passed)
    # 2.4 s of noise that is alike over 0.05 s: some 24 independent values, so the mean is good to 0.1 / 5
    np.testing.assert_allclose(torque.mean(axis=0), [1.0, 2.0, 3.0], atol=0.08)
    left = torque - torque.mean(axis=0)
    np.testing.assert_allclose(left.std(axis=0), 0.1, rtol=0.5)
    assert (left[1:] * left[:-1]).mean() > 0.9 * (left**2).mean()  # neighbours share their noise


def test_a_sign_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="is 1 or -1"):
        DriverReadings(DriverConfig(torque_sign=(2.0,)), 3, np.random.default_rng(0))
