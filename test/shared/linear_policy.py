# SPDX-License-Identifier: Apache-2.0
"""Linear policies as ONNX: actions = observations times weights."""

import numpy as np
import yaml

LEG = {"hip_joint": 0.0, "thigh_joint": 0.8, "calf_joint": -1.6}
JOINTS = {f"{leg}_{joint}": angle for leg in ("FR", "FL", "RR", "RL") for joint, angle in LEG.items()}
"""In another order than ours, as networks have it."""

OBSERVATIONS = {
    "angular_velocity": 0.25, "gravity": 1.0, "command": [2.0, 2.0, 0.25], "positions": 1.0, "velocities": 0.05,
    "last_action": 1.0,
}  # fmt: skip
"""Of policies for Unitree's robots: 45 numbers."""


def write_policy(path, weights, *, rows="robots", **layout):
    """The network and, beside it, its layout, in whose place keywords may put something else."""
    import onnx
    from onnx import helper, numpy_helper

    weights = np.asarray(weights, np.float32)
    of, kind = helper.make_tensor_value_info, onnx.TensorProto.FLOAT
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["obs", "W"], ["actions"])],
        "policy",
        [of("obs", kind, [rows, weights.shape[0]])],
        [of("actions", kind, [rows, weights.shape[1]])],
        [numpy_helper.from_array(weights, "W")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 10
    path.write_bytes(model.SerializeToString())
    own = {"period": 0.02, "action_scale": 0.25, "joints": JOINTS, "observations": OBSERVATIONS} | layout
    path.with_suffix(".yaml").write_text(yaml.safe_dump(own, sort_keys=False), encoding="utf-8")
    return path


def leaning_policy(path):
    """Stands and leans as commanded; its legs are stiffer than their drives, or a load would make it slide and fall."""
    weights = np.zeros((14, 12))
    for k, leg in enumerate(("FR", "FL", "RR", "RL")):
        side, end = (1.0 if leg[1] == "L" else -1.0), (1.0 if leg[0] == "F" else -1.0)
        weights[:2, 3 * k + 1] = -0.4 * side, 0.5 * end
        weights[:2, 3 * k + 2] = 0.8 * side, -1.0 * end
    weights[:2] *= 2.5
    weights[2:] = -1.5 * np.eye(12)
    return write_policy(path, weights, observations={"attitude": 1.0, "positions": 1.0}, action_scale=1.0, period=0.008)
