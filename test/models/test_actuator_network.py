# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sysid_nodes.models.actuator_network import ActuatorNetwork, first_weights
from sysid_nodes.models.actuator_network_onnx import write_onnx

RNG = np.random.default_rng(1)


def network() -> ActuatorNetwork:
    weights = first_weights(32, RNG) + 0.2 * RNG.standard_normal(1217)
    half = np.array([0.2, 0.5, 2.0])
    return ActuatorNetwork(weights, 32, np.array([0.0, 0.3, 0.1]), half / 2.0, -half, half, 0.3 * half, 2.5)


INPUTS = RNG.uniform(-1.3, 1.3, (60, 3)) * np.array([0.2, 0.5, 2.0])


def test_it_has_the_papers_1217_weights_and_starts_at_zero() -> None:
    weights = first_weights(32, np.random.default_rng(0))
    assert weights.size == 1217
    np.testing.assert_array_equal(replace(network(), weights=weights).outputs()(INPUTS), 0.0)


def test_its_derivatives_are_those_of_differences() -> None:
    net = network()
    value, seeds = net.value(INPUTS), RNG.standard_normal(len(INPUTS))
    np.testing.assert_allclose(net.outputs()(INPUTS), value.output, rtol=1e-10, atol=1e-12)
    share, share_slope = net.share(INPUTS)
    for k in range(3):
        step = np.zeros(3)
        step[k] = 1e-6
        up, down = net.value(INPUTS + step).output, net.value(INPUTS - step).output
        np.testing.assert_allclose(value.by_inputs[:, k], (up - down) / 2e-6, rtol=1e-6, atol=1e-7)
        up, down = net.share(INPUTS + step)[0], net.share(INPUTS - step)[0]
        np.testing.assert_allclose(share_slope[:, k], (up - down) / 2e-6, rtol=1e-4, atol=1e-4)
    slope = net.pull(value, seeds)
    for direction in RNG.standard_normal((3, 1217)):
        ends = [seeds @ replace(net, weights=net.weights + s * 1e-6 * direction).value(INPUTS).output for s in (1, -1)]
        assert slope @ direction == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)
    inside = (np.abs(INPUTS) <= net.upper).all(axis=1)
    np.testing.assert_array_equal(share == 1.0, inside)
    assert net.covers(INPUTS[inside])
    assert not net.covers(INPUTS)


def test_it_is_what_it_was_stored_as() -> None:
    net = network()
    again = ActuatorNetwork.from_arrays(net.arrays())
    for name, value in vars(net).items():
        np.testing.assert_array_equal(getattr(again, name), value)


@pytest.mark.parametrize("residual", [True, False])
def test_onnx_says_the_same(residual: bool, tmp_path: Path) -> None:
    onnx = pytest.importorskip("onnx")
    from onnx.reference import ReferenceEvaluator

    net = network()
    write_onnx(tmp_path / "net.onnx", net, residual=residual)
    said = ReferenceEvaluator(onnx.load(tmp_path / "net.onnx")).run(None, {"state": INPUTS.astype(np.float32)})[0]
    output = net.outputs()(INPUTS)
    wanted = net.share(INPUTS)[0] * net.limit * (np.tanh(output) if residual else output)
    np.testing.assert_allclose(said, wanted, atol=2e-4)
