# SPDX-License-Identifier: Apache-2.0
"""Passivity-based dynamics against pinocchio's mass matrix, Coriolis matrix and gravity."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.passivity import body_wrench, passive_inverse_dynamics, passive_regressor
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot


def branching_model():
    """A tree with sliding and turning joints about aligned and skew axes, two of them on one parent."""
    pin.seed(3)
    model = pin.Model()
    joints = [
        (0, pin.JointModelRZ()),
        (1, pin.JointModelPrismaticUnaligned(0.6, 0.0, 0.8)),
        (2, pin.JointModelRevoluteUnaligned(0.0, -0.8, 0.6)),
        (1, pin.JointModelRX()),
        (4, pin.JointModelPY()),
    ]
    for i, (parent, joint) in enumerate(joints):
        model.addJoint(parent, joint, pin.SE3.Random(), f"j{i}")
        model.appendBodyToJoint(i + 1, pin.Inertia.Random(), pin.SE3.Identity())
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    return model


@pytest.fixture(params=["kinova_gen3", "ur10", "branching"])
def model(request):
    return branching_model() if request.param == "branching" else load_robot(request.param).model


def parameters(model):
    return np.concatenate([body.toDynamicParameters() for body in list(model.inertias)[1:]])


def states(n, samples=20, seed=0):
    """q, qd, qd_a, qdd_a."""
    return np.random.default_rng(seed).normal(size=(4, samples, n)) * 2.0


def mass_matrix(model, q):
    upper = np.triu(pin.crba(model, model.createData(), q))
    return upper + np.triu(upper, 1).T


def coriolis_matrix(chain, theta, q, qd):
    """(n, n) C(q, qd) as passive_inverse_dynamics has it, one column at a time, for one state (n,)."""
    units = np.eye(chain.n)
    q, qd = (np.tile(x, (chain.n, 1)) for x in (q, qd))
    still = passive_inverse_dynamics(chain, theta, q, qd, 0.0 * units, 0.0 * units)
    return (passive_inverse_dynamics(chain, theta, q, qd, units, 0.0 * units) - still).T


def test_regressor_and_recursion_are_pinocchios_matrices(model):
    """1e-10 of the largest torque: a few hundred roundings leave five orders of room."""
    chain, theta, data = Chain.from_model(model), parameters(model), model.createData()
    q, qd, qd_a, qdd_a = states(chain.n)
    expected = np.array(
        [
            mass_matrix(model, q[s]) @ qdd_a[s]
            + pin.computeCoriolisMatrix(model, data, q[s], qd[s]) @ qd_a[s]
            + pin.computeGeneralizedGravity(model, data, q[s])
            for s in range(len(q))
        ]
    )
    atol = 1e-10 * np.abs(expected).max()
    np.testing.assert_allclose(passive_regressor(chain, q, qd, qd_a, qdd_a) @ theta, expected, rtol=0, atol=atol)
    np.testing.assert_allclose(passive_inverse_dynamics(chain, theta, q, qd, qd_a, qdd_a), expected, rtol=0, atol=atol)


def test_one_velocity_for_both_gives_the_standard_regressor(model):
    chain = Chain.from_model(model)
    q, qd, _, qdd = states(chain.n)
    expected = standard_regressor(chain, q, qd, qdd)
    got = passive_regressor(chain, q, qd, qd, qdd)
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


def test_mass_rate_less_twice_coriolis_is_skew_symmetric(model):
    chain, theta = Chain.from_model(model), parameters(model)
    q, qd = states(chain.n, samples=4)[:2]
    h = 1e-6
    for position, velocity in zip(q, qd, strict=True):
        rate = (mass_matrix(model, position + h * velocity) - mass_matrix(model, position - h * velocity)) / (2 * h)
        difference = rate - 2.0 * coriolis_matrix(chain, theta, position, velocity)
        # Central differences: roundings of 1e-16 / h times the mass matrix, and h^2 times a third derivative.
        scale = np.abs(rate).max() + np.abs(mass_matrix(model, position)).max()
        np.testing.assert_allclose(difference + difference.T, 0.0, atol=1e-7 * scale)
        assert np.abs(difference).max() > 1e-3 * scale  # it is not nought altogether


def test_coriolis_is_that_of_the_christoffel_symbols(model):
    """C(q, x) y = C(q, y) x tells it from other matrices with a skew Mdot - 2 C."""
    chain, theta = Chain.from_model(model), parameters(model)
    q, x, y, _ = states(chain.n, samples=4)
    none = np.zeros_like(q)
    one, other = (passive_inverse_dynamics(chain, theta, q, *pair, none) for pair in ((x, y), (y, x)))
    np.testing.assert_allclose(one, other, rtol=0, atol=1e-12 * np.abs(one).max())


def test_parameters_may_differ_from_sample_to_sample():
    model = load_robot("kinova_gen3").model
    chain, (q, qd, qd_a, qdd_a) = Chain.from_model(model), states(7, samples=3)
    theta = parameters(model) * np.array([[1.0], [0.5], [2.0]])
    together = passive_inverse_dynamics(chain, theta, q, qd, qd_a, qdd_a)
    for s in range(3):
        alone = passive_inverse_dynamics(chain, theta[s], *(x[s : s + 1] for x in (q, qd, qd_a, qdd_a)))
        np.testing.assert_allclose(together[s], alone[0], rtol=1e-12)


def test_a_body_wrench_is_the_stated_factorisation():
    """The two lines of the module's text against I a + B(v) v_a with pinocchio's spatial algebra."""
    rng = np.random.default_rng(5)
    pin.seed(5)
    inertia = pin.Inertia.Random()
    v, v_a, a = (pin.Motion(rng.normal(size=6)) for _ in range(3))
    twice = v.cross(inertia * v_a) + v_a.cross(inertia * v) - inertia * v.cross(v_a)
    expected = inertia * a + 0.5 * twice
    s = a.linear + np.cross(v_a.angular, v.linear)
    args = (x[None] for x in (v.angular, v_a.angular, a.angular, s))
    force, moment = body_wrench(inertia.toDynamicParameters(), *args)
    np.testing.assert_allclose(force[0], expected.linear, atol=1e-13)
    np.testing.assert_allclose(moment[0], expected.angular, atol=1e-13)


def test_long_arrays_are_worked_off_in_blocks(monkeypatch):
    chain = Chain.from_model(load_robot("kinova_gen3").model)
    args = states(7, samples=7)
    whole = passive_regressor(chain, *args)
    monkeypatch.setattr("sysid_nodes.kernel.reference.BLOCK", 3)
    np.testing.assert_array_equal(passive_regressor(chain, *args), whole)


@pytest.mark.parametrize("which", range(4))
def test_arrays_of_other_shapes_are_refused(which):
    chain = Chain.from_model(load_robot("kinova_gen3").model)
    args = [np.zeros((3, 7)) for _ in range(4)]
    args[which] = np.zeros((2, 7)) if which else np.zeros((3, 6))
    message = r"joint arrays must have shape \(N, 7\), the same N, got"
    with pytest.raises(SamplesError, match=message):
        passive_regressor(chain, *args)
    with pytest.raises(SamplesError, match=message):
        passive_inverse_dynamics(chain, np.zeros(70), *args)


@pytest.mark.parametrize("shape", [(7, 10), (69,), (2, 70)])
def test_parameters_of_another_shape_are_refused(shape):
    chain = Chain.from_model(load_robot("kinova_gen3").model)
    with pytest.raises(SamplesError, match=r"theta must have shape \(70,\) or \(3, 70\), got"):
        passive_inverse_dynamics(chain, np.zeros(shape), *[np.zeros((3, 7))] * 4)
