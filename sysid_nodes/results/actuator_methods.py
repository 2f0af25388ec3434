# SPDX-License-Identifier: Apache-2.0
"""Each joint by a method, beside its identified parameters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.results.actuators import ReplayError

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class OracleTorque:
    """Torque that the gear passed on to the body, told by the motion alone; not a number where nothing was measured.

    Attributes:
        torque, sigma: (S,) [N m].
        noise: standard deviation of the encoder [rad].
        model: (S,) what the method's model says along the same motion [N m].
    """

    torque: Array
    sigma: Array
    noise: float
    model: Array


@dataclass(frozen=True)
class JointMethod:
    """One joint by one method.

    Attributes:
        position: (S,) replayed by the commands alone, or driven by the oracle's torque [rad].
        replay: its error.
        outside: share of that replay outside of what the model was trained on.
        oracle: of the joint; None where it was not asked for.
        weights: of a network, by name; empty where there is none.
        findings: what speaks against the model.
    """

    name: str
    method: str
    position: Array
    replay: ReplayError
    outside: float
    oracle: OracleTorque | None
    weights: dict[str, Array]
    findings: tuple[str, ...]
