# SPDX-License-Identifier: Apache-2.0
"""Robots that strike the ground or a wall, simulated exactly: a double pendulum that bounces, a leg that hops.

Between events the motion is integrated to 1e-9; while the point touches, under one equation more. Impacts are Newton's:
M (v+ - v-) = J'Lambda with J v+ = -e J v-.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt
import pinocchio
from scipy.integrate import solve_ivp

from sysid_nodes.robots import Robot, build_robot

Array = npt.NDArray[np.float64]

TURNING = 0.1
"""Speed over which friction turns [rad/s]."""

_LINK = (
    '<link name="{0}"><inertial><origin xyz="{1}"/><mass value="{2}"/>'
    '<inertia ixx="{3}" iyy="{3}" izz="{3}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
)
_JOINT = (
    '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}" rpy="{6}"/>'
    '<axis xyz="{5}"/><limit lower="-9" upper="9" effort="99" velocity="99"/></joint>'
)
_LEG = (
    _LINK.format("body", "0 0 0.02", 3.0, 0.02)
    + _LINK.format("thigh", "0.01 0 -0.12", 0.8, 0.006)
    + _LINK.format("shank", "0.005 0 -0.1", 0.3, 0.002)
    + _JOINT.format("rise", "prismatic", "base", "body", "0 0 0", "0 0 1", "0 0 0")
    + _JOINT.format("hip", "revolute", "body", "thigh", "0 0 0", "0 1 0", "0 0 0")
    + _JOINT.format("knee", "revolute", "thigh", "shank", "0 0 -0.25", "0 1 0", "0 0 0")
    + _JOINT.format("sole", "fixed", "shank", "foot", "0 0 -0.25", "0 0 1", "0 0 0")
)
_PENDULUM = (
    _LINK.format("upper", "0.01 0 -0.3", 1.5, 0.03)
    + _LINK.format("lower", "0.02 0 -0.15", 0.6, 0.006)
    + '<link name="wall"/>'
    + _JOINT.format("shoulder", "revolute", "base", "upper", "0 0 0", "0 1 0", "0 0 0")
    + _JOINT.format("elbow", "revolute", "upper", "lower", "0 0 -0.5", "0 1 0", "0 0 0")
    + _JOINT.format("tip", "fixed", "upper", "foot", "0 0 -0.5", "0 0 1", "0 0 0")
    + _JOINT.format("mortar", "fixed", "base", "wall", "0 0 0", "0 0 1", f"0 {np.pi / 2} 0")
)


@cache
def striking_robot(name: str) -> Robot:
    """`leg` on a vertical slide, its foot over the base's plane, or `pendulum`, its tip on the far side of a wall."""
    links = {"leg": _LEG, "pendulum": _PENDULUM}[name]
    return build_robot(f'<robot name="{name}"><link name="base"/><link name="foot"/>{links}</robot>', name=name)


@dataclass(frozen=True)
class Strikes:
    """Samples at 1 kHz, and the instants at which the point struck and left."""

    t: Array
    q: Array
    torque: Array
    struck: tuple[float, ...]
    left: tuple[float, ...]


@dataclass(frozen=True)
class Striker:
    """A robot with its true constants.

    Attributes:
        robot: with the true links.
        plane: link with the plane, "universe" for the base's.
        motors: joints with one.
        drive: (t, q, v) to the motors' torques.
        coulomb, viscous: friction of all joints.
        restitution: of a point that bounces; None for one that stays until it is pulled.
    """

    robot: Robot
    plane: str
    motors: tuple[int, ...]
    drive: Callable[[float, Array, Array], Array]
    coulomb: Array
    viscous: Array
    restitution: float | None

    def height(self, q: Array) -> tuple[float, Array]:
        """Of the point over the plane, and its derivative (n,)."""
        model, data = self.robot.model, self._data
        pinocchio.computeJointJacobians(model, data, q)
        pinocchio.updateFramePlacements(model, data)
        plane, foot = (data.oMf[model.getFrameId(name)] for name in (self.plane, "foot"))
        jacobian = pinocchio.getFrameJacobian(model, data, model.getFrameId("foot"), pinocchio.LOCAL_WORLD_ALIGNED)
        normal = plane.rotation[:, 2]
        return float(normal @ (foot.translation - plane.translation)), np.asarray(normal @ jacobian[:3])

    @cached_property
    def _data(self) -> pinocchio.Data:
        return self.robot.model.createData()

    def _mass(self, q: Array) -> Array:
        upper = np.triu(pinocchio.crba(self.robot.model, self._data, q))
        return np.asarray(upper + np.triu(upper, 1).T)

    def _acceleration(self, t: float, y: Array, *, stands: bool) -> tuple[Array, float]:
        """(n,) and the force on the point."""
        q, v = np.split(y, 2)
        model, data, still = self.robot.model, self._data, np.zeros(len(q))
        given = -self.coulomb * np.tanh(v / TURNING) - self.viscous * v
        given[list(self.motors)] += self.drive(t, q, v)
        right, mass = given - pinocchio.rnea(model, data, q, v, still), self._mass(q)
        if not stands:
            return np.linalg.solve(mass, right), 0.0
        pinocchio.forwardKinematics(model, data, q, v, still)
        frame = model.getFrameId("foot")
        bias = pinocchio.getFrameClassicalAcceleration(model, data, frame, pinocchio.LOCAL_WORLD_ALIGNED).linear
        _, across = self.height(q)
        normal = data.oMf[model.getFrameId(self.plane)].rotation[:, 2]
        whole = np.block([[mass, -across[:, None]], [across[None], np.zeros((1, 1))]])
        found = np.linalg.solve(whole, np.append(right, -normal @ bias))
        return found[:-1], float(found[-1])

    def run(self, q: Array, duration: float) -> Strikes:
        """From rest, off the plane."""
        y, t, stands, n = np.concatenate([q, np.zeros(len(q))]), 0.0, False, len(q)
        times, states, struck, left = list[Array](), list[Array](), list[float](), list[float]()
        grid = np.arange(0.0, duration, 1e-3)

        def rate(t: float, y: Array, on: bool) -> Array:
            return np.concatenate([y[n:], self._acceleration(t, y, stands=on)[0]])

        def meets(t: float, y: Array, on: bool) -> float:
            return self._acceleration(t, y, stands=True)[1] if on else self.height(y[:n])[0]

        meets.terminal, meets.direction = True, -1.0  # type: ignore[attr-defined]
        while t < duration:
            assert len(struck) < 12, f"it chatters: {struck}"
            found = solve_ivp(
                rate, (t, duration), y, "DOP853", events=meets, rtol=1e-9, atol=1e-9, dense_output=True, args=(stands,)
            )
            end, y = float(found.t[-1]), found.y[:, -1].copy()
            there = grid[(grid >= t) & (grid < end)]
            times.append(there)
            states.append(found.sol(there).T if len(there) else np.zeros((0, 2 * n)))
            if found.status == 1 and stands:
                left.append(end)
            elif found.status == 1:
                struck.append(end)
                across = self.height(y[:n])[1]
                turn = np.linalg.solve(self._mass(y[:n]), across)
                y[n:] -= turn * (1.0 + (self.restitution or 0.0)) * (across @ y[n:]) / (across @ turn)
            t, stands = end, not stands and self.restitution is None
        at, moving = np.concatenate(times), np.concatenate(states)
        torque = np.array([self.drive(t, y[:n], y[n:]) for t, y in zip(at, moving, strict=True)])
        return Strikes(at, moving[:, :n], torque, tuple(struck), tuple(left))


def pendulum(restitution: float) -> Striker:
    """A motor at the shoulder alone; the upper link's tip bounces off the wall."""

    def drive(t: float, _q: Array, _v: Array) -> Array:
        return np.array([0.8 * np.sin(11.0 * t) + 0.6 * np.sin(4.0 * t)])

    coulomb, viscous = np.array([0.2, 0.0]), np.array([0.15, 0.02])
    return Striker(striking_robot("pendulum"), "wall", (0,), drive, coulomb, viscous, restitution)


def leg(kick: float) -> Striker:
    """Motors at hip and knee, which hold a posture that moves, and kick now and then; its foot stays on the ground."""

    def drive(t: float, q: Array, v: Array) -> Array:
        rest = np.array([0.6, -1.2]) + np.array([0.15, -0.25]) * np.sin([7.0 * t, 9.0 * t + 1.0])
        up = kick * max(np.sin(2.0 * np.pi * t / 0.8), 0.0) ** 4
        return np.asarray(60.0 * (rest - q[1:]) - 2.0 * v[1:] + up * np.array([-0.5, 1.0]))

    coulomb, viscous = np.array([0.0, 0.5, 0.4]), np.array([1.0, 0.3, 0.2])
    return Striker(striking_robot("leg"), "universe", (1, 2), drive, coulomb, viscous, None)
