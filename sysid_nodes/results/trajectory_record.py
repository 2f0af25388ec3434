# SPDX-License-Identifier: Apache-2.0
"""A certified trajectory as it travels from planner to controller: CertifiedTrajectory.msg in plain values."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from enum import Enum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.digest import digest
from sysid_nodes.data.nanoseconds import SECOND
from sysid_nodes.results.certificate import Certificate, Envelope, Verdict

Array = npt.NDArray[np.float64]


class Phase(Enum):
    """Purposes of plans: names for programs, values for people."""

    EXCITE = "identify"
    REACH = "go to a goal"
    REST = "nothing left to do"


class BezierMotion(Protocol):
    """A degree-5 Bezier motion, as models.bezier.Bezier has it."""

    @property
    def q0(self) -> Array: ...
    @property
    def qd0(self) -> Array: ...
    @property
    def qdd0(self) -> Array: ...
    @property
    def k(self) -> Array: ...
    @property
    def duration(self) -> float: ...


@dataclass(frozen=True, eq=False)
class TrajectoryRecord:
    """Fields of CertifiedTrajectory.msg, same names and units; only the arrays' types are checked.

    Attributes:
        id: digest of all other fields.
        start_ns: the header's stamp in nanoseconds, exact where a float of seconds would round.
        frame_id: the robot's base frame.
        phase: name of the Phase that it was planned in.
        verdict: number of the Verdict.
        others: as in the message; arrays are float64 and read-only.
    """

    id: str
    start_ns: int
    frame_id: str
    previous_id: str
    previous_time: float
    phase: str
    last: bool
    joint_names: tuple[str, ...]
    duration: float
    q0: Array
    qd0: Array
    qdd0: Array
    k: Array
    config_id: str
    scene_id: str
    body: str
    target: str
    bounds_window: int
    lower: Array
    upper: Array
    nominal: Array
    start_rate: float
    verdict: int
    proof: str
    binding: str
    robust_limit: Array
    torque_margin: Array
    position_margin: Array
    velocity_margin: Array
    obstacle_margin: float
    self_margin: float
    edges: Array
    error_energy: Array
    error_norm: Array
    error_rate: Array
    error_acceleration: Array
    error_change: Array
    error_position: Array
    error_reference: Array

    def __post_init__(self) -> None:
        for name in _ARRAYS:
            value = np.array(getattr(self, name), dtype=np.float64)
            value.setflags(write=False)
            object.__setattr__(self, name, value)
        object.__setattr__(self, "joint_names", tuple(self.joint_names))

    @property
    def start(self) -> float:
        """Start, on the clock of the joint states' stamps [s]; the formula is that of signals.stream."""
        sec, nanosec = divmod(self.start_ns, SECOND)
        return sec + 1e-9 * nanosec

    @property
    def margins(self) -> Array:
        """All margins one after the other, in their units."""
        return np.concatenate(
            [
                self.torque_margin,
                self.position_margin,
                self.velocity_margin,
                [self.obstacle_margin, self.self_margin],
            ]
        )

    def digest(self) -> str:
        """The digest that `id` must equal."""
        return digest(*(getattr(self, item.name) for item in dataclasses.fields(self) if item.name != "id"))

    def seal(self) -> TrajectoryRecord:
        """A copy with the id of its content."""
        return replace(self, id=self.digest())

    def holds(self, bounds: Bounds) -> bool:
        """Whether the bounds it was certified against contain these: a proof for more models is one for fewer."""
        return contains_bounds(self.lower, self.upper, bounds)


_ERRORS = (
    "edges", "error_energy", "error_norm", "error_rate", "error_acceleration", "error_change", "error_position",
    "error_reference",
)  # fmt: skip
_ARRAYS = (
    "q0", "qd0", "qdd0", "k", "lower", "upper", "nominal", "robust_limit", "torque_margin", "position_margin",
    "velocity_margin", *_ERRORS,
)  # fmt: skip


def contains_bounds(lower: Array, upper: Array, inner: Bounds) -> bool:
    """Whether every interval [lower, upper], (n,) each, holds that of ``inner``; shapes that differ never do."""
    return bool(lower.shape == inner.lower.shape and (lower <= inner.lower).all() and (inner.upper <= upper).all())


def record_trajectory(
    plan: BezierMotion,
    certificate: Certificate,
    *,
    start_ns: int,
    joint_names: tuple[str, ...],
    bounds: Bounds,
    bounds_window: int,
    nominal: Array,
    start_rate: float,
    body: str,
    target: str,
    config_id: str,
    scene_id: str,
    phase: Phase = Phase.REACH,
    frame_id: str = "",
    previous: TrajectoryRecord | None = None,
    previous_time: float = 0.0,
    last: bool = False,
) -> TrajectoryRecord:
    """The record of a judged trajectory, sealed; a refusal can be recorded as well.

    Args:
        certificate: the certifier's answer for just that motion, these bounds and this scene.
        start_ns: stamp of its start, for one from rest; ignored where there is a previous one.
        bounds, bounds_window: bounds behind the model box, and their data window (-1: the prior).
        nominal: (10,) the middle of the box for the body with all it carries.
        start_rate: bound on |dr/dt| that a proof from rest counted with, Entry.speed; ignored where there is a previous
            one.
        body, target: subject of the bounds.
        config_id, scene_id: models.config_digest and Scene.id.
        previous, previous_time: the trajectory it takes over from, and the time into it [s].
        phase: what it is for.
        last: whether it is meant to be followed to its end.
    """
    if previous is not None:
        start_ns = takeover_ns(previous, previous_time)
    margins = certificate.margins
    return TrajectoryRecord(
        id="",
        start_ns=start_ns,
        frame_id=frame_id,
        previous_id="" if previous is None else previous.id,
        previous_time=0.0 if previous is None else float(previous_time),
        phase=phase.name,
        last=last,
        joint_names=joint_names,
        duration=float(plan.duration),
        q0=plan.q0,
        qd0=plan.qd0,
        qdd0=plan.qdd0,
        k=plan.k,
        config_id=config_id,
        scene_id=scene_id,
        body=body,
        target=target,
        bounds_window=bounds_window,
        lower=bounds.lower,
        upper=bounds.upper,
        nominal=nominal,
        start_rate=float(start_rate) if previous is None else 0.0,
        verdict=int(Verdict(certificate.verdict)),
        proof=certificate.proof,
        binding=certificate.binding,
        robust_limit=certificate.robust_limit,
        torque_margin=margins.torque,
        position_margin=margins.position,
        velocity_margin=margins.velocity,
        obstacle_margin=float(margins.obstacle),
        self_margin=float(margins.self_distance),
        **_errors(certificate.envelope),
    ).seal()


def _errors(envelope: Envelope | None) -> dict[str, Array]:
    """Fields of the proven errors; empty without an envelope."""
    if envelope is None:
        return dict.fromkeys(_ERRORS, np.zeros(0))
    found = (
        envelope.edges[:-1], envelope.level, envelope.position, envelope.speed, envelope.acceleration, envelope.change,
        envelope.position_error, envelope.reference_error,
    )  # fmt: skip
    return {name: np.ravel(value) for name, value in zip(_ERRORS, found, strict=True)}


def takeover_ns(previous: TrajectoryRecord, time: float) -> int:
    """Stamp of a time into a trajectory [ns]."""
    return previous.start_ns + round(time * SECOND)
