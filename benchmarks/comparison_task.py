# SPDX-License-Identifier: Apache-2.0
"""The motions that every method of the comparison has to execute: one an experiment, computed without any of them.

As in the paper (section VI-D3), two degree-5 Bezier curves that pass on position, velocity and acceleration, of least
jerk under the limits of joints and obstacles; the paper's RAPTOR is a least-squares search here. The first curve goes
on to a rest of its own, so that each of the two can be certified as the planner's trajectories are: with a tail that
brakes, should the second not come. Start, goal and clearance are ours; the paper gives the platform's distance only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import pinocchio
from scipy.optimize import least_squares

from benchmarks.certified_motion import dumbbell
from benchmarks.comparison_experiments import Experiment
from benchmarks.truth import Array
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier, State, step_response
from sysid_nodes.robots.kinova_gen3.constants import END_EFFECTOR_XYZ
from sysid_nodes.robots.kinova_gen3.payloads import GRASP_OFFSET
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.certified.search.nearness import Nearness

IN_HAND = np.array(END_EFFECTOR_XYZ) - [0.0, 0.0, GRASP_OFFSET]
"""Centre of a dumbbell in the frame of joint 7 [m]."""

_SAMPLES, _TAIL = 21, 6
"""Instants a curve, and in the first curve's own tail, at which limits are looked at."""

HOLD = 2.0
"""The goal is held for this long [s] before the dumbbell is put down: slow feedback may settle."""

_SPEED = 0.9
"""Share of the speed limits that may be used."""

_WEIGHTS = (0.02, 0.005)
"""Of the jerk, against limits that weigh one; the second search starts where the first has ended."""


class Motion(NamedTuple):
    """A motion to be followed in simulation.

    Attributes:
        desired: state at a time [s].
        duration: when it ends [s].
        hold: how long its end is held, for a dumbbell to be put down [s]; 0: nothing is put down.
        scene: obstacles.
    """

    desired: Callable[[float], State]
    duration: float
    hold: float
    scene: Scene


@dataclass(frozen=True)
class Task:
    """A motion: the first curve for half of the duration, then the second to its end, and rest.

    Attributes:
        experiment: what it is for.
        k: (n,) displacement at which the first curve would come to rest [rad].
        stretch: duration of the first curve over that of the motion.
    """

    experiment: Experiment
    k: Array
    stretch: float

    def curves(self, duration: float) -> tuple[Bezier, Bezier]:
        """Both curves of the motion, made to last ``duration`` seconds."""
        start, goal = np.array(self.experiment.start), np.array(self.experiment.goal)
        still = np.zeros(start.size)
        first = Bezier(start, still, still, self.k, self.stretch * duration)
        state = first.split(0.5 * duration)
        return first, Bezier(*state, goal - state.q, 0.5 * duration)

    def __call__(self, t: float) -> State:
        """Desired state at a time [s]."""
        first, second = self._own
        half = 0.5 * self.experiment.duration
        return first(t) if t < half else second(t - half)

    @cached_property
    def _own(self) -> tuple[Bezier, Bezier]:
        return self.curves(self.experiment.duration)

    @property
    def motion(self) -> Motion:
        """The motion, its end held."""
        return Motion(self, self.experiment.duration, HOLD, self.experiment.surroundings())


@dataclass(frozen=True)
class Facts:
    """Demands of a motion on the robot with the heaviest dumbbell.

    Attributes:
        speed, torque: largest shares of the limits, nominal model.
        clearance: least distance to obstacles and of the robot to itself [m].
        start, goal: (3,) where the dumbbell's centre is [m].
    """

    speed: float
    torque: float
    clearance: float
    start: Array
    goal: Array


class _Search:
    """Residuals of (k, stretch), and their derivatives; all states are affine in k."""

    def __init__(self, experiment: Experiment, robot: Robot, nearness: Nearness, scene: Scene, weight: float) -> None:
        self._experiment, self._robot, self._near, self._scene = experiment, robot, nearness, scene
        self._weight = weight

    def residuals(self, x: Array) -> Array:
        return self._both(x)[0]

    def jacobian(self, x: Array) -> Array:
        return self._both(x)[1]

    def _states(self, x: Array) -> tuple[Array, Array, Array]:
        """q, qd over both curves and the tail, jerk over both curves: (S, n) each."""
        duration = self._experiment.duration
        first, second = Task(self._experiment, x[:-1], float(x[-1])).curves(duration)
        t = np.linspace(0.0, 0.5 * duration, _SAMPLES)
        tail = np.linspace(0.5 * duration, first.duration, _TAIL + 1)[1:]
        parts = first(t), second(t), first(tail)
        # At its very end a curve's jerk has dropped to zero.
        jerk = np.concatenate([first.jerk(t), second.jerk(t * (1.0 - 1e-9))])
        return np.concatenate([part.q for part in parts]), np.concatenate([part.qd for part in parts]), jerk

    def _both(self, x: Array) -> tuple[Array, Array]:
        n, limits = x.size - 1, self._robot.limits
        here, h = self._states(x), 1e-6
        # Joints do not depend on one another: one more evaluation moves them all.
        by_k = [(b - a) / h for a, b in zip(here, self._states(x + np.append(np.full(n, h), 0.0)), strict=True)]
        by_stretch = [(b - a) / h for a, b in zip(here, self._states(x + np.append(np.zeros(n), h)), strict=True)]
        values, slopes = [], []

        def add(which: int, value: Array, slope: Array) -> None:
            rows = np.zeros((*value.shape, n + 1))
            rows[:, np.arange(n), np.arange(n)] = slope * by_k[which]
            rows[..., -1] = slope * by_stretch[which]
            values.append(value.ravel())
            slopes.append(rows.reshape(-1, n + 1))

        q, qd, jerk = here
        size = self._weight * (0.5 * self._experiment.duration) ** 3 / np.sqrt(_SAMPLES)
        add(2, size * jerk, np.full_like(jerk, size))
        over = np.maximum(np.abs(qd) - _SPEED * limits.velocity, 0.0)
        add(1, 30.0 * over, 30.0 * np.sign(qd) * (over > 0.0))
        over = np.maximum(q - limits.position_upper + 0.1, 0.0) - np.maximum(limits.position_lower + 0.1 - q, 0.0)
        add(0, 30.0 * over, 30.0 * (over != 0.0))
        clearance = self._experiment.clearance
        near = self._near.near(q, self._scene, clearance)
        for outside in (True, False):
            distance, gradient = np.full(len(q), clearance), np.zeros_like(q)
            for i in np.argsort(-near.distance):  # the nearest last
                if near.outside[i] == outside:
                    distance[near.sample[i]], gradient[near.sample[i]] = near.distance[i], near.gradient[i]
            values.append(100.0 * (clearance - distance))
            moved = np.column_stack([gradient * by_k[0], (gradient * by_stretch[0]).sum(axis=1)])
            slopes.append(-100.0 * moved)
        return np.concatenate(values), np.concatenate(slopes)


def make_task(experiment: Experiment, robot: Robot, nearness: Nearness) -> Task:
    """The motion of least jerk; the same for the same arguments."""
    start, middle = np.array(experiment.start), np.array(experiment.middle)
    share = step_response(0.5 * experiment.duration, experiment.stretch * experiment.duration)[0]
    x = np.append((middle - start) / share, experiment.stretch)
    scene = experiment.surroundings()
    bounds = (np.append(np.full(robot.n, -9.0), 0.501), np.append(np.full(robot.n, 9.0), 1.0))
    for weight in _WEIGHTS:
        search = _Search(experiment, robot, nearness, scene, weight)
        x = least_squares(search.residuals, x, jac=search.jacobian, bounds=bounds, max_nfev=60).x
    return Task(experiment, x[:-1], float(x[-1]))


def dumbbell_place(robot: Robot, q: Array) -> Array:
    """(3,) where the centre of a dumbbell in the hand is [m]."""
    data = robot.model.createData()
    pinocchio.forwardKinematics(robot.model, data, q)
    return np.asarray(data.oMi[robot.n].act(IN_HAND))


def facts(task: Task, robot: Robot, nearness: Nearness, pounds: float) -> Facts:
    """Demands of the motion on a robot with a dumbbell.

    Raises:
        RuntimeError: more than limits and obstacles allow.
    """
    experiment, limits, motor = task.experiment, robot.limits, robot.motor
    model = robot.model.copy()
    model.inertias[robot.body_index() + 1] = pinocchio.Inertia.FromDynamicParameters(dumbbell(pounds))
    data = model.createData()
    states = [task(t) for t in np.linspace(0.0, experiment.duration, 201)]
    speed = max(float((np.abs(s.qd) / limits.velocity).max()) for s in states)
    torque = 0.0
    for s in states:
        tau = pinocchio.rnea(model, data, *s) + motor.armature * s.qdd + motor.viscous * s.qd
        torque = max(torque, float((np.abs(tau + motor.coulomb * np.sign(s.qd)) / limits.torque).max()))
    clearance = float(nearness.least(np.array([s.q for s in states]), experiment.surroundings(), 1.0).min())
    if max(speed, torque) >= 1.0 or clearance <= 0.0:
        raise RuntimeError(f"no motion found for experiment ({experiment.name})")
    ends = (dumbbell_place(robot, np.array(q)) for q in (experiment.start, experiment.goal))
    return Facts(speed, torque, clearance, *ends)
