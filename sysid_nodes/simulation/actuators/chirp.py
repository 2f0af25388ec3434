# SPDX-License-Identifier: Apache-2.0
"""A chirp as position commands: what the shared Go2 logs were recorded with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class ChirpConfig:
    """A sine whose frequency grows linearly with time, about the middle of the motion."""

    duration: float = option(23.5, "of the motion", unit="s", minimum=1.0)
    first: float = option(0.1, "frequency at the start", unit="Hz", minimum=1e-3)
    last: float = option(2.0, "frequency at the end", unit="Hz", minimum=1e-3)
    amplitude: float = option(0.3, "either side of the middle", unit="rad", minimum=1e-4)
    rate: float = option(200.0, "of the commands", unit="Hz", minimum=1.0)


def chirp(config: ChirpConfig, middle: Array) -> tuple[Array, Array]:
    """Times (M,) [s] and commanded positions (M, n) about a posture (n,) [rad]; it starts in the middle."""
    t = np.arange(int(config.duration * config.rate) + 1) / config.rate
    phase = 2.0 * np.pi * (config.first * t + 0.5 * (config.last - config.first) / config.duration * t**2)
    return t, middle + config.amplitude * np.sin(phase)[:, None]
