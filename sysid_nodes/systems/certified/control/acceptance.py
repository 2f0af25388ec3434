# SPDX-License-Identifier: Apache-2.0
"""Conditions on a trajectory before a controller considers it, no matter which one is being executed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.bounds import PARAMETER_NAMES
from sysid_nodes.results.certificate import PROOFS, Certificate, Verdict
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array

SAME_STATE = 1e-9
"""Largest difference of two states that are meant to be one [rad, rad/s, rad/s2]."""

_SAME_TIME_NS = 2
_ABSURD = 1e9
"""Numbers that nobody can mean, whose powers overflow."""
_SAME_CLAIM = 1e-6
"""Relative difference of two proofs of one trajectory, from machines that round otherwise."""


@dataclass(frozen=True)
class Identity:
    """The controller's identity, to be compared with the one that a trajectory was made for.

    Attributes:
        joint_names: order of all joint arrays.
        config_id: models.config_digest of its own configuration.
        body, target: what the bounds are of.
    """

    joint_names: tuple[str, ...]
    config_id: str
    body: str
    target: str


def inspect(record: TrajectoryRecord, own: Identity) -> StopReason:
    """NONE, or why a trajectory can never be executed by this controller."""
    if record.joint_names != own.joint_names or not _usable(record, len(own.joint_names)):
        return StopReason.TRAJECTORY_INVALID
    if record.id != record.digest():
        return StopReason.TRAJECTORY_ALTERED
    # "not >=" so that a margin that is not a number refuses.
    if record.verdict != Verdict.CERTIFIED or not (record.margins >= 0.0).all() or not _has_envelope(record):
        return StopReason.TRAJECTORY_NOT_CERTIFIED
    if record.config_id != own.config_id:
        return StopReason.TRAJECTORY_OTHER_CONFIG
    if (record.body, record.target) != (own.body, own.target):
        return StopReason.TRAJECTORY_OTHER_BOUNDS
    return StopReason.NONE


def continues(record: TrajectoryRecord, former: TrajectoryRecord, state: tuple[Array, Array, Array]) -> bool:
    """Whether a trajectory starts when and where the one before it is at that time.

    Args:
        record: the new one.
        former: the one in execution.
        state: its position, velocity and acceleration (n,) each at record.previous_time.
    """
    if record.previous_id != former.id:
        return False
    if abs(record.start_ns - former.start_ns - 1e9 * record.previous_time) > _SAME_TIME_NS:
        return False
    ends = zip((record.q0, record.qd0, record.qdd0), state, strict=True)
    return all(bool((np.abs(one - other) <= SAME_STATE).all()) for one, other in ends)


def agrees(record: TrajectoryRecord, own: Certificate) -> bool:
    """Whether a trajectory claims no more than the controller has proven of it itself."""
    found, margins = own.envelope, own.margins
    if (
        not own.certified
        or found is None
        or own.proof != record.proof
        or not np.array_equal(record.edges, found.edges[:-1])
    ):
        return False
    if not np.array_equal(record.robust_limit, own.robust_limit):
        return False
    at_most = (  # of each pair the first is no larger than the second
        (found.level, record.error_energy),
        (found.position, record.error_norm),
        (found.speed, record.error_rate),
        (np.ravel(found.acceleration), record.error_acceleration),
        (np.ravel(found.change), record.error_change),
        (np.ravel(found.position_error), record.error_position),
        (np.ravel(found.reference_error), record.error_reference),
        (record.torque_margin, margins.torque),
        (record.position_margin, margins.position),
        (record.velocity_margin, margins.velocity),
        (record.obstacle_margin, margins.obstacle),
        (record.self_margin, margins.self_distance),
    )
    return all(bool((np.asarray(less) <= more + _SAME_CLAIM * np.abs(more) + 1e-9).all()) for less, more in at_most)


def as_proven(record: TrajectoryRecord, own: Certificate) -> TrajectoryRecord:
    """The trajectory with the numbers of the controller's own proof, under the id it came with."""
    assert own.envelope is not None
    found = own.envelope
    return replace(
        record,
        error_energy=found.level,
        error_norm=found.position,
        error_rate=found.speed,
        error_acceleration=np.ravel(found.acceleration),
        error_change=np.ravel(found.change),
        error_position=np.ravel(found.position_error),
        error_reference=np.ravel(found.reference_error),
    )


def _usable(record: TrajectoryRecord, n: int) -> bool:
    """Whether the numbers have their shapes and are numbers; of a refusal's record the certificate may be empty."""
    joints = (record.q0, record.qd0, record.qdd0, record.k, record.robust_limit)
    margins = (record.torque_margin, record.position_margin, record.velocity_margin)
    ten = (record.lower, record.upper, record.nominal)
    if any(x.shape != (n,) for x in (*joints, *margins)) or any(x.shape != (len(PARAMETER_NAMES),) for x in ten):
        return False
    times = (record.duration, record.previous_time, record.start_rate)
    # "not <" so that what is not a number refuses.
    if not all((np.abs(x) < _ABSURD).all() for x in (*joints, *ten, *times)) or (record.lower > record.upper).any():
        return False
    return record.duration > 0.0 and record.previous_time >= 0.0 and record.start_rate >= 0.0 and record.start_ns >= 0


def _has_envelope(record: TrajectoryRecord) -> bool:
    edges, errors = record.edges, [record.error_energy, record.error_norm, record.error_rate, record.error_change]
    if edges.ndim != 1 or edges.size == 0 or any(x.shape != edges.shape for x in errors):
        return False
    joints = [record.error_acceleration, record.error_position, record.error_reference]
    if any(x.shape != (edges.size * len(record.joint_names),) for x in joints) or record.proof not in PROOFS:
        return False
    errors += joints
    if not all((np.abs(x) < _ABSURD).all() for x in (edges, *errors)) or (record.robust_limit < 0.0).any():
        return False
    return bool(edges[0] == 0.0 and (np.diff(edges) > 0.0).all() and all((x >= 0.0).all() for x in errors))
