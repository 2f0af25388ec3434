# SPDX-License-Identifier: Apache-2.0
"""Certificates of a Gen3 whose torques come late: who gives them, who checks them, what they rest on."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.certified_arm import START, box, certifier, model, robot

from benchmarks.delay_loop import Adversary, Leg, follow
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results.certificate import Certificate, Verdict
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed
from sysid_nodes.systems.certified.certificate.error_proof import Claim

Array = npt.NDArray[np.float64]

STILL, NOTHING = np.zeros(7), Scene(())
LATE = RobustControlConfig(delay=0.0025, position_gain=2.5)


def motion(k: float) -> Bezier:
    return Bezier(START, STILL, STILL, np.random.default_rng(0).uniform(-k, k, 7), 3.0)


@pytest.fixture(scope="module")
def judge():  # type: ignore[no-untyped-def]
    return certifier(LATE, intervals=16)


@pytest.fixture(scope="module")
def moved(judge) -> Certificate:  # type: ignore[no-untyped-def]
    return judge.certify(motion(0.1), box(), judge.at_rest(box()), NOTHING)


def claim_of(found: Certificate, **changes: Array) -> Claim:
    e = found.envelope
    assert e is not None
    errors = Assumed(e.level, e.position, e.acceleration, e.change, e.position_error, e.reference_error)
    return Claim(errors._replace(**changes), found.robust_limit, found.proof)


def test_late_torques_are_certified_with_the_prior_where_energies_refuse(judge, moved) -> None:  # type: ignore[no-untyped-def]
    assert moved.certified and moved.proof == "delayed"
    assert isinstance(judge.prove_by(motion(0.1), box(), judge.at_rest(box()), delayed=False), int)
    # Torques that act at once are left to the other proof.
    at_once = certifier(intervals=16)
    assert at_once.certify(motion(0.1), box(0.1), at_once.at_rest(box(0.1)), NOTHING).proof == "energy"


def test_damping_yields_to_the_delay() -> None:
    slow = gains(robot(), LATE)
    most = 0.34 * robot().motor.armature / LATE.age
    np.testing.assert_allclose(slow.damping + robot().motor.viscous, most)
    assert (gains(robot(), RobustControlConfig()).damping == RobustControlConfig().damping).all()


def test_a_stiffer_loop_than_the_delay_allows_is_not_proven_that_way() -> None:
    stiff = certifier(replace(LATE, damping_share=0.36), intervals=16)
    assert stiff.prove_by(motion(0.0), box(), stiff.at_rest(box()), delayed=True) == 0


def test_claims_are_proven_as_they_are_or_not_at_all(judge, moved) -> None:  # type: ignore[no-untyped-def]
    def check(claim: Claim) -> Certificate:
        found: Certificate = judge.certify(motion(0.1), box(), judge.at_rest(box()), NOTHING, claim)
        return found

    good = claim_of(moved)
    checked = check(good)
    assert checked.certified and checked.proof == "delayed" and checked.iterations == 1
    for name in Assumed._fields:
        small = claim_of(moved, **{name: 0.5 * getattr(good.errors, name)})
        assert check(small).verdict is Verdict.TRACKING, name
    for wrong in (
        good._replace(robust_limit=0.9 * good.robust_limit),
        good._replace(robust_limit=np.full(7, np.nan)),
        good._replace(proof="energy"),
        good._replace(proof="neither"),
    ):
        assert check(wrong).verdict is Verdict.TRACKING


def test_a_wider_box_a_longer_delay_and_noisier_sensors_never_certify_less_error(judge) -> None:  # type: ignore[no-untyped-def]
    base = judge.certify(motion(0.1), box(0.3), judge.at_rest(box(0.3)), NOTHING).envelope
    wider = judge.certify(motion(0.1), box(0.6), judge.at_rest(box(0.6)), NOTHING).envelope
    assert (wider.reference_error > base.reference_error).all() and (wider.position_error > base.position_error).all()
    for change in ({"velocity_error": (2e-4,)}, {"position_error": (4e-4,)}, {"torque_error": (0.5,)}):
        worse = certifier(replace(LATE, **change), intervals=16)
        found = worse.certify(motion(0.1), box(0.3), worse.at_rest(box(0.3)), NOTHING).envelope
        assert (found.reference_error[-1] > base.reference_error[-1]).all(), change


def test_the_next_trajectory_begins_where_the_last_one_is_with_its_own_model(judge, moved) -> None:  # type: ignore[no-untyped-def]
    q, qd, qdd = motion(0.1).split(1.5)
    onward = Bezier(q, qd, qdd, STILL, 3.0)
    entry = moved.envelope.entry(1.5)
    assert entry.level == pytest.approx(moved.envelope.weight * 0.5 * entry.reference_norm**2)
    same = judge.certify(onward, box(), entry, NOTHING)
    assert same.certified
    # What r settles at is known: the takeover is no start from anywhere.
    unknown = replace(entry, apart_norm=np.inf, apart_error=np.array(np.inf))
    blind = judge.certify(onward, box(), unknown, NOTHING)
    assert (blind.envelope.reference_error[1] > 1.1 * same.envelope.reference_error[1]).any()
    other = replace(entry, theta=entry.theta + _heavier(entry.theta))
    jumped = judge.certify(onward, box(), other, NOTHING)
    assert (jumped.envelope.reference_error[1] > same.envelope.reference_error[1]).any()


def _heavier(theta: Array) -> Array:
    """Half a kilogram in the hand."""
    more = np.zeros_like(theta)
    more[-1, 0] = 0.5
    return more


@pytest.mark.parametrize("smart", [True, False])
def test_a_true_arm_stays_within_and_comes_near(judge, smart: bool) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(1)
    plan = motion(0.0)
    found = judge.certify(plan, box(), judge.at_rest(box()), NOTHING)
    against = np.zeros((7, 10))
    against[6, :4] = [1.0, 1.0, 1.0, -1.0]
    adversary = Adversary(*model(box(), rng, against=against), smart=smart, rng=rng)
    reached = follow(robot(), box(), LATE, [Leg(0.0, plan, found)], adversary, jitter=0.0005, duration=0.25)
    assert reached.reference <= 1.0 and reached.position <= 1.0 and reached.torque <= 1.0
    assert reached.reference > 0.3
