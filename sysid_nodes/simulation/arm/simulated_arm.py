"""A torque-controlled arm that stands in for hardware: it moves, and only its sensors are seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.controller import ComputedTorque
from sysid_nodes.simulation.arm.excitation import FourierTrajectory, check_limits
from sysid_nodes.simulation.arm.plant import Plant, build_mujoco
from sysid_nodes.simulation.arm.readings import read_joints
from sysid_nodes.simulation.arm.true_robot import ground_truth, perturbed_robot
from sysid_nodes.simulation.payload import Payload

_SETTLING_TIME = 0.6  # a dozen time constants of the default controller
_SETTLING_TICK = 1e-3


@dataclass(frozen=True)
class SimulationConfig:
    """The simulated arm's sensors and its deviation from the nominal robot. All errors are uniform within bounds."""

    rate: float = option(1000.0, "control and publishing rate", unit="Hz", minimum=1.0, maximum=10000.0)
    substeps: int = option(2, "integrator steps a tick", minimum=1, maximum=100)
    torque_relative: float = option(
        0.025, "largest torque error relative to the reading", unit="1", minimum=0.0, maximum=0.5
    )
    velocity_error: float = option(5e-5, "largest velocity error", unit="rad/s", minimum=0.0)
    quantise: bool = option(True, "round positions to the robot's encoder steps")
    tick_jitter: float = option(
        0.0, "largest change of a tick's length, relative (the stamps stay true)", unit="1", minimum=0.0, maximum=0.9
    )
    stamp_error: float = option(0.0, "largest error of a stamp", unit="s", minimum=0.0, maximum=0.1)
    torque_interpolation: str = option(
        "hold",
        "hold: a published torque acts from its stamp to the next; linear: torque runs straight between stamps",
        choices=("hold", "linear"),
    )
    robot_error: float = option(
        0.0,
        "largest deviation of the true links, friction and armature from the nominal robot",
        unit="1",
        minimum=0.0,
        maximum=0.5,
    )
    bandwidth: float = option(20.0, "of the controller", unit="rad/s", minimum=0.1, maximum=100.0)


class SimulatedArm:
    """A fixed-base arm tracking an exciting trajectory under torque control, at a fixed rate.

    The controller knows the nominal robot, not the payload; it reads the true state, as a drive reads its motor side,
    while the published readings carry encoder quantisation and noise. A reading's effort is the motor torque from its
    stamp on, under ``hold`` until the next stamp; only its sensor's relative error then separates it from what acted.

    Args:
        robot: nominal robot.
        payload: what it carries; None for an unloaded run.
        trajectory: what it follows, from t = 0.
        config: sensors and deviations.
        rng: source of all randomness.
        start: stamp of the first reading [s].

    Raises:
        RobotError: floating base, or the payload's link does not exist or move.
        ConfigError: the trajectory does not fit the robot or leaves its limits.
    """

    def __init__(
        self,
        robot: Robot,
        payload: Payload | None,
        trajectory: FourierTrajectory,
        config: SimulationConfig,
        rng: np.random.Generator,
        *,
        start: float = 0.0,
    ) -> None:
        if trajectory.centre.size != robot.n:
            raise ConfigError(f"the trajectory is for {trajectory.centre.size} joints, '{robot.name}' has {robot.n}")
        check_limits(trajectory, robot.limits)
        self._robot, self._config, self._rng, self._trajectory = robot, config, rng, trajectory
        self._controller = ComputedTorque(robot, bandwidth=config.bandwidth)
        load = payload.spatial_inertia(robot) if payload is not None else None
        body = load[0] if load is not None else robot.body_index()
        true = perturbed_robot(robot, body, config.robot_error, rng)
        self._plant = Plant(build_mujoco(robot, *true, load), true.motor, trajectory(0.0).q)
        self.truth = ground_truth(body, true, load)
        self._start, self._elapsed = start, 0.0
        self._settle()
        self._tau = self._control()

    @property
    def elapsed(self) -> float:
        """Simulated time since the start, that of the next reading [s]."""
        return self._elapsed

    @property
    def state(self) -> tuple[Array, Array, Array]:
        """True position, velocity and torque, (n,) each, at ``elapsed``; hidden from an identifier."""
        return self._plant.q, self._plant.qd, self._tau.copy()

    def step(self) -> RawJointState:
        """A reading of the present state; the arm then moves on by one tick."""
        reading = self._read()
        jitter = self._config.tick_jitter
        tick = (1.0 + (self._rng.uniform(-jitter, jitter) if jitter else 0.0)) / self._config.rate
        tau = self._tau
        if self._config.torque_interpolation == "linear":
            # The torque at the end of the tick has to be known at its start: control is one tick late.
            self._tau = self._control()
        self._plant.advance(tau, self._tau, tick, self._config.substeps)
        self._elapsed += tick
        if self._config.torque_interpolation == "hold":
            self._tau = self._control()
        return reading

    def run(self, duration: float) -> Iterator[RawJointState]:
        """Readings of the next ``duration`` seconds, computed one by one as they are asked for."""
        end = self._elapsed + duration - 1e-9
        while self._elapsed < end:
            yield self.step()

    def _settle(self) -> None:
        """Holds the start configuration until the unknown payload has sagged in and the torque is steady."""
        for _ in range(int(_SETTLING_TIME / _SETTLING_TICK)):
            tau = self._control()
            self._plant.advance(tau, tau, _SETTLING_TICK, 1)

    def _control(self) -> Array:
        return self._controller.torque(self._trajectory(self._elapsed), self._plant.q, self._plant.qd)

    def _read(self) -> RawJointState:
        config = self._config
        return read_joints(
            self._robot,
            self._rng,
            stamp=self._start + self._elapsed,
            q=self._plant.q,
            qd=self._plant.qd,
            tau=self._tau,
            quantise=config.quantise,
            velocity_error=config.velocity_error,
            torque_relative=config.torque_relative,
            stamp_error=config.stamp_error,
        )
