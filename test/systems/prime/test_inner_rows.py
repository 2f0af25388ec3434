# SPDX-License-Identifier: Apache-2.0
"""The compiled window kernel against the NumPy rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.legged_states import random_samples, random_states
from shared.moving_robot import random_trajectory

from sysid_nodes.robots import load_robot
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble, assemble_pieces
from sysid_nodes.solvers.trajectory_least_squares.windows import windows
from sysid_nodes.systems.prime import ContactConfig, InertiaConfig, PrimeConfig, ProcessConfig, build_model, inner
from sysid_nodes.systems.prime.inner import CompiledRows, ReferenceRows
from sysid_nodes.systems.prime.problem import PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory

STAGES = 6
BODY = {"go2": "FL_thigh", "g1": "left_knee_link"}


def both(name: str, law: str, unknown: float = 0.0) -> tuple[PrimeProblem, PrimeProblem, Trajectory]:
    """The same problem with compiled and with NumPy rows, and a random point."""
    robot = load_robot(name)
    ground = {"normal": (0.6, 0.0, 0.8), "height": 0.1, "tilt_sigma": unknown, "compliance_sigma": unknown}
    ground["friction_sigma"] = unknown
    contact = ContactConfig(law=law, foot_sigma=unknown, **ground)
    process = ProcessConfig(coulomb=unknown, viscous=unknown, armature=unknown)
    inertia = InertiaConfig(bodies=f"{robot.body},{BODY[name]}", links_sigma=unknown)
    config = PrimeConfig(step=0.02, contact=contact, process=process, inertia=inertia)
    compiled = build_model(robot, config)
    reference = build_model(robot, config, implementation="reference")
    rng = np.random.default_rng(0)
    q = random_trajectory(name, 1, STAGES)
    states = replace(random_states(robot, STAGES, rng), q=q)
    samples = {sensor.name: random_samples(sensor, robot, states, rng) for sensor in compiled.sensors}
    theta = compiled.parameters.mean + 0.02 * rng.normal(size=compiled.parameters.count)
    theta[compiled.parameters.give] *= 1e-3  # millimetres under a robot's weight
    w = 0.5 * rng.normal(size=(STAGES, compiled.base.contacts, 3))
    w[2, 0] = 0.0  # where the cone's axis has no direction
    firmness = rng.uniform(0.2, 1.0, (STAGES - 2, compiled.base.contacts, 2))
    plain = (build_problem(model, samples, STAGES, first_arrival(model, q[0])) for model in (compiled, reference))
    problems = (replace(problem, inner=problem.inner.firm(firmness)) for problem in plain)
    return *problems, Trajectory(random_trajectory(name, 2, STAGES), w, theta)


@pytest.mark.parametrize("name", ["go2", "g1"])
@pytest.mark.parametrize(("law", "unknown"), [("coulomb", 0.05), ("coulomb", 0.0), ("anitescu", 0.05)])
def test_compiled_rows_are_the_reference(name: str, law: str, unknown: float) -> None:
    """To rounding, in residuals, derivatives and the contact variables' best, with few constants unknown or many."""
    compiled, reference, point = both(name, law, unknown)
    if not isinstance(compiled.inner, CompiledRows):
        pytest.skip("the kernel is not compiled here")
    assert isinstance(reference.inner, ReferenceRows)
    for ours, theirs in zip(compiled.linearise(point), reference.linearise(point), strict=True):
        for part in ("residual", "jacobian", "parameter_jacobian", "local_jacobian"):
            found, wanted = getattr(ours, part), getattr(theirs, part)
            if wanted is not None:
                np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10 * (1.0 + np.abs(wanted).max()))
    for found, wanted in zip(compiled.residuals(point), reference.residuals(point), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-10 * (1.0 + np.abs(wanted).max()))
    turned = (replace(problem, inner=problem.inner.settle_contacts(turns=True)) for problem in (compiled, reference))
    for first, (mine, other) in ((0, (compiled, reference)), (2, (compiled, reference)), (0, turned)):
        ours, theirs = mine.solve_contacts(point, first).w, other.solve_contacts(point, first).w
        # Either stops where a further step gains 1e-6 of the cost, and may be a step ahead there.
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(ours[: first + 1], point.w[: first + 1])


def test_the_linear_model_in_pieces_is_that_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """To rounding, of pieces of a stage each, all constants or some of them free, sensors and their losses included."""
    monkeypatch.setattr(inner, "_CACHED", 1)
    monkeypatch.setattr(inner, "_FEWEST", 1)
    compiled, reference, point = both("go2", "coulomb", 0.05)
    for problem in (compiled, compiled.fix_constants(), reference):
        groups, layout, shapes = problem.linearise(point), problem.layout, problem.shapes()
        pieces = list(problem.pieces(point))
        assert len(pieces) == 1 + (STAGES - 2 if isinstance(problem.inner, CompiledRows) else 1)
        assert [blocks.loss for blocks in shapes] == [blocks.loss for blocks in groups]
        whole, parts = assemble(groups, layout), assemble_pieces(pieces, windows(shapes, layout), layout)
        assert whole.local is not None
        assert parts.local is not None
        for name in ("border", "corner", "gradient", "parameter_gradient"):
            assert_near(getattr(parts, name), getattr(whole, name))
        for name in ("hessian", "stage", "parameter", "gradient"):
            assert_near(getattr(parts.local, name), getattr(whole.local, name))
        assert_near(parts.band.columns, whole.band.columns)


def assert_near(found: np.ndarray, wanted: np.ndarray) -> None:
    """To rounding of sums in another order."""
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * np.abs(wanted).max())


def test_residuals_of_a_settled_point_are_those_of_its_numbers() -> None:
    """They are made when contact variables are settled, and no longer those once anything has changed."""
    problem, _, point = both("go2", "coulomb", 0.05)
    settled = problem.solve_contacts(point)
    kept = problem.residuals(settled)
    for mine, again in zip(kept, problem.residuals(replace(settled, q=settled.q.copy())), strict=True):
        np.testing.assert_array_equal(mine, again)
    others = (
        replace(settled, q=random_trajectory("go2", 3, STAGES)),
        replace(settled, w=settled.w + 0.1),
        replace(settled, theta=settled.theta + 0.01),
    )
    for other in others:
        assert np.abs(problem.residuals(other)[0] - kept[0]).max() > 1e-3
    assert np.abs(problem.with_smoothing(1e-2).residuals(settled)[1] - kept[1]).max() > 1e-3


def test_firm_rows_are_firm_at_once() -> None:
    """At constants asked for before, too, compiled as in NumPy."""
    compiled, reference, point = both("go2", "coulomb", 0.05)
    firmness = np.full((STAGES - 2, compiled.model.base.contacts, 2), 0.3)
    before = compiled.residuals(point)[1]
    after, wanted = (
        replace(problem, inner=problem.inner.firm(firmness)).residuals(point)[1] for problem in (compiled, reference)
    )
    np.testing.assert_allclose(after, wanted, rtol=1e-9, atol=1e-10 * (1.0 + np.abs(wanted).max()))
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize("implementation", [0, 1])
def test_weighed_rows_weigh_at_once(implementation: int) -> None:
    """The rows of base and joints are so much larger, at constants asked for before, too.

    A stage without a reading stays as uncertain as the motors' limits are.
    """
    problem, point = both("go2", "coulomb")[implementation], both("go2", "coulomb")[2]
    torque = problem.inner.dynamics.torque
    torque[1] = 0.0
    before, factor = problem.residuals(point)[0], np.linspace(1.0, 3.0, 6 + torque.shape[1])
    after = replace(problem, inner=problem.inner.weigh(factor)).residuals(point)[0]
    np.testing.assert_allclose(after[:, :6], factor[:6] * before[:, :6])
    np.testing.assert_allclose(after[1, 6:], before[1, 6:])
    np.testing.assert_allclose(np.delete(after, 1, 0)[:, 6:], factor[6:] * np.delete(before, 1, 0)[:, 6:])


def test_wrong_shapes() -> None:
    compiled, _, point = both("go2", "coulomb")
    if not isinstance(compiled.inner, CompiledRows):
        pytest.skip("the kernel is not compiled here")
    with pytest.raises(ValueError, match="contact variables have the wrong shape"):
        compiled.residuals(replace(point, w=point.w[:, :2]))
    with pytest.raises(ValueError, match="torques have the wrong shape"):
        compiled.residuals(Trajectory(point.q[1:], point.w[1:], point.theta))
