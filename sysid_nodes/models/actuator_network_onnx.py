# SPDX-License-Identifier: Apache-2.0
"""An actuator network as ONNX, by the optional library `onnx`: states (P, 3) in, its part of the torque (P,) out."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.actuator_network import INPUTS, ActuatorNetwork, split

OPSET = 18


def write_onnx(path: Path, network: ActuatorNetwork, *, residual: bool) -> None:
    """Writes share limit tanh(y) of a residual, else share limit y, of inputs (u - q, q, w).

    Args:
        network: trained.
        residual: how its output is limited, see `systems.actuators.methods.network`.

    Raises:
        ConfigError: the library is not installed.
    """
    try:
        import onnx
        from onnx import helper, numpy_helper
    except ImportError:
        raise ConfigError("writing ONNX needs the library onnx; pip install 'sysid-nodes[onnx]'") from None
    first, bias1, second, bias2, third, bias3 = split(network.weights, network.width)
    constants = {
        "centre": network.centre, "scale": network.scale, "lower": network.lower, "upper": network.upper,
        "margin": network.margin, "limit": np.array([network.limit]), "zero": np.zeros(1), "one": np.ones(1),
        "W1": first.T, "b1": bias1, "W2": second.T, "b2": bias2, "W3": third[:, None], "b3": bias3,
    }  # fmt: skip
    steps = [
        ("Sub", ("state", "centre"), "moved"), ("Div", ("moved", "scale"), "z"),
        ("MatMul", ("z", "W1"), "m1"), ("Add", ("m1", "b1"), "s1"), ("Tanh", ("s1",), "a"),
        ("MatMul", ("a", "W2"), "m2"), ("Add", ("m2", "b2"), "s2"), ("Tanh", ("s2",), "b"),
        ("MatMul", ("b", "W3"), "m3"), ("Add", ("m3", "b3"), "y"),
        ("Tanh" if residual else "Identity", ("y",), "bounded"), ("Mul", ("bounded", "limit"), "torques"),
        ("Sub", ("state", "upper"), "above"), ("Sub", ("lower", "state"), "below"), ("Max", ("above", "below"), "out"),
        ("Div", ("out", "margin"), "ways"), ("Max", ("ways", "zero"), "positive"), ("Min", ("positive", "one"), "d"),
        ("Mul", ("d", "d"), "d2"), ("Sub", ("one", "d2"), "r"), ("Mul", ("r", "r"), "window"),
        ("ReduceProd", ("window", "axes"), "share"), ("Mul", ("share", "torques"), "columns"),
        ("Squeeze", ("columns", "axes"), "torque"),
    ]  # fmt: skip
    nodes = [
        helper.make_node(kind, inputs, [output], **({"keepdims": 1} if kind == "ReduceProd" else {}))
        for kind, inputs, output in steps
    ]
    stored = [numpy_helper.from_array(np.asarray(value, np.float32), name) for name, value in constants.items()]
    stored.append(numpy_helper.from_array(np.array([1], np.int64), "axes"))
    graph = helper.make_graph(
        nodes,
        "actuator_network",
        [helper.make_tensor_value_info("state", onnx.TensorProto.FLOAT, ["samples", INPUTS])],
        [helper.make_tensor_value_info("torque", onnx.TensorProto.FLOAT, ["samples"])],
        stored,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version = 10  # what run times of two years ago read
    onnx.checker.check_model(model, full_check=True)
    path.write_bytes(model.SerializeToString())
