# SPDX-License-Identifier: Apache-2.0
"""Joint states of a table (`table.py`): `dof_vel` or `qd`, and `tau` or `effort`."""

from __future__ import annotations

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import LogError, SamplesError
from sysid_nodes.logs.table import POSITION, TIME, TORQUE, VELOCITY, Table


def joint_samples(table: Table) -> JointSamples:
    """Positions, velocities and torques that a table holds.

    Raises:
        LogError: the table lacks one of them, or holds no log.
    """
    arrays = [table.get(quantity) for quantity in (TIME, POSITION, VELOCITY, TORQUE)]
    try:
        return JointSamples(table.names, *arrays)
    except SamplesError as error:
        raise LogError(str(error), source=str(table.source)) from None
