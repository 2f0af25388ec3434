# SPDX-License-Identifier: Apache-2.0
"""Regressors against pinocchio, energies, finite differences and each other."""

from pathlib import Path

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.kernel import reference
from sysid_nodes.models import regressors
from sysid_nodes.models.chain import Chain

DESCRIPTIONS = Path(pin.__file__).parents[4] / "share" / "example-robot-data" / "robots"
URDFS = {"panda": "panda_description/urdf/panda.urdf", "ur10": "ur_description/urdf/ur10_robot.urdf"}


def random_tree(seed):
    """A branching tree of revolute and sliding joints about aligned and skew axes, bodies and gravity random."""
    rng = np.random.default_rng(seed)
    pin.seed(seed)
    model = pin.Model()
    branch = [0]  # the last joint and its ancestors: pinocchio wants subtrees numbered without gaps
    for i in range(int(rng.integers(1, 7))):
        axis = rng.normal(size=3)
        kinds = [
            pin.JointModelRX(), pin.JointModelRZ(), pin.JointModelPY(),
            pin.JointModelRevoluteUnaligned(*axis), pin.JointModelPrismaticUnaligned(*axis),
        ]  # fmt: skip
        del branch[int(rng.integers(1, len(branch) + 1)) :]
        model.addJoint(branch[-1], kinds[rng.integers(len(kinds))], pin.SE3.Random(), f"j{i}")
        model.appendBodyToJoint(i + 1, pin.Inertia.Random(), pin.SE3.Identity())
        branch.append(i + 1)
    model.gravity.linear = rng.normal(size=3) * 6.0
    return model


def named_model(name):
    if name == "sample":
        return pin.buildSampleModelManipulator()
    if name not in URDFS:
        return random_tree(int(name.removeprefix("tree")))
    path = DESCRIPTIONS / URDFS[name]
    if not path.exists():
        pytest.skip(f"example-robot-data has no {URDFS[name]} here")
    return pin.buildModelFromUrdf(str(path))


@pytest.fixture(params=["sample", "panda", "ur10", "tree1", "tree2"])
def model(request):
    return named_model(request.param)


def parameters(model):
    return np.concatenate([body.toDynamicParameters() for body in list(model.inertias)[1:]])


def states(n, samples=6, seed=0):
    return np.random.default_rng(seed).normal(size=(3, samples, n)) * 2.0


def mass_matrix(model, data, q):
    upper = np.triu(pin.crba(model, data, q))
    return upper + np.triu(upper, 1).T


def check_against_pinocchio(model):
    """Every regressor on a few states; 1e-12 of the largest entry is a thousand roundings of short sums."""
    chain, data, theta = Chain.from_model(model), model.createData(), parameters(model)
    q, qd, qdd = states(chain.n)
    standard = [
        regressors.standard_regressor(chain, q, qd, qdd, implementation=name) for name in ("", "reference")
    ]  # the kernel, where there is one
    momentum, rate = regressors.momentum_regressors(chain, q, qd)
    for s in range(len(q)):
        expected = pin.computeJointTorqueRegressor(model, data, q[s], qd[s], qdd[s]).reshape(chain.n, -1)
        for found in standard:
            np.testing.assert_allclose(found[s], expected, rtol=0, atol=1e-12 * np.abs(expected).max())
        mass = mass_matrix(model, data, q[s])
        coriolis = pin.computeCoriolisMatrix(model, data, q[s], qd[s])
        gravity = pin.computeGeneralizedGravity(model, data, q[s])
        for got, want in (
            (momentum[s] @ theta, mass @ qd[s]),
            (rate[s] @ theta, coriolis.T @ qd[s] - gravity),
        ):
            np.testing.assert_allclose(got, want, rtol=0, atol=1e-12 * (np.abs(want).max() + np.abs(theta).max()))


def test_robots_against_pinocchio(model):
    check_against_pinocchio(model)


@settings(max_examples=30)
@given(st.integers(0, 100_000))
def test_random_trees_against_pinocchio(seed):
    check_against_pinocchio(random_tree(seed))


def test_rate_is_the_energy_gradient(model):
    # dT/dq - dU/dq by central differences: truncation h^2 and rounding eps/h are both near 1e-10 of the energies.
    chain, data, theta, step = Chain.from_model(model), model.createData(), parameters(model), 1e-5
    q, qd, _ = states(chain.n, samples=2)
    _, rate = regressors.momentum_regressors(chain, q, qd)

    def lagrangian(position, speed):
        kinetic = pin.computeKineticEnergy(model, data, position, speed)
        return kinetic - pin.computePotentialEnergy(model, data, position)

    for s in range(len(q)):
        moves = step * np.eye(chain.n)
        slope = [(lagrangian(q[s] + m, qd[s]) - lagrangian(q[s] - m, qd[s])) / (2 * step) for m in moves]
        scale = np.abs(lagrangian(q[s], qd[s])) + np.abs(slope).max()
        np.testing.assert_allclose(rate[s] @ theta, slope, rtol=0, atol=1e-7 * scale)


def test_momentum_changes_at_the_rate_of_the_standard_regressor(model):
    # d/dt W_m = W - (-W_c), entry by entry and not only for one theta.
    chain, step = Chain.from_model(model), 1e-5
    q, qd, qdd = states(chain.n)
    standard = regressors.standard_regressor(chain, q, qd, qdd)
    _, rate = regressors.momentum_regressors(chain, q, qd)
    after, _ = regressors.momentum_regressors(chain, q + step * qd + step**2 / 2 * qdd, qd + step * qdd)
    before, _ = regressors.momentum_regressors(chain, q - step * qd + step**2 / 2 * qdd, qd - step * qdd)
    error = (after - before) / (2 * step) - standard - rate
    # Third derivatives grow with the cube of speeds up to 6 rad/s in each joint; 1e-10 step^2 leaves about 1e-7.
    assert np.abs(error).max() < 1e-6 * np.abs(standard).max()


def test_windows_are_differences_and_trapezoids(model):
    chain = Chain.from_model(model)
    q, qd, _ = states(chain.n, samples=40)
    t = np.cumsum(np.random.default_rng(3).uniform(0.5e-3, 2e-3, 40))
    edges = np.array([[0, 10], [10, 39], [5, 20], [7, 7], [38, 39]])
    difference, integral = regressors.window_regressors(chain, t, q, qd, edges)
    momentum, rate = regressors.momentum_regressors(chain, q, qd)
    np.testing.assert_allclose(
        difference, momentum[edges[:, 1]] - momentum[edges[:, 0]], atol=1e-12 * np.abs(momentum).max()
    )
    expected = np.array([trapezoid(rate[a : b + 1], t[a : b + 1], axis=0) for a, b in edges])
    np.testing.assert_allclose(integral, expected, atol=1e-12 * np.abs(expected).max())


def test_window_balance_closes_with_the_square_of_the_step():
    # (W_m(t2) - W_m(t1) - int W_c) theta = int tau on a smooth motion; the trapezoid's error falls fourfold a halving.
    model = named_model("sample")
    chain, data, theta = Chain.from_model(model), model.createData(), parameters(model)
    phase = np.arange(chain.n)

    def residual(steps):
        t = np.linspace(0.0, 0.4, steps + 1)
        angle = 3.0 * t[:, None] + phase
        q, qd, qdd = np.sin(angle), 3.0 * np.cos(angle), -9.0 * np.sin(angle)
        tau = np.array([pin.rnea(model, data, *state) for state in zip(q, qd, qdd, strict=True)])
        difference, integral = regressors.window_regressors(chain, t, q, qd, np.array([[0, steps]]))
        return np.abs((difference[0] - integral[0]) @ theta - trapezoid(tau, t, axis=0)).max()

    coarse, fine = residual(100), residual(200)
    assert fine < 1e-3
    assert coarse / fine == pytest.approx(4.0, rel=0.05)


def test_blocks_do_not_show(monkeypatch):
    chain = Chain.from_model(named_model("tree2"))
    q, qd, qdd = states(chain.n, samples=50)
    t, edges = np.arange(50.0), np.array([[0, 49], [3, 20], [20, 21]])

    def everything():
        windows = regressors.window_regressors(chain, t, q, qd, edges, implementation="reference")
        return (
            regressors.standard_regressor(chain, q, qd, qdd),
            *regressors.momentum_regressors(chain, q, qd),
            *windows,
        )

    whole = everything()
    monkeypatch.setattr(reference, "BLOCK", 7)
    for got, want in zip(everything(), whole, strict=True):
        np.testing.assert_allclose(got, want, rtol=0, atol=1e-13 * np.abs(want).max())


def test_supports(model):
    supports = Chain.from_model(model).supports()
    for i in range(model.njoints - 1):
        assert set(np.flatnonzero(supports[:, i])) == {joint - 1 for joint in model.supports[i + 1] if joint > 0}


def test_body_columns_split_the_parameters():
    chain = Chain.from_model(named_model("sample"))
    mine, rest = regressors.body_columns(chain, 5)
    assert mine.tolist() == list(range(50, 60))
    assert sorted([*mine, *rest]) == list(range(60))
    with pytest.raises(SamplesError, match="body 6 is not one of the chain's 6"):
        regressors.body_columns(chain, 6)


def test_arrays_of_another_shape_are_refused():
    chain = Chain.from_model(named_model("sample"))
    with pytest.raises(SamplesError, match=r"shape \(N, 6\), the same N, got \(3, 5\)"):
        regressors.momentum_regressors(chain, np.zeros((3, 5)), np.zeros((3, 5)))
    with pytest.raises(SamplesError, match=r"the same N, got \(4, 6\)"):
        regressors.momentum_regressors(chain, np.zeros((3, 6)), np.zeros((4, 6)))
