# SPDX-License-Identifier: Apache-2.0
"""The paper's method: parameter full-information estimation in forward dynamics, solved with Crocoddyl's FDDP.

The control of a step is the disturbance of the generalised forces. Crocoddyl holds the first state fixed; the free
one of the paper's Algorithm 1 is a first action whose control is the move away from a reference. Static parameters are
part of the state. Rollouts are Python around pinocchio; derivatives are made for all steps at once, in numpy and the
compiled kernel; the Riccati sweep and line search are Crocoddyl's C++. `laps` says what took how long.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.peers.estimate import PeerEstimate
from benchmarks.peers.measurement_costs import MeasurementCosts, first_states, measurement_costs
from benchmarks.peers.paper_dynamics import PaperDynamics
from benchmarks.prime_log import AlignedLog
from sysid_nodes.data.inertia import log_cholesky_to_parameters
from sysid_nodes.systems.prime import Model, PrimeConfig
from sysid_nodes.systems.prime.initialisation import initial_configurations

# Pinocchio first: Crocoddyl's libraries find it already loaded.
import pinocchio  # noqa: F401  isort: skip

try:
    import crocoddyl
except ImportError:
    crocoddyl = None

Array = npt.NDArray[np.float64]

AVAILABLE = crocoddyl is not None
STIFFNESS = 500.0
"""The paper's kappa."""

_PATIENCE = 3
"""Iterations in a row with hardly any decrease that end the solve."""


def peer_config(config: PrimeConfig) -> PrimeConfig:
    """Alignment for forward Euler: torques as means over the step that begins; clocks agree, the ground is hard, its
    friction as stated."""
    torque = replace(config.sensors.joint_torque, window="after")
    pose = replace(config.sensors.mocap_pose, delay_sigma=0.0)
    contact = replace(config.contact, compliance_sigma=0.0, friction_sigma=0.0)
    return replace(config, contact=contact, sensors=replace(config.sensors, joint_torque=torque, mocap_pose=pose))


def estimate(
    model: Model,
    log: AlignedLog,
    *,
    paper_weights: bool = False,
    stiffness: float = STIFFNESS,
    most: int = 200,
    seconds: float = 600.0,
) -> PeerEstimate:
    """The whole log at once.

    Args:
        model: of the estimator, with `peer_config`.
        log: aligned with `peer_config`.
        paper_weights: Table V's instead of the stated noise.
        stiffness: kappa.
        most: iterations.
        seconds: begin no iteration after that.
    """
    start, spent = time.perf_counter(), time.process_time()
    costs = measurement_costs(model, log, paper=paper_weights)
    shared = _Shared(PaperDynamics(model, stiffness), costs)
    q = initial_configurations(model, log.steps.samples, len(log.steps))
    x = first_states(model, q, costs, shared.dynamics.coordinates(q))
    state = crocoddyl.StateVector(x.shape[1])
    actions = [_Step(state, shared, k) for k in range(len(x) - 1)]
    problem = crocoddyl.ShootingProblem(x[0], [_Start(state, shared, x[0]), *actions], _End(state, shared, len(x) - 1))
    shared.solver = solver = crocoddyl.SolverFDDP(problem)
    callback = _Stop(start, start + seconds)
    solver.setCallbacks([callback])
    converged = False
    try:
        solver.solve([x[0], *x], [np.zeros(x.shape[1]), *([np.zeros(model.base.nv)] * len(actions))], most, False)
    except _FinishedError:
        converged = callback.converged
    solved, spent = time.perf_counter(), time.process_time() - spent
    shared.solver = None  # a cycle through C++ that Python cannot collect
    found = np.array(solver.xs.tolist())[1:]
    force = np.full((len(x), model.base.contacts, 3), np.nan)
    torque = costs.torque[:-1] + np.array(solver.us.tolist()[1:])
    for k, action in enumerate(actions):
        force[k] = shared.dynamics.step(found[k], torque[k], action.w).force
    rest = spent - shared.laps["rollouts"] - shared.laps["derivatives"]
    return PeerEstimate(
        q=shared.dynamics.configurations(found),
        force=force,
        window="after",
        theta=log_cholesky_to_parameters(found[0, 2 * model.base.nv : 2 * model.base.nv + 10]),
        seconds=solved - start,
        iterations=len(callback.costs),
        converged=converged,
        laps={**shared.laps, "Crocoddyl": rest, "total": spent, "rollout steps": float(shared.rollouts)},
        costs=tuple(callback.costs),
        clock=tuple(callback.clock),
    )


@dataclass
class _Shared:
    """Pieces that all actions use, and the derivatives of a trajectory once they are known."""

    dynamics: PaperDynamics
    costs: MeasurementCosts
    solver: Any = None
    laps: dict[str, float] = field(default_factory=lambda: {"rollouts": 0.0, "derivatives": 0.0})
    rollouts: int = 0
    following: dict[int, tuple[Array, Array, Array]] = field(default_factory=dict)
    by: tuple[Array, ...] = ()

    def linearise(self) -> None:
        """Derivatives at the solver's trajectory, called when it asks the first action for them."""
        x = np.array(self.solver.xs.tolist())[1:]
        steps = [self.following[k] for k in range(len(x) - 1)]
        velocity, w = np.array([step[0] for step in steps]), np.array([step[1] for step in steps])
        self.by = (*self.dynamics.derivatives(x[:-1], velocity, w), *self.costs.derivatives(x))


class _FinishedError(Exception):
    """Ends the solve from within."""


if crocoddyl is not None:

    class _Start(crocoddyl.ActionModelAbstract):
        """x+ = x + u: the free first state, with the prior of the parameters."""

        def __init__(self, state: Any, shared: _Shared, x: Array) -> None:
            super().__init__(state, len(x))
            self._shared = shared
            self._weight = np.full(len(x), 1.0)
            self._weight[-13:] = shared.costs.weights.parameters

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
            u = np.zeros(len(x)) if u is None else u
            data.xnext = x + u
            data.cost = 0.5 * float(np.sum((self._weight * u) ** 2))

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: N802
            began = time.process_time()
            self._shared.linearise()
            data.Fx = data.Fu = np.eye(len(x))
            data.Lu, data.Luu = self._weight**2 * (np.zeros(len(x)) if u is None else u), np.diag(self._weight**2)
            self._shared.laps["derivatives"] += time.process_time() - began

    class _Step(crocoddyl.ActionModelAbstract):
        """One step of the robot, and the readings at its beginning."""

        def __init__(self, state: Any, shared: _Shared, k: int) -> None:
            super().__init__(state, shared.dynamics.nv)
            self._shared, self._k = shared, k
            self._weight = shared.costs.weights.force[k]
            self._square = np.diag(self._weight**2)
            self.w = np.zeros((shared.dynamics.base.contacts, 3))

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:
            began, shared, k = time.process_time(), self._shared, self._k
            u = np.zeros(shared.dynamics.nv) if u is None else u
            found = shared.dynamics.step(x, shared.costs.torque[k] + u, self.w)
            if not np.isfinite(found.velocity).all():
                raise FloatingPointError(f"step {k} of the rollout is not finite")
            self.w = found.w
            shared.following[k] = (found.velocity, found.w, u)
            data.xnext = shared.dynamics.advance(x, found.velocity)
            data.cost = shared.costs.cost(k, x) + 0.5 * float(np.sum((self._weight * u) ** 2))
            shared.laps["rollouts"] += time.process_time() - began
            shared.rollouts += 1

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: ARG002, N802
            began, k = time.process_time(), self._k
            fx, fu, lx, lxx = self._shared.by
            data.Fx, data.Fu, data.Lx, data.Lxx = fx[k], fu[k], lx[k], lxx[k]
            if u is not None:
                data.Lu, data.Luu = self._weight**2 * u, self._square
            self._shared.laps["derivatives"] += time.process_time() - began

    class _End(crocoddyl.ActionModelAbstract):
        """The readings at the last step."""

        def __init__(self, state: Any, shared: _Shared, k: int) -> None:
            super().__init__(state, 0)
            self._shared, self._k = shared, k

        def calc(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: ARG002
            data.cost = self._shared.costs.cost(self._k, x)

        def calcDiff(self, data: Any, x: Array, u: Array | None = None) -> None:  # noqa: ARG002, N802
            data.Lx, data.Lxx = self._shared.by[2][self._k], self._shared.by[3][self._k]

    class _Stop(crocoddyl.CallbackAbstract):
        """Records the cost; ends the solve when it no longer falls, by the rule of our own solver, or time is up."""

        def __init__(self, start: float, deadline: float) -> None:
            super().__init__()
            self._start, self._deadline, self._slow = start, deadline, 0
            self.costs: list[float] = []
            self.clock: list[float] = []
            self.converged = False

        def __call__(self, solver: Any) -> None:
            now = time.perf_counter()
            cost, before = float(solver.cost), self.costs[-1] if self.costs else np.inf
            self.costs.append(cost)
            self.clock.append(now - self._start)
            small = solver.isFeasible and abs(before - cost) <= 1e-5 * cost
            self._slow = self._slow + 1 if small else 0
            self.converged = self._slow >= _PATIENCE
            if self.converged or now > self._deadline:
                raise _FinishedError
