# SPDX-License-Identifier: Apache-2.0
"""The known truth of a simulated motion, and how far an estimate is from it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.prime.series import PrimeSeries
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

FILE, SERIES = "truth.json", "truth.npz"
"""Files written by the simulated robot's node."""

ON_GROUND = 2.0
"""True normal force above which a foot counts as on the ground [N]."""

_EDGE = 3  # stages at both ends that are not compared: torques there are means over half a window


@dataclass(frozen=True)
class PrimeTruth:
    """True values at the stages of a series.

    Attributes:
        parameters: (nb, 10) of the identified bodies, all that they carry included.
        total_mass: of the robot [kg].
        position: (N, 3) of the base [m]; NaN where it is not known.
        orientation: (N, 4) of the base, x, y, z, w.
        force: (N, nc, 3) contact forces, averaged about a stage as the estimate's are [N].
    """

    parameters: Array
    total_mass: float
    position: Array
    orientation: Array
    force: Array

    def arrays(self) -> dict[str, Array]:
        """By name, for a file."""
        return {name: np.asarray(getattr(self, name)) for name in _NAMES}

    @classmethod
    def of(cls, arrays: dict[str, Array]) -> PrimeTruth:
        """From what `arrays` gave."""
        values: dict[str, Any] = {name: arrays[name] for name in _NAMES}
        return cls(**values | {"total_mass": float(values["total_mass"])})


_NAMES = ("parameters", "total_mass", "position", "orientation", "force")


def read_truth(folder: Path, robot: Robot, series: PrimeSeries) -> PrimeTruth:
    """The truth at the stages of a series.

    Args:
        folder: holds truth.json and truth.npz of the simulated robot, times being stamps.

    Raises:
        InputError: a file is absent, damaged, or of another robot.
    """
    try:
        constant = json.loads((folder / FILE).read_text(encoding="utf-8"))
        with zipfile.ZipFile(folder / SERIES), np.load(folder / SERIES, allow_pickle=False) as archive:
            time, q, force = archive["time"], archive["q"], archive["force_mean"]
            duration = float(archive["duration"])
        parameters = np.array(constant["parameters"], dtype=np.float64)
        names, total = tuple(constant["contacts"]), float(constant["total_mass"])
    except OSError as error:
        raise InputError(error.strerror or str(error), source=str(folder)) from None
    except (ValueError, KeyError, TypeError, zipfile.BadZipFile, EOFError) as error:
        raise InputError(f"not the truth of a simulated robot: {error}", source=str(folder)) from None
    if names != series.contacts or q.shape[1:] != (robot.model.nq,):
        raise InputError("is the truth of another robot", source=str(folder))
    step = float(np.median(np.diff(series.t))) if len(series.t) > 1 else duration
    base = np.full((len(series.t), 7), np.nan)
    nearest = np.round((series.t - time[0]) / duration).astype(int)
    inside = (nearest >= 0) & (nearest < len(time))
    base[inside] = q[nearest[inside], :7]
    return PrimeTruth(
        parameters=parameters[[robot.body_index(link) for link in series.bodies]].reshape(-1, 10),
        total_mass=total,
        position=base[:, :3],
        orientation=base[:, 3:],
        force=triangle_means(time[0], duration, force, series.t, step),
    )


def triangle_means(start: float, duration: float, values: Array, times: Array, dt: float) -> Array:
    """(N, ...) means of what is constant over ticks, weighted by a triangle from t - dt to t + dt; NaN outside.

    The weighted mean is a second difference of the second integral, which is a quadratic within each tick.

    Args:
        start: of the first tick [s].
        duration: of each [s].
        values: (K, ...) in each tick.
        times: (N,) [s].
        dt: half the triangle's base [s].
    """
    zero = np.zeros((1, *values.shape[1:]))
    first = np.concatenate([zero, np.cumsum(values, axis=0) * duration])
    second = np.concatenate([zero, np.cumsum(first[:-1] * duration + 0.5 * values * duration**2, axis=0)])

    def integral(at: Array) -> Array:
        tick = np.clip(np.floor((at - start) / duration).astype(int), 0, len(values) - 1)
        rest = (at - start - tick * duration).reshape(-1, *[1] * (values.ndim - 1))
        return np.asarray(second[tick] + first[tick] * rest + 0.5 * values[tick] * rest**2)

    mean = (integral(times + dt) - 2.0 * integral(times) + integral(times - dt)) / dt**2
    slack = 1e-6 * duration
    known = (times - dt >= start - slack) & (times + dt <= start + len(values) * duration + slack)
    mean[~known] = np.nan
    return np.asarray(mean)


def feet(robot: Robot) -> tuple[tuple[str, ...], npt.NDArray[np.int64]]:
    """Names of the feet, a foot being all points on one link, and the foot of every contact point."""
    joints = list(dict.fromkeys(point.joint for point in robot.contacts))
    index = np.array([joints.index(point.joint) for point in robot.contacts], dtype=np.int64)
    names = [[point.name for point in robot.contacts if point.joint == joint] for joint in joints]
    return tuple(_common(group) for group in names), index


def sum_by_foot(values: Array, index: npt.NDArray[np.int64]) -> Array:
    """(N, feet, 3) sums over the points of each foot."""
    out = np.zeros((len(values), int(index.max()) + 1, 3))
    np.add.at(out.transpose(1, 0, 2), index, values.transpose(1, 0, 2))
    return out


def score(series: PrimeSeries, truth: PrimeTruth, robot: Robot) -> dict[str, Any]:
    """Errors of an estimate, as plain values for the report and the result file.

    The contact's F1 and the force errors are by foot, over all stages but three at both ends of what is known.
    """
    index = feet(robot)[1]
    found, true = sum_by_foot(series.force, index), sum_by_foot(truth.force, index)
    told = series.tells_forces
    known = np.isfinite(true).all(axis=(1, 2)) & (np.isfinite(found).all(axis=(1, 2)) | (not told))
    rows = np.flatnonzero(known)[_EDGE:-_EDGE]
    wrong = found[rows] - true[rows]
    down = [series.on_ground[:, index == k].any(axis=1) for k in range(found.shape[1])]
    touching = found[..., 2] > ON_GROUND if told else np.stack(down, axis=1)
    norm = float(np.linalg.norm(true[rows]))
    placed = rows[np.isfinite(truth.position[rows]).all(axis=1)]
    shift = series.base[placed, :3] - truth.position[placed]
    result: dict[str, Any] = {
        "force_error": float(np.linalg.norm(wrong)) / norm if told and norm else None,
        "force_rms": float(np.sqrt(np.mean(np.sum(wrong**2, axis=-1)))) if told and len(rows) else None,
        "contact_f1": f1(touching[rows], true[rows, :, 2] > ON_GROUND) if len(rows) else None,
        "position_rms": float(np.sqrt(np.mean(np.sum(shift**2, axis=-1)))) if len(placed) else None,
        "angle_rms": _angle_rms(series.base[placed, 3:], truth.orientation[placed]),
        "total_mass": truth.total_mass,
        "bodies": [],
    }
    for k, link in enumerate(series.bodies):
        theta, com = truth.parameters[k], truth.parameters[k, 1:4] / truth.parameters[k, 0]
        result["bodies"].append(
            {
                "link": link,
                "parameters": theta.tolist(),
                "centre_of_mass": com.tolist(),
                "mass_error": float(series.theta[-1, k, 0] / theta[0] - 1.0),
                "centre_of_mass_error": float(np.linalg.norm(series.com[-1, k] - com)),
            }
        )
    return result


def f1(found: BoolArray, true: BoolArray) -> float:
    """Harmonic mean of precision and recall; one where there is nothing to find and nothing was found."""
    both = np.sum(found) + np.sum(true)
    return float(2.0 * np.sum(found & true) / both) if both else 1.0


def _angle_rms(found: Array, true: Array) -> float | None:
    if not len(found):
        return None
    angles = [
        np.linalg.norm(pinocchio.log3(pinocchio.Quaternion(a).matrix().T @ pinocchio.Quaternion(b).matrix()))
        for a, b in zip(found, true, strict=True)
    ]
    return float(np.sqrt(np.mean(np.square(angles))))


def _common(names: Sequence[str]) -> str:
    """The common beginning of the names of a foot's points."""
    if len(names) == 1:
        return names[0]
    first, last = min(names), max(names)
    size = next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))
    return first[:size].rstrip("_ ") or names[0]
