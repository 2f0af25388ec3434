# SPDX-License-Identifier: Apache-2.0
"""What is published of a posterior claims no more than its status allows; test_online_bayesian.py has a real one."""

from __future__ import annotations

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from sysid_nodes.messages.bayesian.posterior import WAITING, friction_fields, posterior_fields, status
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.sessions.bayesian.online import BayesianUpdate

NOTHING = BayesianUpdate(0.0, 0.0, -1, 0, None, "", "fourbar_leg", "digest")


def found(kind: BayesianStatus = BayesianStatus.FOUND) -> BayesianUpdate:
    row = {"prior_mean": 1.0, "prior_sigma": 0.5, "mean": 0.8, "lower": 0.6, "upper": 1.0}
    rows = tuple(
        SimpleNamespace(name=name, unit="N m", verdict="observed", active=True, **row)
        for name in ("hip.coulomb", "knee.coulomb")
    )
    speed = np.array([0.0, 1.0])
    curve = SimpleNamespace(
        joint="hip", speed=speed, median=speed, lower=speed - 1.0, upper=speed + 1.0, covered=(0.1, 0.9)
    )
    result = SimpleNamespace(
        status=kind,
        message=kind.message,
        parameters=rows,
        parameter_covariance=np.array([[1.0, 2.0], [2.0, 5.0]]),
        findings=("a doubt",),
        stages=7,
        blind=(SimpleNamespace(narrowing=0.9, share=(("knee.coulomb", 1.0),)),),
        curves=(curve,),
    )
    return replace(NOTHING, t=12.5, window=0, used=1, result=result)  # type: ignore[arg-type]


def test_before_anything_is_identified_the_reason_is_told() -> None:
    assert status(NOTHING) == (WAITING, "nothing is identified: waiting for motion")
    assert status(replace(NOTHING, fault="no joint moves"))[1] == "nothing is identified: no joint moves"
    assert "names" not in posterior_fields(NOTHING)
    assert friction_fields(NOTHING) is None


def test_the_covariance_goes_by_rows_and_friction_names_its_posterior() -> None:
    fields = posterior_fields(found())
    assert fields["header"]["stamp"] == {"sec": 12, "nanosec": 500_000_000}
    assert fields["names"] == ["hip.coulomb", "knee.coulomb"]
    assert fields["covariance"] == [1.0, 2.0, 2.0, 5.0]
    assert fields["blind"] == [{"narrowing": 0.9, "names": ["knee.coulomb"], "shares": [1.0]}]
    friction = friction_fields(found())
    assert friction is not None
    assert friction["posterior"] == fields["id"]
    assert friction["joints"][0]["lower"] == [-1.0, 0.0]


@pytest.mark.parametrize("kind", [kind for kind in BayesianStatus if not kind.trusted])
def test_what_is_not_trusted_has_no_number(kind: BayesianStatus) -> None:
    fields = posterior_fields(found(kind))
    assert (fields["names"], fields["covariance"], fields["mean"], fields["blind"]) == ([], [], [], [])
    assert fields["status"] == kind.name
    assert friction_fields(found(kind)) is None


def test_the_id_is_of_what_is_said_and_not_of_when() -> None:
    assert posterior_fields(replace(found(), t=99.0))["id"] == posterior_fields(found())["id"]
    assert posterior_fields(replace(found(), used=2))["id"] != posterior_fields(found())["id"]


@pytest.mark.parametrize("t", [-1.0, 2.0**31, math.inf, math.nan])
def test_a_time_that_no_stamp_can_hold_is_zero(t: float) -> None:
    assert posterior_fields(replace(NOTHING, t=t))["header"]["stamp"] == {"sec": 0, "nanosec": 0}
