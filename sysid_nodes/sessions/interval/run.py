# SPDX-License-Identifier: Apache-2.0
"""Data of a finished identification for its result file and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.versions import software_versions
from sysid_nodes.exceptions import InputError, SamplesError
from sysid_nodes.results import IdentificationResult

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TorqueSeries:
    """Joint torques over time, as measured and as the identified model predicts them.

    Attributes:
        joint_names: n joint names, the column order.
        t: (N,) stamps [s], increasing.
        measured: (N, n) torque readings [N m].
        predicted: (N, n) torques of the nominal model [N m]; NaN where there is no prediction.
        radius: (N, n) error that the stated measurement bounds allow [N m], or None where unknown.

    Raises:
        SamplesError: the shapes do not belong together.
    """

    joint_names: tuple[str, ...]
    t: Array
    measured: Array
    predicted: Array
    radius: Array | None = None

    def __post_init__(self) -> None:
        shape = (np.asarray(self.t).size, len(self.joint_names))
        for name in ("measured", "predicted", "radius"):
            if name == "radius" and self.radius is None:
                continue
            value = np.asarray(getattr(self, name), dtype=np.float64)
            if value.shape != shape:
                raise SamplesError(f"{name} torque must have shape {shape}, got {value.shape}")
            object.__setattr__(self, name, value)
        object.__setattr__(self, "t", np.asarray(self.t, dtype=np.float64))

    @property
    def residual(self) -> Array:
        """(N, n) measured minus predicted [N m]."""
        return self.measured - self.predicted

    def rms(self) -> Array:
        """(n,) root mean square of the residual [N m]; NaN for a joint without any prediction."""
        squares = self.residual**2
        count = np.isfinite(squares).sum(axis=0)
        total = np.nansum(squares, axis=0)
        mean = np.divide(total, count, out=np.full(count.shape, np.nan), where=count > 0)
        return np.asarray(np.sqrt(mean))


@dataclass(frozen=True)
class IntervalRun:
    """One run of an identifier over a stream or a log.

    Attributes:
        robot: the robot's name.
        method: identification method, as in the configuration.
        body: link that was identified, with all that is rigidly attached to it.
        history: results in order of time; the last one is the run's result.
        assumptions: of the guarantee, one sentence each.
        config: flat configuration used (dotted names).
        source: the bag, topic or simulation the data came from.
        frame: link whose moving joint's frame the parameters are expressed in, and about whose origin.
        joint_names: the robot's joints that move; all others were held to be fixed.
        torques: measured and predicted joint torques, thinned as the caller sees fit.
        calibration: path of the calibration used, or an empty string.
        truth: (10,) true parameters where known (simulation).
        pipeline: which pipeline made the result.
        versions: software versions; looked up unless given.
        findings: faults and suspicions about the data themselves, one line each.
        solve_time: wall time of all steps [s]; None sums it over the history.

    Raises:
        InputError: the history is empty or the truth does not have ten entries.
    """

    robot: str
    method: str
    body: str
    history: tuple[IdentificationResult, ...]
    assumptions: tuple[str, ...]
    config: Mapping[str, Any]
    source: str
    frame: str = ""
    joint_names: tuple[str, ...] = ()
    torques: TorqueSeries | None = None
    calibration: str = ""
    truth: Array | None = None
    pipeline: str = "interval"
    versions: Mapping[str, str] = field(default_factory=lambda: software_versions())
    solve_time: float | None = None
    findings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.history:
            raise InputError("a run needs at least one result", source=self.source)
        if self.truth is not None and np.shape(self.truth) != (len(PARAMETER_NAMES),):
            raise InputError(f"the truth needs {len(PARAMETER_NAMES)} numbers, got shape {np.shape(self.truth)}")

    @property
    def result(self) -> IdentificationResult:
        """The last result."""
        return self.history[-1]
