# SPDX-License-Identifier: Apache-2.0
"""Messages of a run on the stand, and a session that hears them; for tests of live identification."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.logs.command_reader import RawSetPoints
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig
from sysid_nodes.sessions.actuators.session import ActuatorSession, ActuatorUpdate
from sysid_nodes.simulation.actuators.config import SimulatedDrivesConfig
from sysid_nodes.simulation.actuators.hidden_run import HiddenRun, hidden_run

START = 1.7e9  # stamp at which a run begins [s]
VALUES: dict[str, Any] = {
    "robot": "go2",
    "joints": "FL_",
    "actuators.law.stiffness": [20.0],
    "actuators.law.damping": [1.0],
    "online.window": 2.0,
    "online.memory": 3,
    "online.drift.learning": 2,
}

Raw = RawJointState | RawSetPoints
NOTHING = np.zeros(0)


@cache
def run(change: str = "none", seed: int = 3, duration: float = 6.2, after: float = 4.2) -> HiddenRun:
    """A chirp to 4 Hz and, after a change, another."""
    values = {"change": change, "seed": seed, "chirp.duration": duration, "change_duration": after, "chirp.last": 4.0}
    return hidden_run(from_flat(SimulatedDrivesConfig, values))


def messages(of: HiddenRun, begin: float = START, *, gains: Callable[[float], float] | None = None) -> Iterator[Raw]:
    """In the order of their stamps; commands may state gains by time [s]: stiffness, damping with it."""
    names = of.robot.joint_names
    one = np.ones(len(names))
    for t, is_command, q in of.samples():
        stamp = begin + t
        if is_command:
            told = RawSetPoints(stamp, True, names, np.array([stamp]), q[None], None)
            yield told if gains is None else told._replace(stiffness=gains(t) * one, damping=0.05 * gains(t) * one)
        else:
            yield RawJointState(stamp, names, q, NOTHING, NOTHING)


def session(of: HiddenRun, *, gains_told: bool = False, **values: Any) -> ActuatorSession:
    """One that hears the robot of a run; two underscores in a name are a dot."""
    given = {name.replace("__", "."): value for name, value in values.items()}
    known = {name: value for name, value in VALUES.items() if not (gains_told and ".law." in name)}
    return ActuatorSession(of.robot, from_flat(ActuatorSessionConfig, known | given), gains_told=gains_told)


def feed(to: ActuatorSession, raws: Iterable[Raw]) -> list[ActuatorUpdate]:
    """All updates."""
    found = []
    for raw in raws:
        update = to.take_command(raw) if isinstance(raw, RawSetPoints) else to.take_state(raw)
        if update is not None:
            found.append(update)
    return found
