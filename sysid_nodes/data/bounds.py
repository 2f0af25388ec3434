# SPDX-License-Identifier: Apache-2.0
"""An interval for each of the ten inertial parameters of a body."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]

PARAMETER_NAMES = ("m", "m*cx", "m*cy", "m*cz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
"""Pinocchio's order; first moments and inertia about the joint frame's origin, in the joint frame."""

PARAMETER_UNITS = ("kg", "kg m", "kg m", "kg m", "kg m2", "kg m2", "kg m2", "kg m2", "kg m2", "kg m2")


@dataclass(frozen=True)
class Bounds:
    """Closed intervals, one a parameter.

    Attributes:
        lower: (n,) infima.
        upper: (n,) suprema.

    Raises:
        ConfigError: shapes differ, a value is NaN or a lower end lies above its upper end.
    """

    lower: Array
    upper: Array

    def __post_init__(self) -> None:
        lower = np.array(self.lower, dtype=np.float64)
        upper = np.array(self.upper, dtype=np.float64)
        if lower.shape != upper.shape or lower.ndim != 1:
            raise ConfigError(f"bounds need two vectors of one length, got {lower.shape} and {upper.shape}")
        if np.isnan(lower).any() or np.isnan(upper).any():
            raise ConfigError("bounds must not be NaN")
        if (bad := np.flatnonzero(lower > upper)).size:
            k = int(bad[0])
            name = PARAMETER_NAMES[k] if lower.size == len(PARAMETER_NAMES) else f"entry {k}"
            raise ConfigError(f"impossible bounds: {name} has lower {lower[k]:g} above upper {upper[k]:g}")
        lower.setflags(write=False)
        upper.setflags(write=False)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def centre(self) -> Array:
        return 0.5 * (self.lower + self.upper)

    @property
    def half_width(self) -> Array:
        return 0.5 * (self.upper - self.lower)

    def contains(self, value: Array) -> bool:
        """Whether every entry of value (n,) lies in its interval."""
        return bool(((self.lower <= value) & (value <= self.upper)).all())
