# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.gen3_scene import START, TABLE_I, gen3, obstacles, shapes, tight

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier, State
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.models.model_box import ModelBox, model_box
from sysid_nodes.results.certificate import Certificate, Envelope, Margins, Verdict
from sysid_nodes.systems.certified.search.config import ProposalConfig
from sysid_nodes.systems.certified.search.costs import ReachCost
from sysid_nodes.systems.certified.search.effort import doubt_norm, doubt_rows, effort, torque_rows
from sysid_nodes.systems.certified.search.informative import OBJECTIVES, InformativeCost, Objective, RowModel, Subject
from sysid_nodes.systems.certified.search.k_range import k_range
from sysid_nodes.systems.certified.search.learned_budget import Seen, first_budget, learn
from sysid_nodes.systems.certified.search.limit_rows import Problem
from sysid_nodes.systems.certified.search.nearness import Nearness
from sysid_nodes.systems.certified.search.proposal import Proposer

REST = State(START, np.zeros(7), np.zeros(7))
MOVING = State(START, np.array([0.1, -0.2, 0.1, 0.2, -0.1, 0.3, 0.2]), np.array([0.3, 0.1, -0.2, 0.2, 0.4, -0.3, 0.1]))
T = np.linspace(0.2, 3.0, 8)


@pytest.fixture(scope="module")
def nearness() -> Nearness:
    return Nearness(gen3(), shapes())


@pytest.fixture(scope="module")
def chain() -> Chain:
    return Chain.from_robot(gen3())


@pytest.fixture(scope="module")
def prior_box() -> ModelBox:
    return model_box(gen3(), KnownRobotConfig(), TABLE_I, 6)


def test_distances_change_as_their_gradients_say(nearness: Nearness) -> None:
    # A sphere and a capsule: nearest points of boxes with parallel faces jump, those of round bodies do not.
    scene = Scene((Obstacle("ball", "sphere", (0.3, 0.3, 0.5), (0.1,)),))
    rng = np.random.default_rng(0)
    checked = 0
    for _ in range(5):
        q = START + rng.uniform(-0.4, 0.4, 7)
        here = nearness.near(q[None], scene, 0.4)
        for joint in range(7):
            step = np.zeros(7)
            step[joint] = 1e-3
            after, before = (nearness.near((q + s * step)[None], scene, 0.5) for s in (1.0, -1.0))
            for i in np.flatnonzero(here.outside & (here.distance > 0.01)):
                values = [
                    part.distance[part.outside & (part.first == here.first[i]) & (part.second == here.second[i])][0]
                    for part in (after, before)
                ]
                # Central differences over 2 mrad; distances are found to 1e-6 of themselves.
                assert (values[0] - values[1]) / 2e-3 == pytest.approx(here.gradient[i, joint], abs=3e-3)
                checked += 1
    assert checked > 50


def test_least_distance_is_that_of_the_nearest_pair(nearness: Nearness) -> None:
    q = START + np.random.default_rng(1).uniform(-0.3, 0.3, (6, 7))
    near, least = nearness.near(q, obstacles(), 2.0), nearness.least(q, obstacles(), 2.0)
    for k in range(6):
        assert least[k] == pytest.approx(near.distance[near.sample == k].min())
    assert "m apart" in nearness.words(q[0], obstacles())


@pytest.mark.parametrize("state", [REST, MOVING])
def test_effort_is_differentiated_by_k(chain: Chain, prior_box: ModelBox, state: State) -> None:
    k, rng = np.linspace(-0.3, 0.4, 7), np.random.default_rng(2)
    here = effort(chain, prior_box, Bezier(*state, k, 3.0), T)
    way = rng.normal(size=7)
    after, before = (effort(chain, prior_box, Bezier(*state, k + s * 1e-5 * way, 3.0), T) for s in (1.0, -1.0))
    for value, slope in (("nominal", here.nominal_slope), ("doubt", here.doubt_slope)):
        change = (getattr(after, value) - getattr(before, value)) / 2e-5
        # Forward differences of step 1e-5 against central ones; magnitudes have kinks, which no sample here hits.
        np.testing.assert_allclose(slope @ way, change, atol=2e-3 * np.abs(change).max())
    norm = [doubt_norm(x, prior_box.armature_lower) for x in (after, before)]
    left, slope = doubt_rows(here, prior_box.armature_lower, 8.0)
    np.testing.assert_allclose(-8.0 * slope @ way, (norm[0] - norm[1]) / 2e-5, atol=0.02)
    np.testing.assert_allclose(8.0 * (1.0 - left), doubt_norm(here, prior_box.armature_lower))


def test_torque_rows_are_negative_where_a_limit_is_missed(chain: Chain, prior_box: ModelBox) -> None:
    found = effort(chain, prior_box, Bezier(*REST, np.full(7, 0.1), 3.0), T)
    needed = found.nominal.max(axis=0) + 2.0 * found.doubt.max(axis=0)
    assert torque_rows(found, 1.01 * needed, 2.0)[0].min() > 0.0
    short = needed.copy()
    short[3] *= 0.99
    left, _ = torque_rows(found, short, 2.0)
    assert set(np.flatnonzero(left < 0.0) % 7) == {3}


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_displacements_in_range_keep_limits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    limits = gen3().limits
    state = State(rng.uniform(-1.5, 1.5, 7), rng.uniform(-0.5, 0.5, 7), rng.uniform(-0.5, 0.5, 7))
    gap = np.full(7, 0.05)
    lower, upper = k_range(state, 3.0, limits, np.full(7, 2.0), gap, gap)
    assert (lower <= upper).all() and (np.abs([lower, upper]) <= 2.0).all()
    for k in (lower, upper, rng.uniform(lower, upper)):
        q, qd, _ = Bezier(*state, k, 3.0)(np.linspace(0.0, 3.0, 200))
        # Limits are looked at in 65 instants; between them a motion exceeds them by far less than the gap of 0.05.
        assert (np.abs(qd) <= limits.velocity - 0.04).all()
        assert (q <= limits.position_upper - 0.04).all() and (q >= limits.position_lower + 0.04).all()


def test_range_without_room_is_a_point() -> None:
    limits = gen3().limits
    state = State(np.zeros(7), np.array([0.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0]), np.zeros(7))
    lower, upper = k_range(state, 3.0, limits, np.full(7, 0.1), np.zeros(7), np.zeros(7))
    assert lower[1] == upper[1] and (lower < upper).sum() == 6


@pytest.mark.parametrize(("objective", "subject"), [*((one, "body") for one in OBJECTIVES), ("widths", "drives")])
@pytest.mark.parametrize("state", [REST, MOVING])
def test_informative_cost_has_its_gradient(
    chain: Chain, prior_box: ModelBox, state: State, objective: Objective, subject: Subject
) -> None:
    model = RowModel(chain, 6, prior_box, TABLE_I.half_width, 0.025, 0.05)
    past = model.information(Bezier(*REST, np.full(7, -0.2), 3.0), 1.5)
    cost = InformativeCost(model, state, 3.0, past, objective, subject=subject)
    k = np.array([0.1, -0.3, 0.2, 0.4, -0.2, 0.3, 0.1])
    value, gradient = cost(k)
    steps = 1e-5 * np.eye(7)
    difference = (cost.values(k + steps) - cost.values(k - steps)) / 2e-5
    # Rows are differentiated by forward differences of 1e-4.
    np.testing.assert_allclose(gradient, difference, atol=2e-3 * np.abs(difference).max())
    assert cost.values(k[None])[0] == pytest.approx(value)
    near = cost.around(k)
    assert near(k)[0] == pytest.approx(value)
    error = [abs(near(k + s * 0.1)[0] - cost(k + s * 0.1)[0]) for s in (0.5, 1.0)]
    assert error[0] < 0.1 * abs(value) and error[0] < error[1] + 1e-3


def test_more_motion_leaves_less_uncertainty(chain: Chain, prior_box: ModelBox) -> None:
    model = RowModel(chain, 6, prior_box, TABLE_I.half_width, 0.025, 0.05)
    none = np.zeros((model.size, model.size))
    gained = model.information(Bezier(*REST, np.full(7, 0.3), 3.0), 1.5)
    assert np.linalg.eigvalsh(gained)[0] > -1e-6
    k = np.full(7, 0.2)
    assert InformativeCost(model, REST, 3.0, gained, "log_det")(k)[0] < InformativeCost(model, REST, 3.0, none)(k)[0]
    assert InformativeCost(model, REST, 3.0, none)(k)[0] < 0.0  # 0 is what is known beforehand


def test_the_drives_want_another_motion_than_the_body(chain: Chain, prior_box: ModelBox) -> None:
    """Joints at rest are the better witnesses of the body, and tell nothing of their own friction."""
    model = RowModel(chain, 6, prior_box, TABLE_I.half_width, 0.025, 0.05)
    none = np.zeros((model.size, model.size))
    still, moving = np.zeros(7), np.full(7, 0.6)
    still[6] = 0.6

    def cost(k: np.ndarray, subject: Subject) -> float:
        return InformativeCost(model, REST, 3.0, none, subject=subject)(k)[0]

    assert cost(moving, "drives") < cost(still, "drives") - 1.0
    assert cost(moving, "drives") - cost(still, "drives") < cost(moving, "body") - cost(still, "body")


def test_readings_after_the_handover_count_less(chain: Chain, prior_box: ModelBox) -> None:
    model = RowModel(chain, 6, prior_box, TABLE_I.half_width, 0.025, 0.05)
    none, k = np.zeros((model.size, model.size)), np.array([0.3, -0.2, 0.4, 0.2, -0.5, 0.3, 0.6])

    def cost(late: float) -> float:
        return float(InformativeCost(model, REST, 3.0, none, "widths", 24, 1.5, late)(k)[0])

    until = model.information(Bezier(*REST, k, 3.0), 1.5, samples=12)  # the same instants
    left = np.diagonal(np.linalg.inv(until + np.eye(model.size)))[:10]
    assert cost(0.0) == pytest.approx(0.5 * np.log(left).sum())
    assert cost(0.0) > cost(0.2) > cost(1.0)
    assert cost(1.0) == pytest.approx(InformativeCost(model, REST, 3.0, none, "widths", 24)(k)[0])


def test_unknown_objective_is_refused(chain: Chain, prior_box: ModelBox) -> None:
    model = RowModel(chain, 6, prior_box, TABLE_I.half_width, 0.025, 0.05)
    with pytest.raises(ConfigError, match="unknown objective 'best'; known are widths, log_det, trace"):
        InformativeCost(model, REST, 3.0, np.zeros((model.size, model.size)), "best")  # type: ignore[arg-type]


def make_problem(box: ModelBox, scene: Scene) -> Problem:
    budget = first_budget(ProposalConfig(), 0.005, 7)
    return Problem(REST, 3.0, box, scene, budget, gen3().limits.torque, np.full(7, 1.5))


def test_search_keeps_budgets_and_lowers_the_cost(nearness: Nearness) -> None:
    box = model_box(gen3(), KnownRobotConfig(), tight(), 6)
    problem = make_problem(box, obstacles())
    proposer = Proposer(gen3(), nearness, ProposalConfig())
    # The straight way to this goal leads through the stack of cubes.
    cost = ReachCost(REST, 3.0, START + np.array([1.2, 0.2, 0.0, 0.2, 0.0, 0.0, 0.0]))
    found = proposer.propose(problem, cost, np.zeros(7), np.random.default_rng(0))
    assert found.cost < 0.9 * cost(np.zeros(7))[0]
    assert found.shortfall < 0.05
    assert proposer.shortfall(problem, found.k) == pytest.approx(found.shortfall)
    assert proposer.shortfall(problem, np.array([1.2, 0.2, 0.0, 0.2, 0.0, 0.0, 0.0])) > 0.5
    again = proposer.propose(problem, cost, np.zeros(7), np.random.default_rng(0))
    np.testing.assert_array_equal(found.k, again.k)


def certificate(verdict: Verdict, *, proven: bool = True, obstacle: float = 0.02) -> Certificate:
    ones, two = np.ones(7), np.ones((2, 7))
    envelope = Envelope(
        np.array([0.0, 3.0, np.inf]), np.ones(2), np.ones(2), 0.01 * two, 0.05 * two, two, np.ones(2), two
    )
    margins = Margins(ones, ones, ones, obstacle, 0.25)
    return Certificate(verdict, margins, "", ones, ones, envelope if proven else None, 3)


def test_budgets_follow_certificates() -> None:
    first = first_budget(ProposalConfig(), 0.005, 7)
    seen = Seen(obstacle=0.05, itself=np.inf, doubt=7.8)
    given_ = learn(first, seen, certificate(Verdict.CERTIFIED), 4.0, 1.3)
    assert given_.distance == pytest.approx(0.05 - 0.02 + 0.002)  # sampled less certified, and a little
    assert given_.doubt > first.doubt
    # 1.1 (0.05 + 4 0.01) + 0.01 was taken: the gap goes on from what it was, and comes down to that slowly.
    np.testing.assert_allclose(given_.velocity, 0.95 * first.velocity)
    small = replace(first, velocity=np.full(7, 0.11))
    np.testing.assert_allclose(learn(small, seen, certificate(Verdict.CERTIFIED), 4.0, 1.3).velocity, 0.109)
    refused = learn(first, seen, certificate(Verdict.TRACKING, proven=False), 4.0, 1.3)
    assert refused.doubt < 7.8
    # Little doubt is no reason for a refusal: the budget cannot explain it and stays the same object.
    assert learn(first, Seen(0.05, 0.05, 1.0), certificate(Verdict.TRACKING, proven=False), 4.0, 1.3) is first
    # Overlapping shapes say nothing of how much is missing.
    assert learn(first, seen, certificate(Verdict.OBSTACLE, obstacle=-0.6), 4.0, 1.3).distance == first.distance


def test_torque_kept_for_starts_that_were_hard_is_given_back() -> None:
    """From where errors are large many plans may be refused, and none after them would move if that were for good."""
    budget, seen = first_budget(ProposalConfig(), 0.005, 7), Seen(obstacle=0.05, itself=np.inf, doubt=1.0)
    refused = learn(budget, seen, certificate(Verdict.TORQUE), 4.0, budget.torque)
    assert refused.torque == pytest.approx(1.2 * budget.torque)
    once = learn(refused, seen, certificate(Verdict.CERTIFIED), 4.0, budget.torque)
    assert budget.torque < once.torque < refused.torque
    for _ in range(5):
        once = learn(once, seen, certificate(Verdict.CERTIFIED), 4.0, budget.torque)
    assert once.torque == budget.torque
