# SPDX-License-Identifier: Apache-2.0
"""Costs of the planner: values against plain formulas, gradients against central differences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from benchmarks.momentum_condition import momentum_condition
from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.certified.search.costs import ReachCost
from sysid_nodes.systems.certified.search.excitation import (
    OBJECTIVES,
    ExcitationCost,
    executed_states,
)

CHAIN = Chain.from_robot(load_robot("kinova_gen3"))
BODY, DURATION, REPLAN = 6, 3.0, 1.5
HOME = np.array([-1.16, 0.35, -3.68, -1.75, 0.2, -1.09, -0.2])


def rest():
    return State(HOME, np.zeros(7), np.zeros(7))


def moving(seed=0):
    qd, qdd = np.random.default_rng(seed).normal(size=(2, 7)) * 0.2
    return State(HOME, qd, qdd)


def some_k(seed=0, size=0.4):
    return np.random.default_rng(100 + seed).uniform(-size, size, 7)


def some_information(seed=0):
    root = np.random.default_rng(200 + seed).normal(size=(10, 10))
    return 0.1 * root @ root.T


def differences(cost, k, h):
    return np.array([(cost(k + h * unit)[0] - cost(k - h * unit)[0]) / (2.0 * h) for unit in np.eye(k.size)])


def check_gradient(cost, k, h=1e-5):
    """1e-6 of the largest entry: central differences are good to h^2 and to 1e-14 / h, both a thousand times less."""
    slope, expected = cost(k)[1], differences(cost, k, h)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-6 * np.abs(expected).max())


def stacked(state, k, samples, horizon):
    t = horizon / samples * (np.arange(samples) + 0.5)
    return standard_regressor(CHAIN, *Bezier(*state, k, DURATION)(t))[:, :, 60:70].reshape(-1, 10)


def test_condition_is_that_of_the_stacked_regressor():
    cost = ExcitationCost(CHAIN, BODY, moving(), DURATION)
    rows = stacked(moving(), some_k(), 128, DURATION)
    assert cost(some_k())[0] == pytest.approx(np.log(np.linalg.cond(rows)), rel=1e-9)


def test_past_and_horizon_stack_too():
    """A plan judged over its first half on top of an earlier motion is the two motions' samples in one matrix."""
    first = Bezier(*rest(), some_k(1), DURATION)
    state = first.split(REPLAN)
    before = ExcitationCost(CHAIN, BODY, rest(), DURATION, samples=64)
    past = before.information(first, REPLAN)
    cost = ExcitationCost(CHAIN, BODY, state, DURATION, samples=32, horizon=REPLAN, past=past)
    both = np.concatenate([stacked(rest(), first.k, 32, REPLAN), stacked(state, some_k(2), 32, REPLAN)])
    assert cost(some_k(2))[0] == pytest.approx(np.log(np.linalg.cond(both)), rel=1e-8)


@pytest.mark.parametrize("objective", ["log_det", "trace"])
def test_other_objectives_are_of_the_posterior_covariance(objective):
    scales, noise = np.linspace(0.1, 2.0, 10), np.linspace(0.3, 1.0, 7)
    cost = ExcitationCost(CHAIN, BODY, moving(), DURATION, samples=40, objective=objective, scales=scales, noise=noise)
    rows = stacked(moving(), some_k(), 40, DURATION) / np.tile(noise, 40)[:, None] * np.sqrt(DURATION / 40)
    covariance = np.linalg.inv(np.diag(scales**-2) + rows.T @ rows) / np.outer(scales, scales)
    expected = 0.5 * (np.linalg.slogdet(covariance)[1] if objective == "log_det" else np.log(np.trace(covariance) / 10))
    assert cost(some_k())[0] == pytest.approx(expected, rel=1e-8)


@settings(max_examples=10)
@given(seed=st.integers(0, 10**6), objective=st.sampled_from(OBJECTIVES), late=st.booleans(), scaled=st.booleans())
def test_gradient_is_that_of_the_value(seed, objective, late, scaled):
    rng = np.random.default_rng(seed)
    cost = ExcitationCost(
        CHAIN, BODY, moving(seed), DURATION, samples=16,
        horizon=REPLAN if late else 0.0, past=some_information(seed) if late else (), objective=objective,
        scales=rng.uniform(0.1, 2.0, 10) if scaled else (), noise=rng.uniform(0.3, 1.0, 7) if scaled else (),
    )  # fmt: skip
    check_gradient(cost, some_k(seed))


def test_gradient_at_full_size():
    check_gradient(ExcitationCost(CHAIN, BODY, rest(), DURATION), some_k())


def test_a_body_moved_by_some_joints_only():
    """Joints beyond the body have no say."""
    cost = ExcitationCost(CHAIN, 3, moving(), DURATION, samples=16, objective="log_det")
    assert not cost(some_k())[1][4:].any()
    check_gradient(cost, some_k())


def test_information_adds_up():
    cost, motion = ExcitationCost(CHAIN, BODY, rest(), DURATION), Bezier(*rest(), some_k(), DURATION)
    rows = stacked(rest(), some_k(), 128, DURATION)
    np.testing.assert_allclose(cost.information(motion), rows.T @ rows * DURATION / 128, rtol=1e-10, atol=1e-12)
    short = cost.information(motion, 0.01)  # shorter than a sample: one in its middle
    middle = standard_regressor(CHAIN, *(x[None] for x in motion(0.005)))[0, :, 60:70]
    np.testing.assert_allclose(short, middle.T @ middle * 0.01, atol=1e-15)


def test_no_motion_is_finite_and_bad():
    cost = ExcitationCost(CHAIN, BODY, rest(), DURATION)
    value, slope = cost(np.zeros(7))
    assert value == pytest.approx(0.5 * np.log(1e14)) and np.isfinite(slope).all()
    assert value > cost(some_k())[0] + 5.0


def test_no_information_at_all_is_finite():
    """A body that weighs nothing on any joint: without gravity and motion its regressor is nought."""
    floating = Chain(CHAIN.joint_names, CHAIN.tree._replace(gravity=np.zeros(3)))
    for objective in OBJECTIVES:
        value, slope = ExcitationCost(floating, BODY, rest(), DURATION, objective=objective)(np.zeros(7))
        assert np.isfinite(value) and not slope.any()


def test_optimised_motion_conditions_the_momentum_regressor_better():
    """What is optimised (W_e, eq. 30) pays in what the identifier uses (Y, eq. 23): log det from one random start."""
    cost = ExcitationCost(CHAIN, BODY, rest(), DURATION, samples=32, objective="log_det")
    start = some_k()
    best = minimize(cost, start, jac=True, method="L-BFGS-B", bounds=[(-0.4, 0.4)] * 7, options={"maxiter": 20})
    assert best.fun < cost(start)[0] - 1.0

    def condition(k):
        return momentum_condition(CHAIN, BODY, [Bezier(*rest(), k, DURATION)], REPLAN, window=0.1, rate=500.0)

    assert condition(best.x) < 0.5 * condition(start)


def chained():
    first = Bezier(*rest(), some_k(1), DURATION)
    return [first, Bezier(*first.split(REPLAN), some_k(2), DURATION)]


def test_momentum_and_standard_regressor_have_nearly_the_same_condition():
    """Rows of Y are integrals of those of W_e over windows: short ones against 3 s change the condition by little."""
    plans = chained()
    cost = ExcitationCost(CHAIN, BODY, rest(), DURATION)
    information = cost.information(plans[0], REPLAN) + cost.information(plans[1])
    expected = np.sqrt(np.linalg.cond(information))
    got = momentum_condition(CHAIN, BODY, plans, REPLAN, window=0.05, rate=1000.0)
    assert got == pytest.approx(expected, rel=0.05)


def test_executed_plans_follow_one_another():
    plans, rate = chained(), 200.0
    states = executed_states(plans, REPLAN, rate)
    assert len(states.q) == 901  # 4.5 s and both ends
    for done, plan, t in ((299, plans[0], 299 / rate), (300, plans[1], 0.0), (900, plans[1], 3.0)):
        for got, want in zip(states, plan(t), strict=True):
            np.testing.assert_allclose(got[done], want[:], atol=1e-12)
    # The chain has no jump: neighbouring samples differ by what the speed allows.
    assert np.abs(np.diff(states.q, axis=0)).max() <= 1.01 * np.abs(states.qd).max() / rate


@given(seed=st.integers(0, 10**6))
def test_reach_is_least_at_the_goal_and_its_gradient_holds(seed):
    rng = np.random.default_rng(seed)
    goal, weights = HOME + rng.normal(size=7), rng.uniform(0.1, 2.0, 7)
    alone = ReachCost(moving(seed), DURATION, goal, weights)
    value, slope = alone(goal - HOME)
    assert value == pytest.approx(0.0, abs=1e-25) and np.abs(slope).max() < 1e-12
    cost = ReachCost(moving(seed), DURATION, goal, weights, replan=REPLAN, early=0.7)
    k = rng.normal(size=7)
    motion = Bezier(*moving(seed), k, DURATION)
    away = weights @ (motion.goal - goal) ** 2 + 0.7 * (weights @ (motion(REPLAN).q - goal) ** 2)
    assert cost(k)[0] == pytest.approx(away, rel=1e-12)
    check_gradient(cost, k, h=1e-3)  # quadratic: exact for any step


def test_reach_weighs_all_joints_alike_by_default():
    assert ReachCost(rest(), DURATION, HOME + 0.5)(np.zeros(7))[0] == pytest.approx(7 * 0.25)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"body": 7}, SamplesError, "body 7 is not one of the chain's 7"),
        ({"start": State(*[np.zeros(6)] * 3)}, SamplesError, "k of a trajectory must be one number a joint"),
        ({"duration": -1.0}, ConfigError, "duration must be positive"),
        ({"objective": "volume"}, ConfigError, "unknown objective 'volume'; known are condition, log_det, trace"),
        ({"samples": 0}, ConfigError, "0 samples over 0 s do not describe"),
        ({"horizon": 3.5}, ConfigError, r"over 3.5 s do not describe a plan of 3 s"),
        ({"past": np.zeros((9, 9))}, SamplesError, r"past must be finite numbers of shape \(10, 10\)"),
        ({"past": np.full((10, 10), np.nan)}, SamplesError, "past must be finite"),
        ({"scales": np.zeros(10)}, SamplesError, "scales must be finite numbers of shape"),
        ({"noise": np.ones(6)}, SamplesError, r"noise must be finite numbers of shape \(7,\)"),
    ],
)
def test_a_bad_excitation_cost_is_refused(change, error, message):
    fields = {"chain": CHAIN, "body": BODY, "start": rest(), "duration": DURATION} | change
    with pytest.raises(error, match=message):
        ExcitationCost(**fields)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"goal": np.zeros(6)}, SamplesError, "goal must be 7 finite numbers"),
        ({"goal": np.full(7, np.inf)}, SamplesError, "goal must be 7 finite numbers"),
        ({"weights": np.ones(3)}, SamplesError, "weights must be 7 finite numbers"),
        ({"weights": -np.ones(7)}, ConfigError, "the weights of a goal must not be negative"),
        ({"early": -0.1}, ConfigError, "the weights of a goal must not be negative"),
        ({"replan": 3.5}, ConfigError, r"t_p = 3.5 s is not within the plan of 3 s"),
        ({"duration": 0.0}, ConfigError, "duration must be positive"),
    ],
)
def test_a_bad_goal_is_refused(change, error, message):
    fields = {"start": rest(), "duration": DURATION, "goal": HOME} | change
    with pytest.raises(error, match=message):
        ReachCost(**fields)


@pytest.mark.parametrize("cost", [ExcitationCost(CHAIN, BODY, rest(), DURATION), ReachCost(rest(), DURATION, HOME)])
def test_a_bad_k_is_refused(cost):
    with pytest.raises(SamplesError, match="k of a trajectory"):
        cost(np.zeros(6))


def test_bad_execution_is_refused():
    plan = Bezier(*rest(), some_k(), DURATION)
    with pytest.raises(ConfigError, match="at least one, and a positive rate"):
        executed_states([], REPLAN, 100.0)
    with pytest.raises(ConfigError, match="t_p = 4 s is not within every plan"):
        executed_states([plan, plan], 4.0, 100.0)
    with pytest.raises(ConfigError, match="a window of 400 samples does not fit into 301"):
        momentum_condition(CHAIN, BODY, [plan], REPLAN, window=4.0, rate=100.0)
    with pytest.raises(ConfigError, match="4 s are not within a motion of 3 s"):
        ExcitationCost(CHAIN, BODY, rest(), DURATION).information(plan, 4.0)
