# SPDX-License-Identifier: Apache-2.0
"""A method's share of the files of an identification: fields of result.json, series, and networks."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.models.actuator_network import ActuatorNetwork
from sysid_nodes.models.actuator_network_onnx import write_onnx
from sysid_nodes.results.actuator_methods import JointMethod

Array = npt.NDArray[np.float64]

TORQUE = ("torque", "torque_sigma", "model_torque")
"""Series (S, n) of the torque oracle and of the method's model [N m]."""

TRUE_TORQUE = "true_torque"
"""The same of a simulated robot, as its bodies took it."""

WEIGHTS_NAME = "networks.npz"


def method_fields(joint: JointMethod | None, true_torque: Array | None = None) -> dict[str, Any]:
    """Fields of a joint in result.json; null where no method was applied, or the true torque (S,) is not known."""
    if joint is None:
        return {"method": None, "oracle": None}
    replay, oracle = joint.replay, None
    if joint.oracle is not None:
        told, off = joint.oracle.torque, joint.oracle.model - joint.oracle.torque
        oracle = {
            "rms": float(np.sqrt(np.nanmean(told**2))),
            "sigma": float(np.nanmedian(joint.oracle.sigma)),
            "encoder_noise": joint.oracle.noise,
            "difference": float(np.sqrt(np.nanmean(off**2))),
            "error": None,
            "inside": None,
        }
        if true_torque is not None:
            wrong = told - true_torque
            if (known := np.isfinite(wrong)).any():
                oracle["error"] = float(np.sqrt(np.mean(wrong[known] ** 2)))
                oracle["inside"] = float(np.mean(np.abs(wrong[known]) < 1.96 * joint.oracle.sigma[known]))
    method = {
        "rmse": replay.rmse,
        "mae": replay.mae,
        "worst": replay.worst,
        "outside": joint.outside,
        "network": bool(joint.weights),
        "findings": list(joint.findings),
    }
    return {"method": method, "oracle": oracle}


def torque_series(methods: Sequence[JointMethod]) -> dict[str, Array]:
    """(S, n) each of TORQUE; nothing where a joint has no oracle."""
    oracles = [joint.oracle for joint in methods if joint.oracle is not None]
    if not oracles or len(oracles) < len(methods):
        return {}
    columns = zip(*((own.torque, own.sigma, own.model) for own in oracles), strict=True)
    return {name: np.stack(column, axis=1) for name, column in zip(TORQUE, columns, strict=True)}


def write_weights(folder: Path, methods: Sequence[JointMethod], *, onnx: bool) -> None:
    """Weights of all joints' networks, each under JOINT/NAME, and JOINT.onnx where asked for; none, no file.

    Raises:
        ConfigError: ONNX is asked for and its library is not installed.
    """
    arrays: Mapping[str, Any] = {f"{own.name}/{name}": value for own in methods for name, value in own.weights.items()}
    if arrays:
        np.savez_compressed(folder / WEIGHTS_NAME, allow_pickle=False, **arrays)
    if onnx:
        write_onnx_files(folder, arrays)


def read_weights(result: Path) -> dict[str, Array]:
    """Arrays JOINT/NAME of the networks beside a result.json, or in its folder; nothing where there are none.

    Raises:
        InputError: the file is no NumPy archive of networks.
    """
    path = (result if result.is_dir() else result.parent) / WEIGHTS_NAME
    if not path.exists():
        return {}
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: np.asarray(stored[name]) for name in stored.files}
        for joint in _joints(arrays):
            ActuatorNetwork.from_arrays(_of(arrays, joint))
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise InputError(f"holds no networks of actuators: {error}", source=str(path)) from None
    return arrays


def write_onnx_files(folder: Path, arrays: Mapping[str, Any]) -> None:
    """Writes JOINT.onnx of each joint of arrays JOINT/NAME.

    Raises:
        ConfigError: the library onnx is not installed.
    """
    for joint in _joints(arrays):
        own = _of(arrays, joint)
        path = folder / f"{joint.replace('/', '_')}.onnx"
        write_onnx(path, ActuatorNetwork.from_arrays(own), residual=bool(own["residual"]))


def _joints(arrays: Mapping[str, Any]) -> list[str]:
    return list(dict.fromkeys(name.rpartition("/")[0] for name in arrays))


def _of(arrays: Mapping[str, Any], joint: str) -> dict[str, Any]:
    return {name.rpartition("/")[2]: value for name, value in arrays.items() if name.rpartition("/")[0] == joint}
