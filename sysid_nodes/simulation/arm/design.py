"""Design of exciting trajectories: the payload's regressor, as well conditioned as the limits allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.optimize import minimize

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import Primitive, Robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.clearance import clearance
from sysid_nodes.simulation.arm.excitation import FourierTrajectory, at_rest

_OVERLAP_SCALE = 0.01
"""An overlap of this many metres weighs like a condition number e times larger."""


def payload_condition(robot: Robot, trajectory: FourierTrajectory, *, body: str = "", samples: int = 200) -> float:
    """Condition number of a body's stacked standard regressor (N n, 10) over one period of the motion."""
    t = np.linspace(0.0, trajectory.period, samples, endpoint=False)
    regressor = standard_regressor(Chain.from_robot(robot), *trajectory(t))
    index = robot.body_index(body)
    return float(np.linalg.cond(regressor[:, :, 10 * index : 10 * index + 10].reshape(-1, 10)))


def design_excitation(
    robot: Robot,
    centre: Array,
    amplitude: Array,
    rng: np.random.Generator,
    *,
    held: Sequence[Primitive] = (),
    margin: float = 0.02,
    period: float = 10.0,
    harmonics: int = 5,
    use: float = 0.7,
    starts: int = 20,
    iterations: int = 60,
) -> FourierTrajectory:
    """The best conditioned of several locally optimised trajectories; the same generator state gives the same one.

    Args:
        centre: (n,) [rad].
        amplitude: (n,) largest excursion from the centre [rad].
        rng: of the random starts.
        held: shapes the arm carries, to keep clear of itself and the floor like its own.
        margin: least clearance [m]; a robot without geometry is not checked.
        period: [s].
        harmonics: terms of the series.
        use: share of the velocity and acceleration limits that the reference may take; the rest is left to tracking.
        starts: random starts, of which the best quarter is optimised.
        iterations: of the optimiser, a start.
    """
    shape = (2, robot.n, harmonics)

    def trajectory(x: Array) -> FourierTrajectory:
        return _fit(robot, centre, amplitude, x.reshape(shape), period, use)

    def cost(x: Array) -> float:
        motion = trajectory(x)
        postures = motion(np.linspace(0.0, period, 40, endpoint=False)).q
        overlap = max(0.0, margin - float(clearance(robot, postures, held).min()))
        return float(np.log(payload_condition(robot, motion, samples=60))) + overlap / _OVERLAP_SCALE

    drawn: list[Array] = [rng.standard_normal(shape).ravel() for _ in range(starts)]
    guesses = sorted(drawn, key=cost)
    found = [
        minimize(cost, x, method="L-BFGS-B", options={"maxiter": iterations}) for x in guesses[: max(1, starts // 4)]
    ]
    return trajectory(min(found, key=lambda result: float(result.fun)).x)


def _fit(
    robot: Robot, centre: Array, amplitude: Array, coefficients: Array | Sequence[Array], period: float, use: float
) -> FourierTrajectory:
    """The series at rest at its ends, each joint scaled to the first of its limits."""
    sine, cosine = at_rest(coefficients[0], coefficients[1])
    motion = FourierTrajectory(period, np.zeros(robot.n), sine, cosine)(np.linspace(0.0, period, 200))
    limits = robot.limits
    share = np.max(
        [
            np.abs(motion.q).max(axis=0) / amplitude,
            np.abs(motion.qd).max(axis=0) / (use * limits.velocity),
            np.abs(motion.qdd).max(axis=0) / (use * limits.acceleration),
        ],
        axis=0,
    )
    return FourierTrajectory(period, centre, sine / share[:, None], cosine / share[:, None])
