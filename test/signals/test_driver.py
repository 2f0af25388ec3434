# SPDX-License-Identifier: Apache-2.0
"""Sign, unit, side, offset and delay of a driver's signals, made SI in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.signals.driver import DriverSignals, SignalsConfig
from sysid_nodes.signals.stream import JointStream

NAMES = ("a", "b")


def test_what_is_as_it_should_be_passes_to_the_last_bit() -> None:
    values = np.random.default_rng(0).normal(size=(3, 2))
    assert DriverSignals(SignalsConfig(), 2).convert(values) is values


def test_every_conversion_of_a_joint() -> None:
    config = SignalsConfig(
        torque_sign=(-1.0, 1.0), torque_unit=("N mm", "A"), torque_constant=(0.1,), torque_side=("joint", "motor"),
        gear_ratio=(100.0,), torque_offset=(0.5, 0.0), position_unit=("deg", "rad"), velocity_unit=("rpm", "deg/s"),
    )  # fmt: skip
    read = np.array([[180.0, 2.0], [60.0, 90.0], [3000.0, 2.0]])
    q, qd, tau = DriverSignals(config, 2).convert(read)
    np.testing.assert_allclose(q, [np.pi, 2.0])
    np.testing.assert_allclose(qd, [2.0 * np.pi, 0.5 * np.pi])
    np.testing.assert_allclose(tau, [-3.0 - 0.5, 2.0 * 0.1 * 100.0])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"torque_sign": [0.5]}, "'signals.torque_sign' is 1 or -1"),
        ({"torque_constant": [2.0]}, "'signals.torque_constant' has no effect unless torque_unit is A"),
        ({"torque_unit": ["A"]}, "'signals.torque_constant' is needed where torque_unit is A"),
        ({"gear_ratio": [100.0]}, "'signals.gear_ratio' has no effect unless torque_side is motor"),
        ({"torque_sign": [1, -1, 1]}, "'signals.torque_sign' needs 1 or 2 numbers, got 3"),
        ({"torque_unit": ["Nm"]}, "'torque_unit' must be made of N m, N mm, A"),
    ],
)
def test_what_does_not_fit_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DriverSignals(from_flat(SignalsConfig, values), 2)


def test_degrees_are_converted_before_turns_are_undone() -> None:
    signals = DriverSignals(SignalsConfig(position_unit=("deg",), velocity_unit=("deg/s",)), 2)
    stream = JointStream(NAMES, [True, True], signals=signals)
    for k in range(400):
        degrees = 2.0 * k
        wrapped = (degrees + 180.0) % 360.0 - 180.0
        sample = stream.push(NAMES, 1.0 + 0.01 * k, [wrapped, 0.0], [200.0, 0.0], [0.0, 0.0])
    assert sample is not None
    assert sample.q[0] == pytest.approx(np.deg2rad(2.0 * 399))
    assert stream.rejected == {}


@pytest.mark.parametrize("delay", [(0.013, 0.013), (0.02, 0.004), (-0.007, 0.01)])
def test_a_late_torque_is_brought_to_its_position(delay: tuple[float, float]) -> None:
    """Smooth signals sampled at irregular stamps: what comes out belongs together to interpolation error."""
    signals = DriverSignals(SignalsConfig(torque_delay=delay), 2)
    stream = JointStream(NAMES, [False, False], signals=signals, max_gap=0.05)
    rng, t, seen = np.random.default_rng(1), 5.0, 0
    for _ in range(300):
        t += rng.uniform(0.004, 0.012)
        lag = np.array(delay)
        sample = stream.push(NAMES, t, np.sin(t) * np.ones(2), np.cos(t) * np.ones(2), np.sin(3.0 * (t - lag)))
        if sample is None:
            continue
        seen += 1
        np.testing.assert_allclose(sample.q, np.sin(sample.t), atol=1e-6)
        np.testing.assert_allclose(sample.qd, np.cos(sample.t), atol=2e-5)  # (dt^2 / 8) of a second derivative of 1
        np.testing.assert_allclose(sample.tau, np.sin(3.0 * sample.t), atol=2e-4)
    assert seen > 290


def test_an_interruption_empties_the_delay_line() -> None:
    stream = JointStream(NAMES, [False, False], signals=DriverSignals(SignalsConfig(torque_delay=(0.01,)), 2))
    out = []
    for k in range(20):
        if k == 10:
            stream.interrupt()
        out.append(stream.push(NAMES, 1.0 + 0.005 * k, [0.005 * k, 0.0], [1.0, 1.0], [0.0, 0.0]))
    assert out[9] is not None and out[10] is None and out[-1] is not None


def test_a_gap_empties_the_delay_line() -> None:
    signals = DriverSignals(SignalsConfig(torque_delay=(0.01,)), 2)
    stream = JointStream(NAMES, [False, False], signals=signals, max_gap=0.05)
    stamps = [*(1.0 + 0.005 * np.arange(10)), *(2.0 + 0.005 * np.arange(10))]
    out = [stream.push(NAMES, t, [t, t], [1.0, 1.0], [0.0, 0.0]) for t in stamps]
    assert out[9] is not None
    assert out[10] is None and out[11] is None  # nothing is interpolated across the pause
    assert out[-1] is not None
    assert out[-1].q[0] == pytest.approx(stamps[-1] - 0.01)
