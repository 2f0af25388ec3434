# SPDX-License-Identifier: Apache-2.0
"""One body's regressor and its derivatives, against the standard regressor and central differences."""

import numpy as np
import pinocchio as pin
import pytest

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.models.body_regressor import body_regressor
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot


def branching_chain():
    """Sliding and turning joints; the last body hangs on joints 0, 1 and 4, and joints 2 and 3 do not move it."""
    pin.seed(7)
    model = pin.Model()
    joints = [
        (0, pin.JointModelRevoluteUnaligned(0.6, 0.8, 0.0)),
        (1, pin.JointModelPY()),
        (2, pin.JointModelRX()),
        (3, pin.JointModelPZ()),
        (2, pin.JointModelRevoluteUnaligned(0.0, -0.8, 0.6)),
    ]
    for i, (parent, joint) in enumerate(joints):
        model.addJoint(parent, joint, pin.SE3.Random(), f"j{i}")
    model.gravity.linear = np.array([1.0, -2.0, -9.0])
    return Chain.from_model(model)


CASES = {
    "gen3": (Chain.from_robot(load_robot("kinova_gen3")), 6),
    "gen3 elbow": (Chain.from_robot(load_robot("kinova_gen3")), 3),
    "branching": (branching_chain(), 4),
}


@pytest.fixture(params=CASES)
def case(request):
    return CASES[request.param]


def motion(n, samples=5, seed=0):
    return np.random.default_rng(seed).normal(size=(3, samples, n))


def test_rows_are_those_of_the_standard_regressor(case):
    chain, body = case
    states = motion(chain.n)
    expected = standard_regressor(chain, *states)[:, :, 10 * body : 10 * body + 10]
    regressor = body_regressor(chain, body, *states)
    unmoved = np.setdiff1d(np.arange(chain.n), regressor.joints)
    assert not expected[:, unmoved].any()
    np.testing.assert_allclose(regressor.rows, np.moveaxis(expected[:, regressor.joints], 0, -1), atol=1e-13)


def test_pullback_is_the_derivative(case):
    chain, body = case
    states = motion(chain.n)
    regressor = body_regressor(chain, body, *states)
    weight = np.random.default_rng(1).normal(size=regressor.rows.shape)
    h = 1e-6
    for which, slope in enumerate(regressor.pullback(weight)):
        assert slope.shape == states[0].shape
        for j in range(chain.n):
            shift = np.zeros_like(states)
            shift[which, :, j] = h
            change = body_regressor(chain, body, *(states + shift)).rows
            change -= body_regressor(chain, body, *(states - shift)).rows
            # Roundings of 1e-15 / h and h^2 times a third derivative, against values of about ten.
            np.testing.assert_allclose(slope[:, j], (weight * change).sum(axis=(0, 1)) / (2 * h), atol=1e-7)


@pytest.mark.parametrize("body", [-1, 7])
def test_an_unknown_body_is_refused(body):
    with pytest.raises(SamplesError, match=f"body {body} is not one of the chain's 7"):
        body_regressor(CASES["gen3"][0], body, *motion(7))


@pytest.mark.parametrize("shapes", [((3, 6),) * 3, ((3, 7), (2, 7), (3, 7)), ((7,),) * 3])
def test_arrays_of_other_shapes_are_refused(shapes):
    with pytest.raises(SamplesError, match=r"joint arrays must have shape \(N, 7\)"):
        body_regressor(CASES["gen3"][0], 6, *(np.zeros(shape) for shape in shapes))
