"""The estimation problem (PFIE of the paper) in inverse-dynamics form, as trajectory least squares.

Unknown are q_0..q_T, a free variable w of every contact at every inner stage, and constant parameters theta. Minimised
is half the sum of squares, each whitened, of

    dynamics   base disturbance and joint torque                         stages k-1, k, k+1, w_k, theta
    contact    gap and sliding velocity against p(w)                     stages k-1, k, k+1, w_k, theta
    sensors    prediction less reading                                   one to three stages, theta
    prior      of theta, and in a moving window the arrival cost         first stages, theta

Velocities are differences of configurations, so that a stage has nv unknowns and not 2 nv, and w is eliminated stage by
stage: the normal equations are block-pentadiagonal with an arrow, whatever the number of contacts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.estimators.prime.config import PrimeConfig
from sysid_nodes.estimators.prime.contacts import ContactLaw
from sysid_nodes.estimators.prime.dynamics import DynamicsRows
from sysid_nodes.estimators.prime.elimination import settle
from sysid_nodes.estimators.prime.parameters import Parameters, build_parameters
from sysid_nodes.estimators.prime.sensing import Readings, build_readings, torque_rows
from sysid_nodes.estimators.prime.trajectory import Evaluated, Trajectory
from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models.contact_motion import contact_arms, contact_motion
from sysid_nodes.models.discrete_motion import difference, difference_jacobian, discrete_motion, retract
from sysid_nodes.models.floating_base import FloatingBase, contact_kinematics
from sysid_nodes.robots import Robot
from sysid_nodes.sensors import Samples, Sensor, build_sensors
from sysid_nodes.solvers.trajectory_least_squares import Blocks, GaussianPrior, Layout

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Model:
    """What does not change from window to window.

    Attributes:
        robot: as loaded.
        base: its rigid-body model.
        sensors: measurement models.
        parameters: layout and prior of theta.
        config: all settings.
    """

    robot: Robot
    base: FloatingBase
    sensors: tuple[Sensor, ...]
    parameters: Parameters
    config: PrimeConfig

    @property
    def law(self) -> ContactLaw:
        """The contact model at the configured smoothing."""
        return ContactLaw(self.config.contact, self.config.contact.smoothing, self.config.step)


def build_model(robot: Robot, config: PrimeConfig, *, implementation: str = "") -> Model:
    """A robot's estimation model.

    Raises:
        RobotError: the robot has a fixed base or no contact points, or a link named in the configuration is unknown.
    """
    sensors = build_sensors(robot, config.sensors)
    base = FloatingBase.from_robot(robot, implementation=implementation)
    return Model(robot, base, sensors, build_parameters(robot, sensors, config), config)


@dataclass(frozen=True)
class Arrival:
    """Knowledge about the first stages and theta from before the window.

    Attributes:
        prior: information on differences from the reference.
        q: (width, nq) reference of the first stages.
        theta: (p,) reference.
    """

    prior: GaussianPrior
    q: Array
    theta: Array


@dataclass(frozen=True)
class PrimeProblem:
    """A `solvers.trajectory_least_squares.Problem` over Trajectory points.

    Attributes:
        model: of the robot.
        stages: N.
        law: contact model at some smoothing.
        dynamics: rows of the inner stages.
        readings: of every sensor.
        arrival: what is known from before.
    """

    model: Model
    stages: int
    law: ContactLaw
    dynamics: DynamicsRows
    readings: tuple[Readings, ...]
    arrival: Arrival

    @property
    def layout(self) -> Layout:
        """Sizes of the unknown."""
        base = self.model.base
        return Layout(self.stages, base.nv, self.model.parameters.count, 3 * base.contacts)

    def smoothed(self, smoothing: float) -> PrimeProblem:
        """The same problem at another smoothing eps."""
        return replace(self, law=replace(self.law, smoothing=smoothing))

    def evaluate(self, point: Trajectory, *, derivatives: bool) -> Evaluated:
        """What several residuals share."""
        base, dt = self.model.base, self.model.config.step
        plane = self.law.plane
        motion = discrete_motion(point.q, dt)
        kinematics = contact_kinematics(base, point.q)
        height = float(point.theta[self.model.parameters.height])
        contact = contact_motion(kinematics, base.contact_radii, plane, height, dt, derivatives=derivatives)
        force = self.law.force(point.w[1:-1]) @ plane.axes
        moment = np.cross(contact_arms(plane, base.contact_radii), force)
        return Evaluated(motion, kinematics, contact, force, moment)

    def linearise(self, point: Trajectory) -> Sequence[Blocks]:
        """All residual blocks with derivatives, in the order of `groups`."""
        at = self.evaluate(point, derivatives=True)
        parameters = self.model.parameters
        return [
            self.dynamics.blocks(point, at, self.law),
            self.law.blocks(point.w[1:-1], at.contact, parameters.height, parameters.count),
            *(readings.blocks(point, at.motion) for readings in self.readings),
            self._prior(point),
        ]

    def residuals(self, point: Trajectory) -> Sequence[Array]:
        """The residuals alone."""
        at = self.evaluate(point, derivatives=False)
        return [
            self.dynamics.residual(point, at),
            self.law.residual(point.w[1:-1], at.contact),
            *(readings.residual(point, at.motion) for readings in self.readings),
            self._prior(point).residual,
        ]

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the residual groups."""
        return ("dynamics", "contact", *(readings.sensor.name for readings in self.readings), "prior")

    def retract(self, point: Trajectory, stage_step: Array, parameter_step: Array, local_step: Array) -> Trajectory:
        """The point after a step, its contact variables then moved to their own best (elimination.py)."""
        return self.settled(self.shifted(point, stage_step, parameter_step, local_step))

    def shifted(self, point: Trajectory, stage_step: Array, parameter_step: Array, local_step: Array) -> Trajectory:
        """The point after a step and nothing else."""
        w = point.w + local_step.reshape(point.w.shape)
        return Trajectory(retract(point.q, stage_step), w, point.theta + parameter_step)

    def settled(self, point: Trajectory) -> Trajectory:
        """The point with every stage's contact variables at their best for its motion and parameters."""
        at = self.evaluate(point, derivatives=False)
        wanted = self.dynamics.without_contacts(point, at)
        columns = self.dynamics.contact_columns(at, self.law)
        velocity = self.law.velocity(at.contact.gap[1:-1], at.contact.slip)
        inner = settle(point.w[1:-1], wanted, columns, velocity, self.law)
        return replace(point, w=np.concatenate([point.w[:1], inner, point.w[-1:]]))

    def _prior(self, point: Trajectory) -> Blocks:
        width = self.arrival.prior.width
        q, reference = point.q[:width], self.arrival.q
        moved = difference(reference, q)
        return self.arrival.prior.blocks(moved, point.theta - self.arrival.theta, difference_jacobian(reference, q))


def build_problem(model: Model, samples: Mapping[str, Samples], stages: int, arrival: Arrival) -> PrimeProblem:
    """The problem of `stages` stages with the given samples, at the configured smoothing.

    Args:
        model: of the robot.
        samples: readings of each sensor by its name, steps counted from the first stage.
        stages: N, at least 3: a stage's acceleration needs both neighbours.
        arrival: knowledge from before; `first_arrival` for none.

    Raises:
        SamplesError: fewer than three stages.
    """
    if stages < 3:
        raise SamplesError(f"motion estimation needs at least 3 stages, got {stages}")
    config = model.config
    torque, scale = torque_rows(model.robot, model.sensors, samples, stages)
    return PrimeProblem(
        model=model,
        stages=stages,
        law=model.law,
        dynamics=DynamicsRows(model.base, model.parameters, config.process, torque, scale),
        readings=build_readings(model.robot, model.sensors, config.sensors, model.parameters, samples, stages),
        arrival=arrival,
    )


def first_arrival(model: Model, q: Array) -> Arrival:
    """The configured priors of the parameters and, about a first guess q (nq,), of the first stage."""
    parameters, start = model.parameters, model.config.start
    stage = np.concatenate(
        [
            np.full(3, start.position_sigma),
            np.full(3, start.rotation_sigma),
            np.full(model.robot.n, start.joint_sigma),
        ]
    )
    return Arrival(GaussianPrior.from_sigmas(stage, parameters.sigma), q[None], parameters.mean)
