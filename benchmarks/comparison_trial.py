# SPDX-License-Identifier: Apache-2.0
"""One motion of the comparison, executed in simulation by a method's controller."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from benchmarks.adaptive_control import Adaptive
from benchmarks.comparison_certificates import Certificates
from benchmarks.comparison_task import Motion, Task, dumbbell_place
from benchmarks.gravity_pid import GravityPid, GravityPidConfig
from benchmarks.truth import Array
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.models.bezier import State
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw
from sysid_nodes.models.self_collision import self_collision_pairs
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import dumbbell_volume
from sysid_nodes.rollouts.contact_watch import ContactWatch
from sysid_nodes.simulation.arm.excitation import JointReference
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.arm.true_robot import TrueRobot
from sysid_nodes.systems.certified.search.effort import effort
from sysid_nodes.systems.certified.search.planner import Planner

PLACED = 0.01
"""Farthest [m] that a dumbbell may be from its goal when it is put down."""

_RUNAWAY = 3.0
"""Share of the speed limits at which the drives would have stopped the arm."""

_LOOK = 0.01
"""Between two looks at distances [s]."""

Command = tuple[Array, npt.NDArray[np.bool_]]


class Follower(Protocol):
    """Torque (n,) for a measured state, and where (n,) it exceeds the motors' limits."""

    def __call__(self, t: float, desired: State, q: Array, qd: Array) -> Command: ...


def robust_follower(
    planner: Planner, task: Task, box: ModelBox, certificates: Certificates, control: RobustControlConfig | None = None
) -> Follower:
    """The robust law around a method's nominal model.

    The robust input is clipped as the certificate says; without a bound on the errors, at what the nominal torque of
    the desired motion leaves of the motors.
    """
    robot, half = planner.robot, 0.5 * task.experiment.duration
    law = RobustLaw(robot, box.theta, box.motor, control or RobustControlConfig())
    clips = []
    for curve, certificate in zip(task.curves(task.experiment.duration), certificates, strict=True):
        if certificate is not None and certificate.envelope is not None:
            clips.append(certificate.robust_limit)
        else:
            nominal = effort(planner.chain, box, curve, np.linspace(0.0, half, 33)).nominal
            clips.append(np.maximum(robot.limits.torque - nominal.max(axis=0), 0.0))

    def follow(t: float, desired: State, q: Array, qd: Array) -> Command:
        torque = law.command(q, qd, desired, clips[0 if t < half else 1]).torque
        return torque, np.asarray(np.abs(torque) > robot.limits.torque)

    return follow


def pid_follower(robot: Robot, box: ModelBox | None) -> Follower:
    """Gravity-compensated PID, of the bare robot or of a nominal model."""
    pid = GravityPid(robot, GravityPidConfig(), None if box is None else box.theta)
    integral, last = np.zeros(robot.n), 0.0

    def follow(t: float, desired: State, q: Array, qd: Array) -> Command:
        nonlocal integral, last
        step = pid.step(integral, JointReference(*desired), q, qd, t - last)
        integral, last = step.integral, t
        return step.torque, step.saturated

    return follow


def adaptive_follower(robot: Robot, controller: Adaptive) -> Follower:
    """A controller that goes on learning; what it has learned stays with it."""
    last = 0.0

    def follow(t: float, desired: State, q: Array, qd: Array) -> Command:
        nonlocal last
        torque = controller.step(desired, q, qd, t - last)
        last = t
        return torque, np.asarray(np.abs(torque) > robot.limits.torque)

    return follow


@dataclass(frozen=True)
class Outcome:
    """Course and end of an execution.

    Attributes:
        tracking: largest distance of the dumbbell's centre from where it should have been [m].
        arrival, final: the same when the motion ends, and after the hold [m].
        torque, speed: largest shares of the limits; the command's, where that was more.
        clearance: least true distance to obstacles, and of the robot to itself [m].
        share: largest part of the proven bound that the norm of the joint errors took; NaN without a bound.
        failures: empty where it went well.
    """

    tracking: float
    arrival: float
    final: float
    torque: float
    speed: float
    clearance: float
    share: float
    failures: tuple[str, ...]


def execute(
    robot: Robot,
    motion: Motion,
    truth: TrueRobot,
    pounds: float,
    follower: Follower,
    seed: int,
    bound: Callable[[float], float] | None = None,
    hear: Callable[[RawJointState], None] = lambda _: None,
) -> Outcome:
    """The motion and a hold in simulation.

    ``bound`` is that of sqrt(sum I_a e^2) over time; ``hear`` gets all readings.
    """
    arm = SimulatedArm(
        robot,
        None,
        HardwareConfig(delay=0.0, velocity_error=1e-4, substeps=1),
        np.random.default_rng(seed),
        motion.desired(0.0).q,
        truth=truth,
    )
    # The dumbbell itself, held where it is meant to be: what may not touch anything.
    shapes = (*cover("gripper"), dumbbell_volume(pounds, shape="box", grasp_error=0.0))
    watch = ContactWatch(robot, shapes, motion.scene.obstacles, self_collision_pairs(robot, shapes).kept)
    limits, failures = robot.limits, dict[str, None]()
    off, nearest, torque_share, speed_share, share = [], np.inf, 0.0, 0.0, -np.inf if bound else np.nan
    reading, look = arm.reading(), round(_LOOK * 1000.0)
    for tick in range(round((motion.duration + motion.hold) * 1000.0) + 1):
        t, desired = arm.now, motion.desired(arm.now)
        hear(reading)
        turns = 2.0 * np.pi * np.where(robot.wraps, np.rint((desired.q - reading.position) / (2.0 * np.pi)), 0.0)
        torque, exceeded = follower(t, desired, reading.position + turns, reading.velocity)
        arm.command(torque, reading.stamp)
        torque_share = max(torque_share, float((np.abs(torque) / limits.torque).max()))
        speed_share = max(speed_share, float((np.abs(arm.qd) / limits.velocity).max()))
        failures.update(dict.fromkeys(f"torque limit of {robot.joint_names[j]}" for j in np.flatnonzero(exceeded)))
        if (arm.q < limits.position_lower).any() or (arm.q > limits.position_upper).any():
            failures["position limit"] = None
        if tick % look == 0:
            off.append(float(np.linalg.norm(dumbbell_place(robot, arm.q) - dumbbell_place(robot, desired.q))))
            closest = watch.closest(arm.q)
            nearest = min(nearest, closest.distance)
            if closest.distance <= 0.0:
                failures[f"touches {closest.second}"] = None
            if bound is not None:
                norm = float(np.sqrt((truth.motor.armature * (desired.q - arm.q) ** 2).sum()))
                share = max(share, norm / bound(t))
        if speed_share > _RUNAWAY:
            failures["out of control"] = None
            break
        reading = arm.step()
    if speed_share > 1.0:
        failures["speed limit"] = None
    if motion.hold and off[-1] > PLACED:
        failures[f"placed {1000.0 * off[-1]:.0f} mm off"] = None
    arrival = off[min(round(motion.duration / _LOOK), len(off) - 1)]
    return Outcome(max(off), arrival, off[-1], torque_share, speed_share, nearest, share, tuple(failures))
