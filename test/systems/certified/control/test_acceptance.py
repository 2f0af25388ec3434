# SPDX-License-Identifier: Apache-2.0
"""Trajectories that carry too little, or were made for something else, each refused under its own name."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.certified_ride import CONFIG, PRIOR, ROBOT, N, Ride, certificate, make_record, replace_fields

from sysid_nodes.results.certificate import Verdict
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.systems.certified.control.acceptance import Identity, agrees, inspect
from sysid_nodes.systems.certified.control.in_force import bounds_of

OWN = Identity(ROBOT.joint_names, CONFIG, ROBOT.body, "body")
GOOD = make_record()
BAD = np.full(N, 1.0)
BAD[3] = np.nan
NEGATIVE = np.full(N, 1.0)
NEGATIVE[2] = -1e-9


def test_a_good_one_passes() -> None:
    assert inspect(GOOD, OWN) is StopReason.NONE


def test_infinite_margins_are_margins() -> None:
    free = replace_fields(GOOD, position_margin=np.full(N, np.inf), obstacle_margin=np.inf, self_margin=np.inf)
    assert inspect(free, OWN) is StopReason.NONE


ERRORS = (
    *("error_energy", "error_norm", "error_rate", "error_acceleration"),
    *("error_change", "error_position", "error_reference"),
)
MARGINS = ("torque_margin", "position_margin", "velocity_margin", "obstacle_margin", "self_margin")


@pytest.mark.parametrize("name", [*ERRORS, *MARGINS])
def test_a_record_that_claims_more_than_the_own_proof_in_any_number_does_not_agree(name: str) -> None:
    """Smaller errors or larger margins, by more than rounding; the other way it claims less, which is as good."""
    own = certificate()
    assert agrees(GOOD, own)
    value = np.array(getattr(GOOD, name), dtype=float)
    step = 1e-3 * (1.0 + np.abs(value))
    more, less = (value - step, value + step) if name in ERRORS else (value + step, value - step)
    assert not agrees(replace_fields(GOOD, **{name: more}), own)
    assert agrees(replace_fields(GOOD, **{name: less}), own)


@pytest.mark.parametrize("name", ["q0", "k", "lower", "robust_limit", "edges", "torque_margin"])
def test_altered_on_the_way(name: str) -> None:
    value = getattr(GOOD, name).copy()
    value[-1] += 1e-9
    assert inspect(replace(GOOD, **{name: value}), OWN) is StopReason.TRAJECTORY_ALTERED


@pytest.mark.parametrize("fields", [{"id": ""}, {"id": "0" * 16}, {"start_ns": GOOD.start_ns + 1}, {"scene_id": "x"}])
def test_altered_elsewhere(fields: dict[str, object]) -> None:
    assert inspect(replace(GOOD, **fields), OWN) is StopReason.TRAJECTORY_ALTERED  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "fields",
    [
        *({"verdict": int(verdict)} for verdict in Verdict if verdict is not Verdict.CERTIFIED),
        {"verdict": 99},
        *({f"{name}_margin": bad} for name in ("torque", "position", "velocity") for bad in (BAD, NEGATIVE)),
        {"obstacle_margin": -1e-12},
        {"obstacle_margin": np.nan},
        {"self_margin": -np.inf},
        {"robust_limit": NEGATIVE},
        {"edges": np.zeros(0), "error_energy": np.zeros(0), "error_norm": np.zeros(0)},
        {"edges": GOOD.edges[::-1]},
        {"edges": GOOD.edges + 0.1},
        {"edges": np.append(GOOD.edges[:-1], np.nan)},
        {"error_energy": GOOD.error_energy[:-1]},
        {"error_energy": -GOOD.error_energy},
        {"error_norm": np.full_like(GOOD.error_norm, np.inf)},
        {"error_energy": np.full_like(GOOD.error_energy, 1e300)},
    ],
    ids=str,
)
def test_without_a_valid_certificate(fields: dict[str, object]) -> None:
    assert inspect(replace_fields(GOOD, **fields), OWN) is StopReason.TRAJECTORY_NOT_CERTIFIED


@pytest.mark.parametrize(
    "fields",
    [
        *({name: BAD} for name in ("q0", "qd0", "qdd0", "k", "robust_limit")),
        *({name: np.zeros(N - 1)} for name in ("q0", "qd0", "qdd0", "k", "robust_limit", "torque_margin")),
        {"joint_names": ROBOT.joint_names[::-1]},
        {"joint_names": tuple(f"panda_{name}" for name in ROBOT.joint_names)},
        {"lower": PRIOR.upper, "upper": PRIOR.lower},
        {"lower": np.full(10, -np.inf)},
        {"upper": PRIOR.upper[:9]},
        {"duration": 0.0},
        {"duration": np.nan},
        {"duration": np.inf},
        {"duration": 1e300},  # its powers overflow
        {"k": np.full(N, -1e300)},
        {"start_rate": np.nan},
        {"previous_time": np.nan},
        {"previous_time": -1.0},
        {"start_ns": -1},
    ],
    ids=str,
)
def test_unusable_numbers(fields: dict[str, object]) -> None:
    assert inspect(replace_fields(GOOD, **fields), OWN) is StopReason.TRAJECTORY_INVALID


def test_made_for_another_configuration() -> None:
    assert inspect(replace_fields(GOOD, config_id="other"), OWN) is StopReason.TRAJECTORY_OTHER_CONFIG


@pytest.mark.parametrize("fields", [{"body": "forearm_link"}, {"target": "payload"}])
def test_made_for_bounds_of_something_else(fields: dict[str, object]) -> None:
    assert inspect(replace_fields(GOOD, **fields), OWN) is StopReason.TRAJECTORY_OTHER_BOUNDS


def test_bounds_without_a_physical_body_are_refused_by_the_controller() -> None:
    """Nothing with a mass of at most 1e-9 kg has first moments of 0.4 kg m."""
    lower, upper = PRIOR.lower.copy(), PRIOR.upper.copy()
    lower[0], upper[0], lower[1] = 0.0, 1e-9, 0.39
    impossible = replace_fields(GOOD, lower=lower, upper=upper)
    assert inspect(impossible, OWN) is StopReason.NONE
    ride = Ride()
    ride.tick(10)
    assert ride.controller.offer(impossible) is StopReason.TRAJECTORY_INVALID


def test_bounds_of_what_arrives() -> None:
    found = bounds_of(PRIOR.lower, PRIOR.upper)
    assert found is not None
    np.testing.assert_array_equal(found.lower, PRIOR.lower)
    assert bounds_of(PRIOR.upper, PRIOR.lower) is None
