# SPDX-License-Identifier: Apache-2.0
"""Joint states of a table (`table.py`): `tau` or `effort`, and where there are velocities, `dof_vel` or `qd`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.logs.table import POSITION, TIME, TORQUE, VELOCITY, Table


def joint_samples(table: Table) -> JointSamples:
    """Positions, velocities and torques that a table holds.

    Velocities that it lacks are central differences of its positions, as exact as encoders and sampling let them be:
    `sysid init` finds by how much they miss the change of position, as with a driver's.

    Raises:
        LogError: the table lacks positions or torques, or holds no log.
    """
    t, q, tau = (table.get(quantity) for quantity in (TIME, POSITION, TORQUE))
    try:
        if table.has(VELOCITY):
            return JointSamples(table.names, t, q, table.get(VELOCITY), tau)
        known = JointSamples(table.names, t, q, np.zeros_like(q), tau)
        if len(t) < 3:
            raise LogError("has too few rows for velocities from positions", source=str(table.source))
        return replace(known, qd=np.gradient(known.q, known.t, axis=0))
    except SamplesError as error:
        raise LogError(str(error), source=str(table.source)) from None
