# SPDX-License-Identifier: Apache-2.0
"""Events of a closed-loop episode, compared with the certificates.

Truth comes from the simulated arm: its state, its parameters, distances by MuJoCo's geometry (ContactWatch). Nothing of
the certifier's code is used to judge the certifier.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.results.identification import IdentificationResult
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.robots.robot import Array
from sysid_nodes.rollouts.contact_watch import FARTHEST, ContactWatch
from sysid_nodes.sessions.certified.config import Setup
from sysid_nodes.simulation.arm.simulated_arm import SimulatedArm
from sysid_nodes.simulation.arm.true_robot import GroundTruth
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode
from sysid_nodes.systems.certified.control.robust_controller import RobustController


@dataclass(frozen=True)
class Followed:
    """The execution of one trajectory, compared with its certificate.

    Attributes:
        record: the trajectory.
        duration: how long it was followed [s].
        torque, position, velocity: (n,) least distance to the limits seen [N m, rad, rad/s].
        obstacle, self_distance: least distance seen [m].
        energy, norm: largest share of the proven error bounds seen [1].
    """

    record: TrajectoryRecord
    duration: float
    torque: Array
    position: Array
    velocity: Array
    obstacle: float
    self_distance: float
    energy: float
    norm: float

    def broken(self) -> list[str]:
        """Certified numbers that did not hold."""
        record = self.record
        pairs = (
            ("torque", self.torque, record.torque_margin),
            ("position", self.position, record.position_margin),
            ("velocity", self.velocity, record.velocity_margin),
            ("obstacle", self.obstacle, min(record.obstacle_margin, FARTHEST)),
            ("self distance", self.self_distance, min(record.self_margin, FARTHEST)),
        )
        found = [name for name, seen, certified in pairs if (np.asarray(seen) < np.asarray(certified)).any()]
        found += ["error energy"] * (self.energy > 1.0) + ["error norm"] * (self.norm > 1.0)
        return found


class CertifiedLog:
    """Collects an episode, one row a tick.

    Args:
        setup: robot, shapes, and obstacles at the beginning.
        truth: of the simulated arm.
        control: the law.

    Attributes:
        stamps, q, qd, torque, trajectory, modes, reasons: a row a tick: [s], true (n,) each, index into ``executed``
            (-1: none), Mode and StopReason.
        executed: trajectories in the order of their execution.
        plans: all that were handed out.
        bounds: results of the identifier.
        usage: the controller's own view of its errors, one a tick (0 where there is none).
    """

    def __init__(self, setup: Setup, truth: GroundTruth, control: RobustControlConfig) -> None:
        self._robot, self._shapes, self._truth, self._control = setup.robot, setup.shapes, truth, control
        self._scenes = {setup.scene.id: setup.scene}
        self.stamps: list[float] = []
        self.q: list[Array] = []
        self.qd: list[Array] = []
        self.torque: list[Array] = []
        self.trajectory: list[int] = []
        self.modes: list[Mode] = []
        self.reasons: list[StopReason] = []
        self.usage: list[float] = []
        self.executed: list[TrajectoryRecord] = []
        self.plans: list[TrajectoryRecord] = []
        self.bounds: list[IdentificationResult] = []
        self.stopped = StopReason.NONE

    def add(self, arm: SimulatedArm, controller: RobustController, output: ControllerOutput | None) -> None:
        """One tick, after the command."""
        record = controller.trajectory
        if record is not None and (not self.executed or self.executed[-1].id != record.id):
            self.executed.append(record)
        commanded = controller.mode.commands
        self.stamps.append(arm.now)
        self.q.append(arm.q)
        self.qd.append(arm.qd)
        self.torque.append(arm.torque)
        self.trajectory.append(len(self.executed) - 1 if commanded else -1)
        self.modes.append(controller.mode)
        self.reasons.append(controller.reason)
        tracking = None if output is None else output.tracking
        self.usage.append(0.0 if tracking is None else tracking.usage)
        if output is not None and output.stop is not None:
            self.stopped = output.stop

    def add_scene(self, scene: Scene) -> None:
        """Obstacles from now on."""
        self._scenes[scene.id] = scene

    def add_bounds(self, result: IdentificationResult) -> None:
        """A result of the identifier."""
        self.bounds.append(result)

    def passed_modes(self) -> list[tuple[Mode, StopReason]]:
        """Modes and reasons in the order they were passed through."""
        pairs = list(zip(self.modes, self.reasons, strict=True))
        return [pair for k, pair in enumerate(pairs) if k == 0 or pair != pairs[k - 1]]

    def watch(self, scene: Scene) -> ContactWatch:
        """An instrument that measures true distances of the robot and its load among obstacles."""
        pairs = self_collision_pairs(self._robot, self._shapes).kept
        return ContactWatch(self._robot, self._shapes, scene.obstacles, pairs)

    def judge(self, *, every: int = 10) -> list[Followed]:
        """Every executed trajectory against its certificate; distances at every ``every``-th tick, among its scene."""
        index = np.array(self.trajectory)
        watches = {key: self.watch(scene) for key, scene in self._scenes.items()}
        return [
            self._judge(k, np.flatnonzero(index == k), watches[record.scene_id], every)
            for k, record in enumerate(self.executed)
        ]

    def _judge(self, k: int, rows: npt.NDArray[np.intp], watch: ContactWatch, every: int) -> Followed:
        record, limits = self.executed[k], self._robot.limits
        t = np.maximum(np.array(self.stamps)[rows] - record.start, 0.0)
        q, qd, torque = (np.array(x)[rows] for x in (self.q, self.qd, self.torque))
        wraps = 2.0 * np.pi * np.where(self._robot.wraps, np.rint((record.q0 - q[0]) / (2.0 * np.pi)), 0.0)
        energy, norm = self._errors(record, t, q + wraps, qd)
        some = [*range(0, len(q), every), len(q) - 1]
        return Followed(
            record,
            float(t[-1]),
            (limits.torque - np.abs(torque)).min(axis=0),
            np.minimum(limits.position_upper - q, q - limits.position_lower).min(axis=0),
            (limits.velocity - np.abs(qd)).min(axis=0),
            min(watch.to_obstacles(q[i]).distance for i in some),
            min(watch.to_itself(q[i]).distance for i in some),
            energy,
            norm,
        )

    def _errors(self, record: TrajectoryRecord, t: Array, q: Array, qd: Array) -> tuple[float, float]:
        """Largest shares of the proven bounds that the true errors took: V and |e|, or by joint r squared and e."""
        desired = Bezier(record.q0, record.qd0, record.qdd0, record.k, record.duration)(t)
        e = desired.q - q
        r = desired.qd - qd + self._control.position_gain * e
        interval = np.clip(np.searchsorted(record.edges, t, side="right") - 1, 0, len(record.edges) - 1)
        if record.proof == "delayed":
            by_joint = (record.error_reference, record.error_position)
            of_r, of_e = (x.reshape(-1, self._robot.n)[interval] for x in by_joint)
            return float(((r / of_r) ** 2).max()), float((np.abs(e) / of_e).max())
        model = self._robot.model.copy()
        for body, row in enumerate(self._truth.parameters, start=1):
            model.inertias[body] = pinocchio.Inertia.FromDynamicParameters(row)
        data, armature = model.createData(), self._truth.motor.armature
        energy = np.empty(len(t))
        for i in range(len(t)):
            mass = np.triu(pinocchio.crba(model, data, q[i]))
            full = mass + np.triu(mass, 1).T + np.diag(armature)
            energy[i] = 0.5 * r[i] @ full @ r[i]
        norm = np.sqrt((armature * e**2).sum(axis=1))
        return (
            float((energy / record.error_energy[interval]).max()),
            float((norm / record.error_norm[interval]).max()),
        )
