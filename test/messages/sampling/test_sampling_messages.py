# SPDX-License-Identifier: Apache-2.0
"""Posterior and plan come back from their messages as they were, or are refused; what is not claimed has no number."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.messages.sampling.estimates import (
    WAITING,
    inertia_fields,
    models_fields,
    posterior_message_fields,
    status,
)
from sysid_nodes.messages.sampling.plan import marker_fields, plan_fields, to_plan
from sysid_nodes.messages.sampling.posterior import posterior_fields, to_posterior
from sysid_nodes.results.exploration import ExplorationPlan, Posterior, Spread, Vetting
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.results.sampling import SamplingEstimate, SamplingStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.sampling.online import SamplingUpdate

Spoil = Callable[[dict[str, Any]], object]

POSTERIOR = Posterior(
    ("alpha:0", "saturation:hip"),
    np.array([1.0, 0.2]),
    np.array([[0.5, 0.1], [0.1, 0.3]]),
    np.array([[3.0, -1.0], [-1.0, 4.0]]),
    np.array([0.1, 0.2]),
    32,
    8.0,
)
PLAN = ExplorationPlan(
    robot="go2",
    estimate=POSTERIOR.id,
    policy="0123456789abcdef",
    segment=1.5,
    gaits=("trot", "stand"),
    points=np.arange(20.0).reshape(2, 5, 2),
    height=0.29,
    criterion="trace",
    costs=np.array([1.0, 2.0, 3.0]),
    spreads=(Spread("mass", "kg", 0.5, 0.1, np.zeros(2)),),
    path=np.array([[0.0, 0.0, 0.0], [0.1, 0.2, -0.1]]),
    vetting=Vetting(4, 0, np.zeros(3), 0.7, ()),
    scale=0.8,
)
NOTHING = SamplingUpdate(-math.inf, 0, None, "", "go2", "digest")


def found(kind: SamplingStatus) -> SamplingUpdate:
    told = SamplingEstimate("strength.hip", "N m", "motors", 25.0, 24.0, 0.5, 23.0, 25.0)
    blind = replace(told, name="strength.calf", estimate=None, sigma=None, lower=None, upper=None, reason="not told")
    centre = tuple(replace(told, name=f"centre_{axis}", unit="m", group="inertia") for axis in "xyz")
    theta = np.array([2.0, 0.2, 0.0, -0.4, *np.ones(6)])
    result = SimpleNamespace(
        status=kind, parameters=(told, blind, *centre), bodies=("base",), inertia=theta[None],
        covariance=np.diag(np.arange(10.0))[None], findings=(), duration=8.0, posterior=POSTERIOR,
    )  # fmt: skip
    return replace(NOTHING, t=3.0, number=1, result=result)  # type: ignore[arg-type]


def test_a_posterior_comes_back() -> None:
    fields = posterior_fields(POSTERIOR)
    back = to_posterior(fields)
    assert posterior_fields(back) == fields
    np.testing.assert_array_equal(back.information, POSTERIOR.information)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda fields: fields["covariance"].pop(), "an estimate's matrices do not fit its names"),
        (lambda fields: fields["prior"].pop(), "an estimate is not what its id says"),
        (lambda fields: fields["values"].__setitem__(0, 1.1), "an estimate is not what its id says"),
    ],
)
def test_a_posterior_that_was_changed_is_refused(spoil: Spoil, message: str) -> None:
    fields = posterior_fields(POSTERIOR)
    spoil(fields)
    with pytest.raises(InputError, match=message):
        to_posterior(fields)


def test_a_plan_comes_back() -> None:
    back = to_plan(plan_fields(PLAN))
    assert plan_fields(back) == plan_fields(PLAN)
    np.testing.assert_array_equal(back.points, PLAN.points)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda fields: fields["points"].pop(), "do not fit its gaits, or are not finite"),
        (lambda fields: fields["points"].__setitem__(3, math.nan), "do not fit its gaits, or are not finite"),
        (lambda fields: fields.update(segment=3.0), "a plan is not what its id says"),
        (lambda fields: fields.update(estimate_id="another"), "a plan is not what its id says"),
    ],
)
def test_a_plan_that_was_changed_is_refused(spoil: Spoil, message: str) -> None:
    fields = plan_fields(PLAN)
    spoil(fields)
    with pytest.raises(InputError, match=message):
        to_plan(fields)


def test_the_markers_of_a_plan_are_its_path_and_a_circle_of_its_reach() -> None:
    lines = {line["ns"]: line["points"] for line in marker_fields(PLAN)["markers"] if "ns" in line}
    assert lines["exploration_path"][1] == {"x": 0.2, "y": -0.1, "z": 0.29}
    radii = [math.hypot(point["x"], point["y"]) for point in lines["reach_of_drawn_robots"]]
    assert radii == pytest.approx([0.7] * len(radii))


def test_before_anything_is_identified_no_number_is_claimed() -> None:
    robot = load_robot("go2")
    assert status(NOTHING) == (WAITING, "nothing is identified: waiting for a motion that ends")
    fields = inertia_fields(NOTHING, robot)
    assert np.isnan([fields["estimate"], fields["sigma"]]).all()
    assert (fields["status"], fields["body"]) == (int(PrimeStatus.STARTING), robot.body)
    assert fields["header"]["stamp"] == {"sec": 0, "nanosec": 0}  # minus infinity
    assert models_fields(NOTHING, robot)["models"] == []
    assert "names" not in posterior_message_fields(NOTHING)


def test_what_is_identified_is_told_joint_by_joint() -> None:
    robot, update = load_robot("go2"), found(SamplingStatus.PARTIAL)
    fields = inertia_fields(update, robot)
    assert fields["centre_of_mass"] == pytest.approx({"x": 0.1, "y": 0.0, "z": -0.2})
    assert fields["sigma"][4] == 2.0
    models = {model["joint"]: model["parameters"] for model in models_fields(update, robot)["models"]}
    (hip,), (calf,) = models["FL_hip_joint"], models["FL_calf_joint"]
    assert (hip["estimate"], hip["identifiable"]) == (24.0, True)
    assert (math.isnan(calf["estimate"]), calf["reason"]) == (True, "not told")
    assert posterior_message_fields(update)["id"] == POSTERIOR.id


def test_of_simulations_that_do_not_follow_nothing_is_claimed() -> None:
    update = found(SamplingStatus.UNTRUSTED)
    fields = inertia_fields(update, load_robot("go2"))
    assert np.isnan(fields["estimate"]).all()
    assert fields["status"] == int(PrimeStatus.DOUBTFUL)
    assert "names" not in posterior_message_fields(update)
