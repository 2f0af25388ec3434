# SPDX-License-Identifier: Apache-2.0
"""The paper's forward form: FDDP on a state that holds the constants, solved with Crocoddyl.

The state of stage k is (q_(k-1), q_k, theta), its control the disturbance w of all torques; a first action, whose
control is the move away from a reference, frees the first state and has the prior. Stages are ours: a step solves

    T(q_k, (q_(k+1) - q_(k-1)) / 2h, (q_(k+1) - 2 q_k + q_(k-1)) / h^2, lambda_k) = tau_k + w_k,    c(q_(k+1)) = 0

for q_(k+1) and lambda_k by Newton's method; derivatives are those of what it solves. It begins at the smoothed readings
with the disturbances that make them a motion. Noise is known here, bounds are not heeded. Dynamics are ours, in Python;
the sweep and the line search are Crocoddyl's.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.fddp import AVAILABLE
from sysid_nodes.systems.bayesian.initial_motion import loop_forces
from sysid_nodes.systems.bayesian.log import MechanismLog
from sysid_nodes.systems.bayesian.mechanism import Mechanism, Motion

if AVAILABLE:
    import crocoddyl

Array = npt.NDArray[np.float64]

_NEWTON, _CLOSE = 20, 1e-11  # steps at most; of positions [rad], at which they end
_PASSIVE = 0.1  # of motors' torque noise, at joints without one
_PLACED = 0.1  # sigma of first positions, beside their readings [rad]


@dataclass(frozen=True)
class FddpResult:
    """Attributes: x, all constants (P,); iterations; cost, half the sum of squares; converged, whether it stopped by
    itself; CPU time in the robot's dynamics and their derivatives, which are ours [s]."""

    x: Array
    iterations: int
    cost: float
    converged: bool
    dynamics: float


@dataclass
class Shared:
    """Common to all stages; the derivatives of a trajectory once they are known; CPU time in the dynamics [s]."""

    mechanism: Mechanism
    log: MechanismLog
    position: float
    torque: Array
    solver: Any = None
    after: dict[int, tuple[Array, Array]] = field(default_factory=dict)
    by: tuple[Array, Array] | None = None
    dynamics: float = 0.0

    def constants(self, theta: Array) -> Array:
        """(P,) x."""
        x = self.mechanism.parameters.mean.copy()
        x[self.mechanism.parameters.free] = theta
        return x

    def applied(self) -> Array:
        """(N, n) torques that are read."""
        out = np.zeros((self.log.stages, self.mechanism.chain.n))
        out[:, self.mechanism.parameters.motors] = self.log.torque
        return out

    def motion(self, before: Array, q: Array, after: Array, force: Array) -> Motion:
        """At stages with positions (N, n) before, at and after them."""
        h = self.log.step
        return Motion(q, (after - before) / (2.0 * h), (after - 2.0 * q + before) / h**2, force)

    def step(self, k: int, state: Array, goal: Array) -> tuple[Array, Array]:
        """(n,) positions after stage k, where torques are (n,), and (c,) loop forces; not numbers where there are
        none."""
        n, h, closures = self.mechanism.chain.n, self.log.step, self.mechanism.closures
        before, q, x = state[:n], state[n : 2 * n], self.constants(state[2 * n :])
        after, force = (part.copy() for part in self.after[k])
        for _ in range(_NEWTON):
            torque = self.mechanism.linearise(self.motion(before[None], q[None], after[None], force[None]), x)
            off, slope = torque.value[0] - goal, torque.by_v[0] / (2.0 * h) + torque.by_a[0] / h**2
            if closures.count:
                value, jacobian = closures.linearise(after[None])
                zero = np.zeros((closures.count, closures.count))
                off = np.concatenate([off, value[0] / h**2])
                slope = np.block([[slope, torque.by_force[0]], [jacobian[0] / h**2, zero]])
            move = np.linalg.solve(slope, off)
            after, force = after - move[:n], force - move[n:]
            if not np.isfinite(move).all():
                break
            if np.abs(move[:n]).max() < _CLOSE:
                return after, force
        return np.full(n, np.nan), force

    def linearise(self, states: Array) -> None:
        """Derivatives at a trajectory of states (N - 1, s): of the next state by state and by control."""
        n, h, closures = self.mechanism.chain.n, self.log.step, self.mechanism.closures
        states = states[:-1]
        before, q, x = states[:, :n], states[:, n : 2 * n], self.constants(states[0, 2 * n :])
        after, force = (np.array([self.after[k + 1][i] for k in range(len(states))]) for i in range(2))
        t = self.mechanism.linearise(self.motion(before, q, after, force), x)
        by_theta = t.by_x[:, :, self.mechanism.parameters.free]
        unknown, inert = t.by_v / (2.0 * h) + t.by_a / h**2, t.by_a / h**2
        one = np.broadcast_to(np.eye(n), t.by_q.shape)
        given = np.concatenate([inert - t.by_v / (2.0 * h), t.by_q - 2.0 * inert, by_theta, -one], axis=2)
        if closures.count:
            jacobian = closures.linearise(after)[1] / h**2
            zero = np.zeros((len(q), closures.count, closures.count))
            unknown = np.concatenate(
                [np.concatenate([unknown, t.by_force], axis=2), np.concatenate([jacobian, zero], axis=2)], axis=1
            )
            given = np.concatenate([given, np.zeros((len(q), closures.count, given.shape[2]))], axis=1)
        moved = -np.linalg.solve(unknown, given)[:, :n]
        size = states.shape[1]
        fx, fu = np.tile(np.eye(size), (len(q), 1, 1)), np.zeros((len(q), size, n))
        fx[:, :n, :n], fx[:, :n, n : 2 * n] = 0.0, np.eye(n)
        fx[:, n : 2 * n], fu[:, n : 2 * n] = moved[:, :, :size], moved[:, :, size:]
        self.by = fx, fu

    def begin(self, positions: Array) -> tuple[Array, Array]:
        """States, and disturbances (N - 2, n), that make positions (N, n) a motion of the prior's robot."""
        own = self.mechanism.parameters
        theta = np.maximum(own.mean, own.lower + 0.1 * own.sigma)[own.free]
        x, count = self.constants(theta), self.mechanism.closures.count
        bare = self.motion(positions[:-2], positions[1:-1], positions[2:], np.zeros((len(positions) - 2, count)))
        motion = replace(bare, force=loop_forces(self.mechanism, bare, x))
        self.after = {k: (positions[k + 1], motion.force[k - 1]) for k in range(1, len(positions) - 1)}
        held = np.broadcast_to(theta, (len(positions) - 1, len(theta)))
        states = np.concatenate([positions[:-1], positions[1:], held], axis=1)
        return states, self.mechanism.torque(motion, x) - self.applied()[1:-1]

    def misread(self, k: int, state: Array) -> tuple[Array, Array]:
        """(s,) of a state before stage k: what it says of positions less their readings, and squared weights."""
        n, stages = self.mechanism.chain.n, [k] if k > 1 else [0, 1]
        off, weight = np.zeros(len(state)), np.zeros(len(state))
        for stage in stages:
            read, own = self.log.position[stage], slice(n * (stage - k + 1), n * (stage - k + 2))
            off[own] = np.nan_to_num(state[own] - read)
            weight[own] = np.isfinite(read) / self.position**2
        return off, weight


def shared_of(mechanism: Mechanism, log: MechanismLog, noise: tuple[float, float]) -> Shared:
    """For a log, with the noise of `fit`."""
    return Shared(mechanism, log, noise[0], np.where(mechanism.parameters.motors, noise[1], _PASSIVE * noise[1]))


def fit(mechanism: Mechanism, log: MechanismLog, positions: Array, noise: tuple[float, float], most: int) -> FddpResult:
    """The minimum from a first motion.

    Args:
        mechanism: whose constants are wanted.
        log: on a grid.
        positions: (N, n) first motion; closes the loops.
        noise: known, of positions [rad] and of motors' torques [N m].
        most: iterations.
    """
    own, n = mechanism.parameters, mechanism.chain.n
    shared = shared_of(mechanism, log, noise)
    states, w = shared.begin(positions)
    reference = np.concatenate([positions[0], positions[1], own.mean[own.free]])
    weight = np.concatenate([np.full(2 * n, 1.0 / _PLACED), 1.0 / own.sigma[own.free]])
    space = crocoddyl.StateVector(len(reference))
    actions = [_Start(space, shared, weight), *(_Step(space, shared, k) for k in range(1, log.stages - 1))]
    problem = crocoddyl.ShootingProblem(reference, actions, _End(space, shared, log.stages - 1))
    shared.solver = solver = crocoddyl.SolverFDDP(problem)
    solver.th_stop = 1e-3
    converged = solver.solve([reference, *states], [states[0] - reference, *w], most, False)
    shared.solver = None  # a cycle through C++ that Python cannot collect
    found = np.array(solver.xs.tolist())[1]
    return FddpResult(
        shared.constants(found[2 * n :]), int(solver.iter), float(solver.cost), bool(converged), shared.dynamics
    )


if AVAILABLE:

    class _Start(crocoddyl.ActionModelAbstract):
        """x+ = x + u: the free first state, with the prior."""

        def __init__(self, space: Any, shared: Shared, weight: Array) -> None:
            super().__init__(space, len(weight))
            self._shared, self._square = shared, weight**2

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
            u = np.zeros(len(x)) if u is None else u
            data.xnext, data.cost = x + u, 0.5 * float(self._square @ u**2)

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: N802
            began = time.process_time()
            self._shared.linearise(np.array(self._shared.solver.xs.tolist())[1:])
            self._shared.dynamics += time.process_time() - began
            data.Fx = data.Fu = np.eye(len(x))
            data.Lu, data.Luu = self._square * (np.zeros(len(x)) if u is None else u), np.diag(self._square)

    class _Step(crocoddyl.ActionModelAbstract):
        """One step of the robot, and the readings at its beginning."""

        def __init__(self, space: Any, shared: Shared, k: int) -> None:
            super().__init__(space, shared.mechanism.chain.n)
            self._shared, self._k, self._square = shared, k, shared.torque**-2.0
            self._read = shared.applied()[k]

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
            shared, n, began = self._shared, self._shared.mechanism.chain.n, time.process_time()
            u = np.zeros(n) if u is None else u
            after, force = shared.step(self._k, x, self._read + u)
            shared.dynamics += time.process_time() - began
            if np.isfinite(after).all():
                shared.after[self._k] = after, force
            off, weight = shared.misread(self._k, x)
            data.xnext = np.concatenate([x[n : 2 * n], after, x[2 * n :]])
            data.cost = 0.5 * float(weight @ off**2 + self._square @ u**2)

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: N802
            data.Fx, data.Fu = (part[self._k - 1] for part in self._shared.by or ())
            off, weight = self._shared.misread(self._k, x)
            data.Lx, data.Lxx = weight * off, np.diag(weight)
            if u is not None:
                data.Lu, data.Luu = self._square * u, np.diag(self._square)

    class _End(crocoddyl.ActionModelAbstract):
        """The readings at the last stage."""

        def __init__(self, space: Any, shared: Shared, k: int) -> None:
            super().__init__(space, 0)
            self._shared, self._k = shared, k

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: ARG002
            off, weight = self._shared.misread(self._k, x)
            data.cost = 0.5 * float(weight @ off**2)

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: ARG002, N802
            off, weight = self._shared.misread(self._k, x)
            data.Lx, data.Lxx = weight * off, np.diag(weight)
