# SPDX-License-Identifier: Apache-2.0
"""Affine kinematics and dynamics against pinocchio and the plain recursion, errors anywhere in their ellipsoids."""

import numpy as np
import pinocchio
import pytest
from shared.certified_arm import draw_in_ball, robot

from sysid_nodes.intervals import Affine
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.passivity import passive_regressor
from sysid_nodes.systems.certified.certificate.bodies import inertia_coefficients
from sysid_nodes.systems.certified.certificate.motion import deviation
from sysid_nodes.systems.certified.certificate.recursion import Dynamics, Placement, dynamics, place

ROUNDING = 1e-12


def branched_model(*, slides=True):
    """Turning, sliding and skewed joints on two branches, gravity askew."""
    model = pinocchio.Model()
    rng = np.random.default_rng(5)
    kinds = (
        pinocchio.JointModelRZ(),
        pinocchio.JointModelPY() if slides else pinocchio.JointModelRY(),
        pinocchio.JointModelRevoluteUnaligned(np.array([0.6, 0.0, 0.8])),
        pinocchio.JointModelRX(),
        pinocchio.JointModelPrismaticUnaligned(np.array([0.0, 0.8, 0.6])) if slides else pinocchio.JointModelRZ(),
    )
    for i, (parent, kind) in enumerate(zip((0, 1, 2, 1, 4), kinds, strict=True)):
        joint = model.addJoint(parent, kind, pinocchio.SE3.Random(), f"j{i}")
        model.appendBodyToJoint(joint, pinocchio.Inertia.Random(), pinocchio.SE3.Identity())
    model.gravity.linear = rng.normal(size=3) * 5.0
    return model


MODELS = {
    "kinova": lambda: robot().model,
    "branched": branched_model,
    "branched, turning": lambda: branched_model(slides=False),
}


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
        [rng.uniform(-1.0, 1.0, (count, 1)), draw_in_ball(rng, count, n), draw_in_ball(rng, count, n)], axis=1
    )
    symbols[0, 0] = 1.0
    rest = rng.choice([-1.0, 0.0, 1.0], (4, rows, count, n)) * 1e-3
    values = centre[:, :, None] + np.einsum("kstn,cs->ktcn", terms, symbols) + rest
    return model, Chain.from_model(model), forms, values


@pytest.mark.usefixtures("kernel")
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


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("seed", [0, 1])
def test_torque_coefficients_hold_the_regressor(name, seed):
    _, chain, forms, values = scene(name, seed)
    bodies = dynamics(chain.tree, *forms)
    pairs = bodies.pairs
    assert (chain.supports()[pairs.joint, pairs.body]).all() and len(pairs.body) == chain.supports().sum()
    form, used = bodies.torque, 0.0
    for t in range(values.shape[1]):
        rows = passive_regressor(chain, *values[:, t]).reshape(-1, chain.n, chain.n, 10)
        off = np.abs(rows[:, pairs.joint, pairs.body] - form.centre[t])
        bound = deviation(form)[t]
        assert (off <= bound + ROUNDING).all()
        used = max(used, float((off / np.maximum(bound, 1e-9)).max()))
    assert used > 0.5  # bounds that nothing comes near would prove little


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("name", MODELS)
def test_inertia_coefficients_hold_the_mass_matrix(name):
    model, chain, forms, values = scene(name)
    pairs = dynamics(chain.tree, *forms).pairs
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


def of(found: Placement | Dynamics) -> list[Affine]:
    if isinstance(found, Placement):
        return [*found.rotation, *found.origin]
    return [found.w, found.u, found.alpha, found.s, found.pairs.linear, found.pairs.angular, found.torque]


@pytest.mark.parametrize("name", ["kinova", "branched, turning"])
def test_both_implementations_have_the_same_forms(name, monkeypatch):
    pytest.importorskip("sysid_nodes.kernel._affine_dynamics", reason="the C++ kernel is not built")
    _, chain, forms, _ = scene(name)
    found = []
    for kernel in ("compiled", "reference"):
        monkeypatch.setenv("SYSID_KERNEL", kernel)
        here = dynamics(chain.tree, *forms)
        found.append([*of(place(chain.tree, forms[0])), *of(here)])
        assert [list(x) for x in (here.pairs.body, here.pairs.joint)] == [
            [i for i in range(chain.n) for k in range(chain.n) if chain.supports()[k, i]],
            [k for i in range(chain.n) for k in range(chain.n) if chain.supports()[k, i]],
        ]
    for one, two in zip(*found, strict=True):
        np.testing.assert_allclose(one.centre, two.centre, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.terms, two.terms, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(one.remainder, two.remainder, rtol=1e-6, atol=1e-13)


@pytest.mark.usefixtures("kernel")
def test_a_state_too_large_for_a_number_has_any_torque():
    _, chain, forms, _ = scene("kinova")
    huge = Affine(np.full((4, 7), 1e200), np.zeros((15, 4, 7)))
    assert not np.isfinite(deviation(dynamics(chain.tree, forms[0], huge, huge, forms[3]).torque)[:, -1]).all()


def test_both_implementations_allow_for_as_much_rounding(monkeypatch):
    """States without errors, sines without theirs: every remainder is an allowance for rounding."""
    pytest.importorskip("sysid_nodes.kernel._affine_dynamics", reason="the C++ kernel is not built")
    chain, rng = Chain.from_robot(robot()), np.random.default_rng(1)
    q, *rates = (Affine.constant(x, symbols=15) for x in rng.uniform(-2.0, 2.0, (4, 6, 7)))
    exact = [Affine.constant(x, symbols=15) for x in (np.sin(q.centre), np.cos(q.centre))]
    monkeypatch.setattr(Affine, "sin_cos", lambda _: tuple(exact))
    found = []
    for kernel in ("compiled", "reference"):
        monkeypatch.setenv("SYSID_KERNEL", kernel)
        found.append([*of(place(chain.tree, q)), *of(dynamics(chain.tree, q, *rates))])
    for one, two in zip(*found, strict=True):
        known = two.remainder > 1e-18
        np.testing.assert_allclose(one.remainder[known], two.remainder[known], rtol=0.25)


@pytest.mark.usefixtures("kernel")
def test_frames_of_exact_positions_are_off_by_less_than_their_remainder():
    """Against the same in extended precision: all that is left over is rounding."""
    chain, q = Chain.from_robot(robot()), np.random.default_rng(0).uniform(-3.0, 3.0, (20, 7))
    placed, exact = place(chain.tree, Affine.constant(q, symbols=15)), q.astype(np.longdouble)
    rotation, origin = np.eye(3, dtype=np.longdouble), np.zeros(3, dtype=np.longdouble)
    for i in range(7):  # one after the other
        origin = origin + rotation @ chain.tree.translation[i].astype(np.longdouble)
        skew = np.cross(np.eye(3), chain.tree.axis[i]).astype(np.longdouble)
        sine, cosine = np.sin(exact[:, i, None, None]), np.cos(exact[:, i, None, None])
        turn = np.eye(3) + sine * skew + (1.0 - cosine) * (skew @ skew)
        rotation = rotation @ (chain.tree.rotation[i].astype(np.longdouble) @ turn)
        for form, value in ((placed.rotation[i], rotation), (placed.origin[i], origin)):
            assert (np.abs(value - form.centre) <= form.remainder).all()
            assert form.remainder.max() < 1e-11
