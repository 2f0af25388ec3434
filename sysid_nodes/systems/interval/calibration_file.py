# SPDX-License-Identifier: Apache-2.0
"""calibration.json: parameters of the bare robot from unloaded runs, with their uncertainty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import CalibrationError
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.config import NoiseConfig
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque

Array = npt.NDArray[np.float64]

SCHEMA, PROBABLE_SCHEMA, CURVED_SCHEMA, COUPLED_SCHEMA = 3, 4, 5, 6
"""Of a calibration by bounded errors, and of those that older versions must refuse: they would call what rests on a
posterior proven, take viscous friction for proportional to the speed, and a motor for its joint's alone."""

INTERVAL, BAYESIAN, BOTH = "interval", "bayesian", "both"
CALIBRATION_METHODS = (INTERVAL, BAYESIAN, BOTH)
"""Box and rows from bounded errors; from a posterior; the former with the estimate of the latter."""

LEAST_DETERMINANT = 1e-6
"""Of a coupling that can be undone."""
_SAME_PLACE = 1e-3
"""Largest difference of a joint's placement [m, 1] between the robot calibrated and the robot used."""


@dataclass(frozen=True)
class Calibration:
    """A known robot: box of its parameters and the rows that tie them together.

    Attributes:
        robot: name of the robot.
        joints: n joint names.
        placements: (n, 12) of each joint in its parent's frame: position [m], then the rotation matrix by rows.
        estimate: (15 n or, with load friction, 16 n) physically consistent estimate of all parameters, in the order of
            `Unknowns`; so are lower, upper and rows.
        lower: (15 n,) lower ends of the intervals of all values the data allow, estimate included.
        upper: (15 n,) upper ends.
        rows: (m, 15 n) momentum rows of the unloaded runs: |rows @ p| <= rows_radius for the true p.
        rows_radius: (m,) [N m s].
        belief: about all parameters and load frictions (16 n), for estimates.
        prediction: (16 n,) parameters that predict torque best (`predicting_point`).
        transmitted: torque that load friction is a share of; None where there was no load friction in question.
        least_squares: (15 n,) ordinary least squares of the unloaded runs, which need not be physical; to compare with.
        torque_absolute: (n,) bound on the error of a window's mean torque reading, from the residuals [N m].
        margin: factor between the largest residual of windows that a fit had not seen and torque_absolute.
        residual_rms: (n,) root mean square of the residuals, in torque readings [N m].
        window: length of the windows whose mean torque errors torque_absolute bounds [s].
        noise_model: which other errors are part of those, as in `NoiseConfig.model`.
        source: the logs it was made from.
        method: how, one of `CALIBRATION_METHODS`.
        viscous_power: (n,) power of the speed that viscous friction grows with.
        coupling: (n, n) motors turn by it times joints, and all but links is theirs; None: each with its joint alone.
        sum_shares: by number of windows in a row, (n,) share of torque_absolute that bounds the mean over them.
        unshown: joints whose efforts show next to nothing of their torque in these runs, if they are read at all.
        speed: (n,) largest speed in the unloaded runs [rad/s or m/s]; None where the file does not say.
    """

    robot: str
    joints: tuple[str, ...]
    placements: Array
    estimate: Array
    lower: Array
    upper: Array
    rows: Array
    rows_radius: Array
    belief: Belief
    prediction: Array
    transmitted: TransmittedTorque | None
    least_squares: Array
    viscous_power: Array
    torque_absolute: Array
    margin: float
    residual_rms: Array
    window: float
    noise_model: str
    source: tuple[str, ...]
    method: str = INTERVAL
    coupling: Array | None = None
    sum_shares: Mapping[int, Array] = field(default_factory=dict)
    unshown: tuple[str, ...] = ()
    speed: Array | None = None

    @property
    def centre(self) -> Array:
        """(15 n,) middles of the intervals."""
        return np.asarray(0.5 * (self.lower + self.upper))

    @property
    def radius(self) -> Array:
        """(15 n,) half-widths about `centre`, rounded outward; 0 where a parameter is known."""
        half = np.maximum(self.upper - self.centre, self.centre - self.lower)
        return np.where(half > 0.0, np.nextafter(half, np.inf), 0.0)

    def check(self, robot: Robot, window: float, noise_model: str) -> None:
        """Refuses a use that the calibration does not cover.

        Raises:
            CalibrationError: it is of another robot, another window [s] or another noise model: a shorter window's mean
                error may be larger than its bound.
        """
        if not np.isclose(window, self.window, rtol=1e-6) or noise_model != self.noise_model:
            raise CalibrationError(
                f"calibration is for windows of {self.window:g} s and noise model {self.noise_model}, not for "
                f"{window:g} s and {noise_model}; calibrate with the same configuration"
            )
        if self.joints != robot.joint_names:
            raise CalibrationError(
                f"calibration is for joints {', '.join(self.joints)}; the robot has {', '.join(robot.joint_names)}"
            )
        apart = np.abs(self.placements - joint_placements(robot)).max(axis=1)
        if moved := [name for name, far in zip(self.joints, apart, strict=True) if far > _SAME_PLACE]:
            raise CalibrationError(
                f"calibration is for robot '{self.robot}', whose {', '.join(moved)} sit elsewhere on their links than "
                f"those of robot '{robot.name}'"
            )

    def noise(self, stated: NoiseConfig) -> NoiseConfig:
        """The stated noise with the absolute torque error that the calibration found.

        In the model `window` that replaces what was stated; where errors are itemised it comes on top.
        """
        found = stated.torque_factor * self.torque_absolute
        if stated.model == "itemised":
            found = found + np.broadcast_to(stated.torque_absolute, found.shape)
        return replace(stated, torque_absolute=tuple(float(x) for x in found))

    def summary(self) -> str:
        """One phrase for reports."""
        logs = ", ".join(Path(name).name for name in self.source)
        posterior = "; a posterior's intervals, which hold with 95 % probability" if self.method == BAYESIAN else ""
        return (
            f"from {logs}{posterior}; {len(self.rows_radius)} rows kept; its bound on the torque error is "
            f"{self.margin:g} times the largest residual of windows that a fit had not seen: "
            "experience, not proof"
        )


def joint_placements(robot: Robot) -> Array:
    """(n, 12) position [m] and rotation matrix, by rows, of each joint in its parent's frame."""
    poses = list(robot.model.jointPlacements)[1:]
    return np.array([np.concatenate([pose.translation, pose.rotation.ravel()]) for pose in poses])


def save_calibration(calibration: Calibration, path: Path) -> None:
    """Writes the file in one piece: a reader never sees half of it. Every number is kept to the last bit.

    Raises:
        CalibrationError: the path is of a folder or device, or cannot be written.
    """
    refuse_place(path)
    schema = PROBABLE_SCHEMA if calibration.method == BAYESIAN else SCHEMA
    if (calibration.viscous_power != 1.0).any():
        schema = CURVED_SCHEMA
    if calibration.coupling is not None:
        schema = COUPLED_SCHEMA
    tree: dict[str, Any] = {"schema": schema, "kind": "calibration"} | _plain(asdict(calibration))
    draft = path.with_name(path.name + ".part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(json.dumps(tree, allow_nan=False, separators=(",", ":")), encoding="utf-8")
        draft.replace(path)
    except OSError as error:
        with suppress(OSError):  # its folder may not be one
            draft.unlink()
        raise CalibrationError(f"cannot write: {error.strerror}", source=str(path)) from None


def refuse_place(path: Path) -> None:
    """Says before the work that a calibration cannot be written there.

    Raises:
        CalibrationError: the path is of a folder or device.
    """
    if path.exists() and not path.is_file():
        raise CalibrationError("exists and is not a file", source=str(path))


def _plain(value: Any) -> Any:
    """Arrays as lists, all the way down."""
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


def load_calibration(path: str | Path) -> Calibration:
    """Reads calibration.json.

    Raises:
        CalibrationError: the file is missing, not a calibration, of another schema or damaged.
    """
    try:
        tree = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise CalibrationError(error.strerror or "cannot be read", source=str(path)) from None
    except ValueError as error:
        raise CalibrationError(f"not valid JSON: {error}", source=str(path)) from None
    if not isinstance(tree, Mapping) or tree.get("kind") != "calibration":
        raise CalibrationError("not a calibration file", source=str(path))
    if (schema := tree.get("schema")) not in range(SCHEMA, COUPLED_SCHEMA + 1):
        raise CalibrationError(
            f"has schema {schema}, this version reads {SCHEMA} to {COUPLED_SCHEMA}; calibrate again", source=str(path)
        )
    try:
        return _calibration(tree)
    except (KeyError, TypeError, ValueError) as error:
        what = f"no {error}" if isinstance(error, KeyError) else error
        raise CalibrationError(f"damaged: {what}", source=str(path)) from None


def _calibration(tree: Mapping[str, Any]) -> Calibration:
    """Checks the tree of a file; raises KeyError, TypeError or ValueError."""
    joints = tuple(str(name) for name in tree["joints"])
    n, m = len(joints), len(tree["rows_radius"])
    size = len(tree["estimate"])
    if size not in (15 * n, 16 * n):
        raise ValueError(f"estimate has {size} numbers, not {15 * n} or {16 * n}")
    shapes = {
        "placements": (n, 12),
        "estimate": (size,),
        "least_squares": (15 * n,),
        "lower": (size,),
        "upper": (size,),
        "rows": (m, size),
        "rows_radius": (m,),
        "torque_absolute": (n,),
        "residual_rms": (n,),
    }
    arrays = {name: _array(name, tree[name], shape) for name, shape in shapes.items()}
    for name in ("rows_radius", "torque_absolute", "residual_rms"):
        if (arrays[name] < 0.0).any():
            raise ValueError(f"{name} holds a negative number")
    if (arrays["lower"] > arrays["upper"]).any():
        raise ValueError("a lower end is above its upper end")
    power = _array("viscous_power", tree.get("viscous_power", [1.0] * n), (n,))  # files of before it lack it
    if (power <= 0.0).any():
        raise ValueError("viscous_power is not positive")
    transmitted = _read_transmitted(tree["transmitted"], power)
    # Files of before there were other methods lack it.
    method = str(tree.get("method", INTERVAL) if tree["schema"] == SCHEMA else tree["method"])
    if method not in CALIBRATION_METHODS:
        raise ValueError(f"method is '{method}'")
    sums = {int(count): _array("sum_shares", share, (n,)) for count, share in tree.get("sum_shares", {}).items()}
    if any(count < 1 or (share < 0.0).any() for count, share in sums.items()):
        raise ValueError("sum_shares holds a negative number")
    if (transmitted is None) != (size == 15 * n):
        raise ValueError("load friction and transmitted torque belong together")
    belief, turned = _belief(tree["belief"], n), tree.get("coupling")  # files of before it lack it
    coupling = None if turned is None else _array("coupling", turned, (n, n))
    if coupling is not None and abs(np.linalg.det(coupling)) < LEAST_DETERMINANT:
        raise ValueError("coupling leaves joints that no motor moves")
    return Calibration(
        belief=belief,
        prediction=_array("prediction", tree.get("prediction", belief.point), (16 * n,)),  # files of before it lack it
        transmitted=transmitted,
        viscous_power=power,
        robot=str(tree["robot"]),
        joints=joints,
        margin=float(tree["margin"]),
        window=float(tree["window"]),
        noise_model=str(tree["noise_model"]),
        source=tuple(str(name) for name in tree["source"]),
        method=method,
        coupling=coupling,
        sum_shares=sums,
        unshown=tuple(str(name) for name in tree.get("unshown", ())),  # files of before it lack it
        speed=None if tree.get("speed") is None else _array("speed", tree["speed"], (n,)),  # likewise
        **arrays,
    )


def _belief(tree: Mapping[str, Any], n: int) -> Belief:
    wide = 16 * n
    parts = {"point": (wide,), "information": (wide, wide), "score": (wide,), "score_covariance": (wide, wide)}
    return Belief(**{name: _array(f"belief.{name}", tree[name], shape) for name, shape in parts.items()})


def _read_transmitted(tree: Mapping[str, Any] | None, power: Array) -> TransmittedTorque | None:
    if tree is None:
        return None
    terms = ("coulomb", "viscous", "offset", "gain")
    known = {name: _array(f"transmitted.{name}", tree[name], power.shape) for name in terms}
    return TransmittedTorque(**known, viscous_power=power)


def _array(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    array = np.array(value, dtype=np.float64)
    if array.size == 0 and 0 in shape:
        return array.reshape(shape)
    if array.shape != shape:
        raise ValueError(f"{name} has shape {array.shape}, not {shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds a number that is not finite")
    return array
