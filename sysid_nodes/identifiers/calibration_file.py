"""calibration.json: what an unloaded run taught about the bare robot, with its uncertainty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import CalibrationError
from sysid_nodes.identifiers.config import NoiseConfig
from sysid_nodes.robots.robot import Robot

Array = npt.NDArray[np.float64]

SCHEMA = 1

_ARRAYS = ("centre", "radius", "rows", "rows_radius", "information", "torque_absolute", "residual_rms")


@dataclass(frozen=True)
class Calibration:
    """A known robot: box of its parameters and the rows that tie them together.

    Attributes:
        robot: name of the robot.
        joints: n joint names.
        centre: (15 n,) physically consistent estimate of all parameters, in the order of `Unknowns`.
        radius: (15 n,) half-widths of a box around it that contains every parameter the data allow.
        rows: (m, 15 n) momentum rows of the unloaded run: |rows @ p| <= rows_radius for the true p.
        rows_radius: (m,) [N m s].
        information: (15 n, 15 n) sum of a a' / radius^2 over all rows of the unloaded runs, for estimates.
        torque_absolute: (n,) torque error bound found from the residuals of the run [N m].
        residual_rms: (n,) root mean square of the residuals [N m].
        source: the logs it was made from.
    """

    robot: str
    joints: tuple[str, ...]
    centre: Array
    radius: Array
    rows: Array
    rows_radius: Array
    information: Array
    torque_absolute: Array
    residual_rms: Array
    source: tuple[str, ...]

    def check(self, robot: Robot) -> None:
        """Raises CalibrationError when the calibration is of another robot."""
        if self.joints != robot.joint_names:
            raise CalibrationError(
                f"calibration is for joints {', '.join(self.joints)}; the robot has {', '.join(robot.joint_names)}"
            )

    def noise(self, stated: NoiseConfig) -> NoiseConfig:
        """The stated noise with the absolute torque error that the calibration found."""
        return replace(stated, torque_absolute=tuple(float(x) for x in self.torque_absolute))

    def summary(self) -> str:
        """One phrase for reports."""
        return f"from {', '.join(Path(name).name for name in self.source)}; {len(self.rows_radius)} rows kept"


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Writes the file in one piece: a reader never sees half of it."""
    tree: dict[str, Any] = {"schema": SCHEMA, "kind": "calibration"} | {
        name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in asdict(calibration).items()
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(path.name + ".part")
    draft.write_text(json.dumps(tree, allow_nan=False), encoding="utf-8")
    draft.replace(path)


def load_calibration(path: str | Path) -> Calibration:
    """Reads calibration.json.

    Raises:
        CalibrationError: the file is missing, is no calibration or is damaged.
    """
    try:
        tree = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CalibrationError(error.strerror or "cannot be read", source=str(path)) from None
    except ValueError as error:
        raise CalibrationError(f"not valid JSON: {error}", source=str(path)) from None
    if not isinstance(tree, Mapping) or tree.get("kind") != "calibration":
        raise CalibrationError("not a calibration file", source=str(path))
    if tree.get("schema") != SCHEMA:
        raise CalibrationError(f"schema {tree.get('schema')} is not {SCHEMA}", source=str(path))
    try:
        joints = tuple(str(name) for name in tree["joints"])
        arrays = {name: np.array(tree[name], dtype=np.float64) for name in _ARRAYS}
        calibration = Calibration(
            robot=str(tree["robot"]), joints=joints, source=tuple(str(name) for name in tree["source"]), **arrays
        )
    except (KeyError, TypeError, ValueError) as error:
        raise CalibrationError(f"damaged: {error}", source=str(path)) from None
    n, m = len(joints), calibration.rows_radius.size
    size = 15 * n
    shapes = {"centre": (size,), "radius": (size,), "rows": (m, size), "torque_absolute": (n,)}
    shapes["information"] = (size, size)
    for name, shape in shapes.items():
        value = getattr(calibration, name)
        if value.shape != shape and not (m == 0 and name == "rows"):
            raise CalibrationError(f"damaged: {name} has shape {value.shape}, not {shape}", source=str(path))
        if not np.isfinite(value).all() or (name == "radius" and (value < 0.0).any()):
            raise CalibrationError(f"damaged: {name} holds a bad number", source=str(path))
    return calibration
