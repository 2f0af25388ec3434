# SPDX-License-Identifier: Apache-2.0
"""The independent checker agrees with the certifier, and notices what was tampered with, claim by claim."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.certificate_documents import CONFIG, LATE, document, not_verified, records
from shared.quick_and_slow import mark_slow

from sysid_nodes.sessions.certified.config import set_up
from sysid_nodes.verification.document import config_id, read, scene_id
from sysid_nodes.verification.verify import Verdict, _law, verify


@pytest.mark.parametrize(("share", "displacement"), mark_slow([(1.0, 0.03), (0.1, 0.08)], but=[(0.1, 0.08)]))
def test_certificates_are_verified(share: float, displacement: float) -> None:
    first, second = records(share, displacement)
    found = verify(document(first))
    assert found.verified, found.claims
    assert {claim.verdict for claim in found.claims} == {Verdict.VERIFIED}
    continued = verify(document(second, first))
    assert continued.verified, continued.claims
    assert "continues the former one" in {claim.name for claim in continued.claims}


def test_a_certificate_for_estimates_says_so() -> None:
    told, plain = document(RECORD, config=replace(CONFIG, estimates=True)), document(RECORD)
    assert config_id(told["premises"]) == "estimated-" + config_id(plain["premises"])
    assert set_up(replace(CONFIG, estimates=True)).config_id == config_id(told["premises"])


RECORD = records(0.1, 0.08)[0]


@pytest.mark.parametrize(
    ("changes", "claim"),
    [
        ({"error_energy": 0.6 * RECORD.error_energy}, "errors prove themselves"),
        ({"error_norm": 0.7 * RECORD.error_norm}, "errors prove themselves"),
        ({"error_rate": 0.7 * RECORD.error_rate}, "errors prove themselves"),
        ({"error_acceleration": 0.6 * RECORD.error_acceleration}, "errors prove themselves"),
        ({"error_energy": 1e4 * RECORD.error_energy}, "errors prove themselves"),
        ({"robust_limit": 0.02 * RECORD.robust_limit}, "errors prove themselves"),
        ({"robust_limit": -RECORD.robust_limit}, "numbers of law and motors"),
        ({"k": RECORD.k - 0.2 * np.eye(7)[3]}, "position limits"),
        pytest.param({"q0": RECORD.q0 + np.eye(7)[1]}, "position limits", marks=pytest.mark.slow),  # as k says
        ({"lower": RECORD.lower - 0.3, "upper": RECORD.upper + 0.3}, "errors prove themselves"),
        ({"start_rate": 50.0}, "errors prove themselves"),
        ({"duration": 1.0}, "intervals"),
        ({"nominal": RECORD.nominal + np.eye(10)[1]}, "nominal body"),
    ],
)
def test_what_a_record_says_too_much_is_not_verified(changes: dict[str, Any], claim: str) -> None:
    assert claim in not_verified(verify(document(RECORD, **changes)))


def test_what_is_looked_at_by_itself_is_not_verified_whatever_else_is_wrong() -> None:
    """Each has a claim of its own, which nothing else here can break."""
    changes = {
        "velocity limits": {"velocity_margin": RECORD.velocity_margin * np.nan},
        "verdict": {"verdict": 2},
        "robot, law and uncertainty": {"config_id": "0" * 16},
        "obstacles": {"scene_id": "0" * 12},
    }
    found = verify(document(RECORD, **{name: value for each in changes.values() for name, value in each.items()}))
    assert set(changes) <= not_verified(found)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("control", "velocity_error"), [-1e-4], "control.velocity_error"),
        (("control", "delay"), float("nan"), "control.delay"),
        (("certifier", "distance_margin"), -0.01, "certifier.distance_margin"),
        (("known_robot", "inertia_relative"), -0.05, "inertia_relative"),
        (("robot", "motor", "viscous"), [-1.0] * 7, "motor.viscous"),
        (("robot", "encoder_step"), [-1e-3] * 7, "encoder_step"),
        (("robot", "limits", "torque"), [float("nan")] * 7, "torque limits"),
        (("obstacles", 0, "size"), [0.2, -0.2, 0.4], "size of 'post'"),
        (("shapes", 0, "size"), [-0.05, 0.05, 0.1], "size of a box on 'universe'"),
    ],
)
def test_premises_that_mean_nothing_prove_nothing(path: tuple[Any, ...], value: Any, words: str) -> None:
    """An error below zero would allow for less than none."""
    given = copy.deepcopy(document(RECORD))
    at = given["premises"]
    for name in path[:-1]:
        at = at[name]
    at[path[-1]] = value
    given["record"]["config_id"], given["record"]["scene_id"] = config_id(at := given["premises"]), scene_id(at)
    found = verify(given)
    assert not found.verified
    assert words in next(claim.shown for claim in found.claims if claim.name == "numbers of the premises")


def test_margins_below_zero_and_a_start_in_motion_are_not_verified() -> None:
    changes = {"velocity_margin": -np.ones(7), "self_margin": -0.5, "qd0": 1e-3 * np.ones(7)}
    assert {"velocity limits", "distance to the robot itself", "begins at rest"} <= not_verified(
        verify(document(RECORD, **changes))
    )


def test_only_what_a_record_continues_counts_for_its_start() -> None:
    first, second = records(0.1, 0.08)
    assert read(document(second, first)).former is not None
    assert read(document(second, first, previous_id="")).former is None
    assert "continues the former one" in not_verified(verify(document(second, first, previous_time=-0.5)))


MARGINS = {
    "torque_margin": ("torque limits", 5.0),
    "position_margin": ("position limits", 0.05),
    "velocity_margin": ("velocity limits", 0.1),
    "obstacle_margin": ("distance to obstacles", 0.05),
    "self_margin": ("distance to the robot itself", 0.02),
}


def test_margins_larger_than_they_are_are_not_verified() -> None:
    for config in (CONFIG, LATE):
        record = records(0.1, 0.08, config)[0]
        changes = {name: getattr(record, name) + more for name, (_, more) in MARGINS.items()}
        found = verify(document(record, config=config, **changes))
        assert not_verified(found) == {claim for claim, _ in MARGINS.values()}


def test_a_record_that_was_changed_and_not_sealed_is_noticed() -> None:
    changed = document(RECORD)
    changed["record"]["obstacle_margin"] += 1e-9
    assert not_verified(verify(changed)) == {"record unchanged"}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("control", "damping"), [900.0]),
        (("control", "delay"), 0.001),
        (("known_robot", "inertia_relative"), 0.04),
        (("certifier", "distance_margin"), 0.004),
        (("robot", "limits", "torque"), [91.0] * 7),
        (("robot", "motor", "coulomb"), [0.0] * 7),
        (("robot", "may_overlap"), []),
        (("shapes", 0, "size"), [0.1, 0.1, 0.1]),
    ],
)
def test_premises_other_than_those_certified_are_noticed(path: tuple[Any, ...], value: Any) -> None:
    changed = copy.deepcopy(document(RECORD))
    place = changed["premises"]
    for word in path[:-1]:
        place = place[word]
    assert place[path[-1]] != value
    place[path[-1]] = value
    assert config_id(changed["premises"]) != RECORD.config_id == config_id(document(RECORD)["premises"])


def test_obstacles_other_than_those_certified_are_noticed() -> None:
    changed = document(RECORD)
    changed["premises"]["obstacles"][0]["size"] = [3.0, 3.0, 3.0]
    assert {"obstacles", "distance to obstacles"} <= not_verified(verify(changed))


def test_torques_of_a_weaker_motor_are_not_verified() -> None:
    changed = document(RECORD)
    changed["premises"]["robot"]["limits"]["torque"] = [20.0] * 7
    assert "torque limits" in not_verified(verify(changed))


def test_a_takeover_needs_the_trajectory_before_and_its_state() -> None:
    first, second = records(0.1, 0.08)
    alone = verify(document(second))
    assert {claim.verdict for claim in alone.claims if "certificate" in claim.name} == {Verdict.OUTSIDE}
    stepped = verify(document(second, first, q0=second.q0 + 1e-6))
    assert "continues the former one" in not_verified(stepped)


def test_what_it_knows_nothing_of_is_outside_its_scope() -> None:
    found = verify(document(RECORD, target="payload"))
    assert [claim.verdict for claim in found.claims] == [Verdict.OUTSIDE]
    assert not found.verified


@pytest.mark.parametrize("which", ["record", "former"])
def test_errors_proven_in_a_way_that_it_does_not_know_are_outside_its_scope(which: str) -> None:
    first, second = records(0.1, 0.08)
    changed = document(second, first)
    changed[which]["proof"] = "belief"
    found = verify(changed)
    assert [claim.verdict for claim in found.claims] == [Verdict.OUTSIDE] and not found.verified


def test_the_damping_is_what_the_age_of_torques_leaves_of_it() -> None:
    given = document(RECORD)
    full = _law(read(given))
    given["premises"]["control"]["damping_share"] = 0.1
    capped, motor = _law(read(given)), given["premises"]["robot"]["motor"]
    assert (capped.damping < full.damping).all()
    most = 0.1 * np.array(motor["armature"]) / capped.age
    np.testing.assert_allclose(capped.damping + np.array(motor["viscous"]), most, rtol=1e-12)
