# SPDX-License-Identifier: Apache-2.0
"""Numbers of reports on identifications by rollouts and of explorations."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shared.exploration import posterior_of

from sysid_nodes.data.inertia import com_to_parameters
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.sampling.quantities import sampling_quantities
from sysid_nodes.reports.sampling.schema import SAMPLING_FIELDS, validate_sampling
from sysid_nodes.reports.sampling.stages import Known, known_after, promised_sigma, true_values
from sysid_nodes.results.exploration import Spread
from sysid_nodes.results.quantity import Quantity
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.unknowns import Unknowns

PAGE = Path(__file__).parents[3] / "docs" / "sampling" / "result.md"


def test_every_documented_field_is_of_the_table_and_its_kind() -> None:
    """The page joins some rows and leaves out what lies deeper in an object."""
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    table = {field.path: field.kind for field in SAMPLING_FIELDS}
    assert len(rows) > 30
    assert {path: kind.strip() for path, kind in rows}.items() <= table.items()
    assert {path.partition(".")[0].removesuffix("[]") for path in table} == {
        path.partition(".")[0].removesuffix("[]") for path, _ in rows
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"schema": 1, "pipeline": "sampling"}, "'method' is missing"),
        ({"schema": 1, "pipeline": "prime"}, "not a result of the pipeline 'sampling'"),
        ({"schema": 2, "pipeline": "sampling"}, "schema 2 is not supported"),
    ],
)
def test_what_is_no_such_result_is_refused(document: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        validate_sampling(document)


def test_only_what_the_motion_tells_is_compared_with_other_runs() -> None:
    row = {"name": "mass", "unit": "kg", "group": "inertia", "identifiable": True}
    row |= {"estimate": 8.0, "lower": 7.0, "upper": 9.0, "sigma": 0.5}
    others = [row | {"group": "ground"}, row | {"sigma": None}, row | {"identifiable": False, "estimate": None}]
    assert sampling_quantities({"parameters": [row, *others]}) == [Quantity("mass", "kg", 8.0, 7.0, 9.0, 0.5)]


def test_sigma_of_the_mass_follows_that_of_its_coordinate() -> None:
    """m = e^(2 alpha): to first order sigma(m) = 2 m sigma(alpha)."""
    robot, config = load_robot("go2"), SamplingConfig()
    posterior = posterior_of(Unknowns(robot, config))
    mass = next(known for known in known_after(posterior, robot, config) if known.name == "mass")
    k = posterior.names.index("alpha:0")
    alpha, sigma = posterior.values[k], np.sqrt(posterior.covariance[k, k])
    assert mass.value == pytest.approx(np.exp(2.0 * alpha))
    assert mass.sigma == pytest.approx(2.0 * mass.value * sigma, rel=1e-5)


def test_of_what_a_bound_holds_nothing_is_claimed() -> None:
    robot, config = load_robot("go2"), SamplingConfig()
    posterior = posterior_of(Unknowns(robot, config))
    k = posterior.names.index("saturation:hip")
    posterior.covariance[k] = posterior.covariance[:, k] = 0.0
    known = {row.name: row for row in known_after(posterior, robot, config)}
    assert np.isnan(known["strength.hip"].sigma)
    assert known["strength.hip"].holds(1e9)
    assert np.isfinite(known["mass"].sigma)


def test_truths_have_the_names_that_results_use() -> None:
    inertia = np.array([[0.3, 0.01, 0.02], [0.01, 0.4, 0.03], [0.02, 0.03, 0.5]])
    theta = com_to_parameters(7.0, np.array([0.1, -0.2, 0.05]), inertia)
    truth = true_values(list(theta), [25.0, 24.0, 40.0], load_robot("go2"))
    assert truth["mass"] == pytest.approx(7.0)
    assert truth["centre_y"] == pytest.approx(-0.2)
    assert truth["Iyz"] == pytest.approx(0.03)
    assert [truth[f"strength.{kind}"] for kind in ("hip", "thigh", "calf")] == [25.0, 24.0, 40.0]


@pytest.mark.parametrize(
    ("known", "after", "promised"),
    [
        (Known("mass", "kg", 8.0, 0.5), 0.1, 0.1),
        (Known("mass", "kg", 8.0, np.nan), 0.1, 0.1),  # a bound holds it now; the plan tells it
        (Known("mass", "kg", 8.0, np.nan), 9.0, np.nan),  # nor will it then
        (Known("Ixx", "kg m2", 1.0, 0.5), 0.1, np.nan),  # not among what was asked for
    ],
)
def test_a_plan_promises_what_it_will_tell(known: Known, after: float, promised: float) -> None:
    plan: Any = SimpleNamespace(spreads=(Spread("mass", "kg", 1.0, after, np.zeros(0)),))
    assert promised_sigma(plan, known) == pytest.approx(promised, nan_ok=True)
