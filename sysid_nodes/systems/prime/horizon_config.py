# SPDX-License-Identifier: Apache-2.0
"""Configuration of the moving horizon: the only home of its defaults."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError


@dataclass(frozen=True)
class HorizonConfig:
    """The moving window. The information of stages that leave is kept as a Gaussian prior, the arrival cost."""

    window: int = option(30, "stages of the full window", minimum=5)
    first: int = option(10, "stages of the first estimate; the window then grows", minimum=5)
    iterations: int = option(1, "Gauss-Newton steps of a solve, once the window moves", minimum=1)
    most_iterations: int = option(
        5,
        "steps of a solve at most, taken where residuals have grown beyond their noise since the last one, as at an"
        " impact, or a step ends elsewhere than expected",
        minimum=1,
    )
    first_iterations: int = option(40, "iterations of the first solve at most", minimum=1)
    time_limit: float = option(
        0.0, "wall time after which a solve begins no further iteration; 0: none", unit="s", minimum=0.0
    )
    covered: int = option(4, "newest stages that get covariances", minimum=2)
    memory: float = option(
        0.0,
        "time over which constants may drift by their prior's standard deviation; 0: they do not, and what is known of"
        " them only ever grows",
        unit="s",
        minimum=0.0,
    )

    def __post_init__(self) -> None:
        if self.first > self.window:
            raise ConfigError("'first' must not exceed 'window'")
