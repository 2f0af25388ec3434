# SPDX-License-Identifier: Apache-2.0
"""The same MAP problem, written once more in CasADi and solved by fatrop: a Riccati-based interior-point method.

Nothing is shared but the tree's numbers and the readings. Dynamics are virtual power of bodies given by their
pseudo-inertias, tau_j = sum_i tr(dX_i/dq_j P_i (X_i'' - G)'); derivatives, second ones too, are CasADi's. A stage's
state is (q_(k-1), q_k, theta), its input (q_(k+1), lambda_k); loops are path constraints. Bounds are left out.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import casadi
import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.bayesian.estimate import Estimate
from sysid_nodes.systems.bayesian.mechanism import Mechanism
from sysid_nodes.systems.bayesian.problem import FORCE_SIGMA, MechanismProblem

Array = npt.NDArray[np.float64]

_FACTORS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))


@dataclass(frozen=True)
class FatropResult:
    """Attributes: cost, half the sum of squares; iterations; seconds of CPU to build and to solve."""

    cost: float
    iterations: int
    build: float
    solve: float


def minimise(problem: MechanismProblem, start: Estimate, most: int = 300) -> FatropResult:
    """fatrop's minimum, from a start.

    Args:
        problem: of motors' positions and torques; without power, gains or delays.
        start: first point.
        most: iterations.
    """
    began = time.process_time()
    mechanism, log = problem.mechanism, problem.log
    own, n, c, count = mechanism.parameters, mechanism.chain.n, mechanism.closures.count, log.stages
    p = len(own.free)
    dynamics, closed = _dynamics(problem), _closures(mechanism)
    read = np.isfinite(log.position).all(axis=0)
    theta_mean, theta_sigma = own.mean[own.free], own.sigma[own.free]

    readings, sigma = problem.readings[:, read], problem.position_sigma[:, read]

    def place(q: Any, k: int) -> Any:
        return casadi.sumsqr((q[np.flatnonzero(read)] - readings[k]) / sigma[k])

    unknown, values, rows, cost = [], [], [], 0.0
    states = [casadi.MX.sym(f"s{k}", 2 * n + p) for k in range(1, count)]
    for k in range(1, count - 1):
        state, after = states[k - 1], states[k]
        u = casadi.MX.sym(f"u{k}", n + c)
        before, q, theta = state[:n], state[n : 2 * n], state[2 * n :]
        rows.append(after - casadi.vertcat(q, u[:n], theta))
        path = [closed(u[:n])] if c else []
        cost = cost + place(u[:n], k + 1)
        if k == 1:
            path += [closed(before), closed(q)] if c else []
            cost = cost + place(before, 0) + place(q, 1) + casadi.sumsqr((theta - theta_mean) / theta_sigma)
        counted = 1.0 / problem.torque_sigma[k - 1]
        cost = cost + casadi.sumsqr(dynamics(before, q, u[:n], u[n:], theta, log.torque[k], counted))
        rows += path
        unknown += [state, u]
        values += [start.q[k - 1], start.q[k], start.x[own.free], start.q[k + 1], start.force[k]]
    unknown.append(states[-1])
    values += [start.q[-2], start.q[-1], start.x[own.free]]
    g = casadi.vertcat(*rows)
    options: dict[str, Any] = {
        "structure_detection": "auto",
        "equality": [True] * g.numel(),
        "expand": False,
        "print_time": False,
        "fatrop": {"tol": 1e-10, "max_iter": most, "print_level": 0},
    }
    program: Any = {"x": casadi.vertcat(*unknown), "f": 0.5 * cost, "g": g}
    solver = casadi.nlpsol("fatrop", "fatrop", program, options)
    built = time.process_time()
    found = solver(x0=np.concatenate(values), lbg=0.0, ubg=0.0)
    took = time.process_time() - built
    return FatropResult(float(found["f"]), int(solver.stats()["iter_count"]), built - began, took)


def _dynamics(problem: MechanismProblem) -> Any:
    """Whitened residuals of a stage."""
    mechanism, step = problem.mechanism, problem.log.step
    own, n, c = mechanism.parameters, mechanism.chain.n, mechanism.closures.count
    before, q, after, force, theta = (
        casadi.SX.sym(name, size) for name, size in (("a", n), ("b", n), ("c", n), ("f", c), ("t", len(own.free)))
    )
    (motors,) = np.nonzero(own.motors)
    reading, weight = casadi.SX.sym("y", len(motors)), casadi.SX.sym("w", len(motors))
    v, a = (after - before) / (2.0 * step), (after - 2.0 * q + before) / step**2
    x = casadi.SX(own.mean)
    for k, index in enumerate(own.free.tolist()):
        x[index] = theta[k]
    torque = _inverse_dynamics(mechanism, q, v, a, x)
    if c:
        value = _gap(mechanism, q)
        torque -= casadi.jacobian(value, q).T @ force
    coulomb, viscous, armature, offset = (x[own.joint(k)] for k in ("coulomb", "viscous", "armature", "offset"))
    torque += armature * a + coulomb * casadi.tanh(v / casadi.exp(x[own.joint("turning_speed")])) + viscous * v
    rows = [((torque + offset)[motors] - reading) * weight]
    passive = np.flatnonzero(~own.motors)
    if len(passive):
        rows.append(torque[passive] / problem.noise.passive)
    if c:
        rows.append(force / FORCE_SIGMA)
    return casadi.Function("stage", [before, q, after, force, theta, reading, weight], [casadi.vertcat(*rows)])


def _inverse_dynamics(mechanism: Mechanism, q: Any, v: Any, a: Any, x: Any) -> Any:
    own, gravity = mechanism.parameters, casadi.SX(4, 4)
    gravity[:3, 3] = mechanism.chain.tree.gravity
    torque = casadi.SX(own.n, 1)
    for i, pose in enumerate(_poses(mechanism, q)):
        flat = casadi.vec(pose)
        slope = casadi.jacobian(flat, q)
        moved = casadi.jacobian(slope @ v, q) @ v + slope @ a - casadi.vec(gravity)
        eta = x[own.body(i)]
        factor = casadi.SX.eye(4)
        for k, (row, column) in enumerate(_FACTORS):
            factor[row, column] = casadi.exp(eta[1 + k]) if row == column else eta[1 + k]
        factor = casadi.exp(eta[0]) * factor
        spread = casadi.vec(casadi.reshape(moved, 4, 4) @ (factor @ factor.T))
        torque += slope.T @ spread
    return torque


def _poses(mechanism: Mechanism, q: Any) -> list[Any]:
    tree, poses = mechanism.chain.tree, list[Any]()
    for i in range(mechanism.chain.n):
        placed = np.eye(4)
        placed[:3, :3], placed[:3, 3] = tree.rotation[i], tree.translation[i]
        moved, axis = casadi.SX.eye(4), tree.axis[i]
        if tree.revolute[i]:
            cross = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
            moved[:3, :3] = np.eye(3) + casadi.sin(q[i]) * cross + (1.0 - casadi.cos(q[i])) * (cross @ cross)
        else:
            moved[:3, 3] = q[i] * axis
        own = casadi.SX(placed) @ moved
        poses.append(own if tree.parents[i] < 0 else poses[tree.parents[i]] @ own)
    return poses


def _gap(mechanism: Mechanism, q: Any) -> Any:
    """Equalities of loops of points."""
    poses, rows = _poses(mechanism, q), []
    for closure in mechanism.closures.closures:
        ends = []
        for end in (closure.first, closure.second):
            pose = casadi.SX.eye(4) if end.joint < 0 else poses[end.joint]
            ends.append((pose[:3, 3] + pose[:3, :3] @ end.place, pose[:3, :3] @ end.axes))
        rows.append(ends[0][1].T @ (ends[0][0] - ends[1][0]))
    return casadi.SX(mechanism.closures.directions) @ casadi.vertcat(*rows)


def _closures(mechanism: Mechanism) -> Any:
    q = casadi.SX.sym("q", mechanism.chain.n)
    return casadi.Function("closed", [q], [_gap(mechanism, q) if mechanism.closures.count else casadi.SX(0, 1)])
