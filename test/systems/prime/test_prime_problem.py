# SPDX-License-Identifier: Apache-2.0
"""The estimation problem: every residual's derivatives, and the elimination of contact variables."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.legged_states import random_samples, random_states
from shared.moving_robot import random_trajectory

from sysid_nodes.exceptions import RobotError, SamplesError
from sysid_nodes.models.discrete_motion import discrete_motion
from sysid_nodes.robots import load_robot
from sysid_nodes.sensors import Samples
from sysid_nodes.solvers.trajectory_least_squares import assemble
from sysid_nodes.solvers.trajectory_least_squares.damped_step import damped_step
from sysid_nodes.solvers.trajectory_least_squares.robust import cost
from sysid_nodes.systems.prime import ContactConfig, InertiaConfig, PrimeConfig, build_model
from sysid_nodes.systems.prime.model import Model
from sysid_nodes.systems.prime.parameter_step import curved_step
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.sensing import LINEAR
from sysid_nodes.systems.prime.trajectory import Trajectory

STAGES = 5


def config(law: str = "coulomb") -> PrimeConfig:
    # A large step and mild noise keep the residuals' curvature small against the step of the finite differences.
    contact = ContactConfig(law=law, smoothing=1e-2, gap_sigma=0.05, slip_sigma=0.5)
    inertia = InertiaConfig(bodies="base,FL_thigh", weighed=20.0, weighed_sigma=0.1)
    return PrimeConfig(step=0.05, contact=contact, inertia=inertia)


def problem_and_point(settings: PrimeConfig, *, rotors: bool = True) -> tuple[PrimeProblem, Trajectory]:
    """Random readings of every sensor, some missing, about a random trajectory; of a robot that states its rotors."""
    robot = load_robot("go2")
    robot = replace(robot, motor=replace(robot.motor, armature=rotors * robot.motor.armature))
    model = build_model(robot, settings)
    rng = np.random.default_rng(0)
    q = random_trajectory("go2", 1, STAGES)
    states = replace(random_states(robot, STAGES, rng), q=q)
    samples = {sensor.name: random_samples(sensor, robot, states, rng) for sensor in model.sensors}
    lost = samples["accelerometer"]
    samples["accelerometer"] = Samples(lost.steps[[1, 3]], lost.values[[1, 3]], lost.weights[[1, 3]])
    problem = build_problem(model, samples, STAGES, first_arrival(model, q[0]))
    firmness = rng.uniform(0.2, 1.0, (STAGES - 2, model.base.contacts, 2))
    problem = replace(problem, inner=problem.inner.firm(firmness))
    theta = model.parameters.mean + 0.02 * rng.normal(size=model.parameters.count)
    w = 0.5 * rng.normal(size=(STAGES, model.base.contacts, 3))
    return problem, Trajectory(random_trajectory("go2", 2, STAGES), w, theta)


def moved(problem: PrimeProblem, point: Trajectory, kind: str, index: tuple[int, ...], step: float) -> Trajectory:
    """The point with one coordinate moved, contact variables where they were."""
    layout = problem.layout
    steps = {
        "stage": np.zeros((STAGES, layout.size)),
        "parameter": np.zeros(layout.parameters),
        "local": np.zeros((STAGES, layout.local)),
    }
    steps[kind][index] = step
    return problem.move_point(point, steps["stage"], steps["parameter"], steps["local"])


@pytest.mark.parametrize(("law", "rotors"), [("coulomb", True), ("anitescu", False)])
def test_every_derivative(law: str, rotors: bool) -> None:
    problem, point = problem_and_point(config(law), rotors=rotors)
    layout = problem.layout
    blocks = problem.linearise(point)
    for block, residual in zip(blocks, problem.residuals(point), strict=True):
        np.testing.assert_allclose(block.residual, residual, rtol=1e-9, atol=1e-9)
    coordinates = [
        *(("stage", (k, j)) for k in range(STAGES) for j in range(layout.size)),
        *(("parameter", (j,)) for j in range(layout.parameters)),
        *(("local", (k, j)) for k in range(1, STAGES - 1) for j in range(layout.local)),
    ]
    step = 1e-6
    for kind, index in coordinates:
        ends = [problem.residuals(moved(problem, point, kind, index, sign * step)) for sign in (1.0, -1.0)]
        for name, block, plus, minus in zip(problem.groups, blocks, *ends, strict=True):
            numeric = (plus - minus) / (2.0 * step)
            found = np.zeros_like(numeric)
            if kind == "stage":
                place = index[0] - block.first
                width = block.jacobian.shape[2] // layout.size
                for b in np.flatnonzero((place >= 0) & (place < width)):
                    found[b] = block.jacobian[b, :, place[b] * layout.size + index[1]]
            elif kind == "parameter" and block.parameter_jacobian is not None:
                found = block.parameter_jacobian[:, :, index[0]]
            elif kind == "local" and block.local_jacobian is not None:
                assert block.local is not None
                for b in np.flatnonzero(block.local == index[0]):
                    found[b] = block.local_jacobian[b, :, index[1]]
            np.testing.assert_allclose(
                found, numeric, atol=3e-6 * (1.0 + np.abs(numeric).max()), err_msg=f"{name} by {kind} {index}"
            )


def test_sensors_that_are_linearised_once() -> None:
    """Their derivatives are those of another point as well, but not of readings of other weights."""
    problem, point = problem_and_point(config())
    rng, layout = np.random.default_rng(1), problem.layout
    other = problem.move_point(
        point,
        0.1 * rng.normal(size=(layout.stages, layout.size)),
        0.01 * rng.normal(size=layout.parameters),
        np.zeros((layout.stages, layout.local)),
    )
    once = [readings for readings in problem.readings if readings.sensor.name in LINEAR]
    assert len(once) == len(LINEAR)
    motion = discrete_motion(other.q, problem.law.dt)
    for readings in once:
        readings.blocks(point, discrete_motion(point.q, problem.law.dt))
        found, fresh = readings.blocks(other, motion), replace(readings).blocks(other, motion)
        np.testing.assert_array_equal(found.residual, fresh.residual)
        # Zeros may have another sign.
        np.testing.assert_array_equal(found.jacobian, fresh.jacobian)
        assert (found.parameter_jacobian is None) == (fresh.parameter_jacobian is None)
        if found.parameter_jacobian is not None and fresh.parameter_jacobian is not None:
            np.testing.assert_array_equal(found.parameter_jacobian, fresh.parameter_jacobian)
        samples = replace(readings.samples, weights=2.0 * readings.samples.weights)
        np.testing.assert_array_equal(
            replace(readings, samples=samples).blocks(other, motion).jacobian, 2.0 * found.jacobian
        )


def test_fixed_constants_stay_and_the_others_keep_their_columns() -> None:
    problem, point = problem_and_point(config())
    parameters = problem.model.parameters
    fixed, constant = problem.fix_constants(), parameters.is_constant | parameters.is_shape
    names = np.array(parameters.names)[constant]
    assert {"ground.tilt[0]", "ground.friction", "joint.viscous", "links.mass", "base.d1", "base.s13"} <= set(names)
    assert not {"ground.height", "base.alpha", "base.t1"} & set(names)
    assert fixed.layout.parameters == np.count_nonzero(~constant)
    for whole, part in zip(problem.linearise(point), fixed.linearise(point), strict=True):
        np.testing.assert_array_equal(part.residual, whole.residual)
        np.testing.assert_array_equal(part.jacobian, whole.jacobian)
        if whole.parameter_jacobian is not None:
            np.testing.assert_array_equal(part.parameter_jacobian, whole.parameter_jacobian[:, :, ~constant])
    after = moved(fixed, point, "parameter", (0,), 0.5)
    assert after.theta[0] == point.theta[0] + 0.5
    np.testing.assert_array_equal(after.theta[1:], point.theta[1:])
    last = moved(fixed, point, "parameter", (fixed.layout.parameters - 1,), 0.5)
    assert np.flatnonzero(last.theta != point.theta).tolist() == [int(np.flatnonzero(~constant)[-1])]


def test_descents_take_the_curved_step_of_the_constants() -> None:
    """Unless some of them are fixed, whose step is the linear model's."""
    problem, point = problem_and_point(config())
    for one in (problem, problem.fix_constants()):
        blocks = one.linearise(point)
        equations, losses = assemble(blocks, one.layout), [group.loss for group in blocks]
        value = cost([group.residual for group in blocks], losses)
        taken = damped_step(one, point, equations, losses, None, value, 1e-4, None)
        assert taken is not None
        parameters, inertia = one.model.parameters, one.model.config.inertia
        corner, gradient = taken.factor.corner, taken.factor.parameter_gradient
        if one.free is None:
            wanted = curved_step(parameters, inertia, point.theta, corner, gradient)
            assert wanted is not None
            np.testing.assert_array_equal(taken.step.parameter, wanted.step)
            assert taken.promise == pytest.approx(0.5 * (taken.slope + taken.damped - wanted.bent))
        else:
            np.testing.assert_array_equal(taken.step.parameter, taken.factor.step().parameter)


def test_settling_lowers_the_cost_and_moves_nothing_else() -> None:
    problem, point = problem_and_point(config())
    after = problem.solve_contacts(point)
    before_cost, after_cost = (sum(float(np.sum(r**2)) for r in problem.residuals(x)) for x in (point, after))
    assert after_cost < before_cost
    np.testing.assert_array_equal(after.q, point.q)
    np.testing.assert_array_equal(after.theta, point.theta)


def test_too_few_stages() -> None:
    model: Model = build_model(load_robot("go2"), config())
    q = np.zeros(19)
    q[6] = 1.0
    with pytest.raises(SamplesError, match="at least 3 stages, got 2"):
        build_problem(model, {}, 2, first_arrival(model, q))


def test_unknown_body() -> None:
    settings = replace(config(), inertia=InertiaConfig(bodies="base,tail"))
    with pytest.raises(RobotError, match="no link 'tail'"):
        build_model(load_robot("go2"), settings)


def test_no_body_to_identify() -> None:
    model = build_model(load_robot("go2"), replace(config(), inertia=InertiaConfig(bodies="none")))
    assert model.parameters.names[0] == "ground.height"
    np.testing.assert_array_equal(model.parameters.inertia(model.parameters.mean), model.robot.inertial_parameters())
