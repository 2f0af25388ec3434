# SPDX-License-Identifier: Apache-2.0
"""Affine kinematics and dynamics against pinocchio and the plain recursion, errors anywhere in their ellipsoids."""

import numpy as np
import pinocchio
import pytest
from shared.certified_arm import in_ball, robot

from sysid_nodes.intervals import Affine
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.passivity import passive_regressor
from sysid_nodes.systems.certified.certificate.bodies import (
    inertia_coefficients,
    levers,
    move,
    place,
    torque_coefficients,
)
from sysid_nodes.systems.certified.certificate.motion import deviation

ROUNDING = 1e-12


def branched_model():
    """Turning, sliding and skewed joints on two branches, gravity askew."""
    model = pinocchio.Model()
    rng = np.random.default_rng(5)
    kinds = (
        pinocchio.JointModelRZ(),
        pinocchio.JointModelPY(),
        pinocchio.JointModelRevoluteUnaligned(np.array([0.6, 0.0, 0.8])),
        pinocchio.JointModelRX(),
        pinocchio.JointModelPrismaticUnaligned(np.array([0.0, 0.8, 0.6])),
    )
    for i, (parent, kind) in enumerate(zip((0, 1, 2, 1, 4), kinds, strict=True)):
        joint = model.addJoint(parent, kind, pinocchio.SE3.Random(), f"j{i}")
        model.appendBodyToJoint(joint, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    model.gravity.linear = rng.normal(size=3) * 5.0
    return model


MODELS = {"kinova": lambda: robot().model, "branched": branched_model}


def scene(name, seed=0):
    """Forms of the states over symbols (time, e, r) and samples of them, without a trajectory behind them."""
    model = MODELS[name]()
    n, rng, rows, count = model.nv, np.random.default_rng(seed), 4, 60
    centre = rng.uniform(-1.0, 1.0, (4, rows, n)) * np.array([2.0, 1.0, 1.0, 3.0])[:, None, None]
    terms = np.zeros((4, 2 * n + 1, rows, n))
    terms[:, 0] = 0.05 * rng.normal(size=(4, rows, n))
    for j in range(n):
        terms[0, 1 + j, :, j] = -0.03
        terms[1:3, 1 + j, :, j] = 0.12
        terms[1, 1 + n + j, :, j] = -0.1
    forms = [Affine(centre[i], terms[i], np.full((rows, n), 1e-3)) for i in range(4)]
    symbols = np.concatenate(
        [rng.uniform(-1.0, 1.0, (count, 1)), in_ball(rng, count, n), in_ball(rng, count, n)], axis=1
    )
    symbols[0, 0] = 1.0
    rest = rng.choice([-1.0, 0.0, 1.0], (4, rows, count, n)) * 1e-3
    values = centre[:, :, None] + np.einsum("kstn,cs->ktcn", terms, symbols) + rest
    return model, Chain.from_model(model), forms, values


@pytest.mark.parametrize("name", MODELS)
def test_frames_hold_pinocchios(name):
    model, chain, (q, *_), (values, *_) = scene(name)
    placed = place(chain.tree, q)
    data = model.createData()
    for t, row in enumerate(values):
        for sample in row:
            pinocchio.forwardKinematics(model, data, sample)
            for i in range(chain.n):
                frame = data.oMi[i + 1]
                for form, value in ((placed.rotation[i], frame.rotation), (placed.origin[i], frame.translation)):
                    assert (np.abs(value - form.centre[t]) <= deviation(form)[t] + ROUNDING).all()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_torque_coefficients_hold_the_regressor(name, seed):
    _, chain, forms, values = scene(name, seed)
    bodies = move(chain.tree, place(chain.tree, forms[0]), *forms[1:], chain.tree.gravity)
    pairs = levers(bodies)
    assert (chain.supports()[pairs.joint, pairs.body]).all() and len(pairs.body) == chain.supports().sum()
    form, used = torque_coefficients(bodies, pairs), 0.0
    for t in range(values.shape[1]):
        rows = passive_regressor(chain, *values[:, t]).reshape(-1, chain.n, chain.n, 10)
        off = np.abs(rows[:, pairs.joint, pairs.body] - form.centre[t])
        bound = deviation(form)[t]
        assert (off <= bound + ROUNDING).all()
        used = max(used, float((off / np.maximum(bound, 1e-9)).max()))
    assert used > 0.5  # bounds that nothing comes near would prove little


@pytest.mark.parametrize("name", MODELS)
def test_inertia_coefficients_hold_the_mass_matrix(name):
    model, chain, forms, values = scene(name)
    pairs = levers(move(chain.tree, place(chain.tree, forms[0]), *forms[1:], chain.tree.gravity))
    parts = (pairs.linear, pairs.angular)
    found = inertia_coefficients(pairs, [x.centre for x in parts], [deviation(x) for x in parts])
    used = 0.0
    for body in range(chain.n):  # each alone, so that none hides behind another
        alone = model.copy()
        for i in range(1, chain.n + 1):
            alone.inertias[i] = pinocchio.Inertia.Random() if i == body + 1 else pinocchio.Inertia.Zero()
        alone.armature = np.zeros(chain.n)
        theta, data = alone.inertias[body + 1].toDynamicParameters(), alone.createData()
        of = found.body == body
        first, second = found.first[of], found.second[of]
        for t in range(values.shape[1]):
            middle = found.centre[t, of] @ theta
            spread = found.radius[t, of] @ np.abs(theta) + ROUNDING
            for sample in values[0, t]:
                mass = pinocchio.crba(alone, data, sample)
                off = np.abs(mass[first, second] - middle)
                assert (off <= spread).all()
                used = max(used, float((off / spread).max()))
    assert used > 0.3
