# SPDX-License-Identifier: Apache-2.0
"""How the Gen3's exciting motion of `simulation/arm/gen3.py` was designed: well conditioned, clear of arm and floor.

``python -m benchmarks.gen3_design`` designs it again and prints its numbers; takes minutes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pinocchio
from scipy.optimize import minimize

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import Primitive, Robot, load_robot
from sysid_nodes.robots.robot import Array
from sysid_nodes.simulation.arm.excitation import FourierTrajectory, at_rest
from sysid_nodes.simulation.arm.gen3 import CENTRE, PERIOD

HELD_OBJECT = Primitive("joint_7", "sphere", np.array([0.0, 0.0, -0.1815]), np.eye(3), np.array([0.13]))
"""Covers any of the dumbbells in the hand."""

AMPLITUDE = (1.0, 0.6, 0.9, 0.8, 1.4, 1.1, 1.6)

_OVERLAP_SCALE = 0.01
"""An overlap of this many metres weighs like a condition number e times larger."""

JOINTS_APART = 4
"""Shapes this many joints apart are compared; nearer ones meet by design or are kept apart by the joints' limits."""


def design_gen3(robot: Robot, *, seed: int = 7, starts: int = 8, iterations: int = 20) -> FourierTrajectory:
    """The design that gave the numbers of gen3_excitation; takes minutes. Rounding to 1e-5 rad is all that differs."""
    return design_excitation(
        robot,
        np.array(CENTRE),
        np.array(AMPLITUDE),
        np.random.default_rng(seed),
        held=(HELD_OBJECT,),
        period=PERIOD,
        starts=starts,
        iterations=iterations,
    )


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


def clearance(robot: Robot, q: Array, extra: Sequence[Primitive] = ()) -> Array:
    """Least distance between spheres that cover the arm and its shapes further down, or the floor.

    Args:
        robot: with geometry.
        q: (N, n) [rad].
        extra: further shapes on the robot, as what it carries.

    Returns:
        (N,) [m], negative where shapes overlap; infinite for a robot without geometry.
    """
    shapes = [(int(robot.model.getJointId(shape.frame)), shape) for shape in (*robot.geometry, *extra)]
    spheres = [(joint, sphere) for joint, shape in shapes for sphere in _spheres(shape)]
    data = robot.model.createData()
    least = np.full(len(q), np.inf)
    for k, posture in enumerate(q):
        pinocchio.forwardKinematics(robot.model, data, posture)
        placed = data.oMi.tolist()
        centres = [placed[joint].act(shape.position) for joint, shape in spheres]
        joints = np.array([joint for joint, _ in spheres], dtype=int)
        radii = np.array([shape.size[0] for _, shape in spheres])
        for base, shape in shapes:
            if (far := joints >= base + JOINTS_APART).any():
                points = np.array(centres)[far]
                least[k] = min(least[k], float((_distance(points, placed[base], shape) - radii[far]).min()))
        if (free := joints >= JOINTS_APART - 1).any():
            least[k] = min(least[k], float((np.array(centres)[free, 2] - radii[free]).min()))
    return least


def _spheres(shape: Primitive) -> list[Primitive]:
    """A sphere itself, or spheres along a box's longest side that cover it; nothing else is covered."""
    if shape.kind != "box":
        return [shape] if shape.kind == "sphere" else []
    axis = int(np.argmax(shape.size))
    across = float(np.linalg.norm(np.delete(shape.size, axis)))
    count = int(np.ceil(shape.size[axis] / across))
    step = shape.size[axis] / count
    places = -shape.size[axis] + step * (2.0 * np.arange(count) + 1.0)
    radius = np.array([np.hypot(across, step)])
    centres = [shape.position + shape.rotation[:, axis] * place for place in places]
    return [Primitive(shape.frame, "sphere", centre, np.eye(3), radius) for centre in centres]


def _distance(points: Array, placement: pinocchio.SE3, shape: Primitive) -> Array:
    """From points (N, 3) in the world to a shape's surface [m]; a point inside a box counts as touching it."""
    local = ((points - placement.translation) @ placement.rotation - shape.position) @ shape.rotation
    core, radius = np.zeros(3), 0.0
    if shape.kind == "box":
        core = shape.size
    else:
        radius = float(shape.size[0])
        core[2] = shape.size[1] if shape.kind == "capsule" else 0.0
    return np.asarray(np.linalg.norm(local - np.clip(local, -core, core), axis=1) - radius)


def main() -> None:
    motion = design_gen3(load_robot("kinova_gen3"))
    with np.printoptions(precision=5, suppress=True):
        print(f"sine\n{motion.sine}\ncosine\n{motion.cosine}")
    print(f"condition number {payload_condition(load_robot('kinova_gen3'), motion):.2f}")


if __name__ == "__main__":
    main()
