# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import re
from pathlib import Path

import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.bayesian.quantities import bayesian_quantities
from sysid_nodes.reports.bayesian.report import headline
from sysid_nodes.reports.bayesian.schema import BAYESIAN_FIELDS, validate_bayesian
from sysid_nodes.results.quantity import Quantity

PAGE = Path(__file__).parents[3] / "docs" / "bayesian" / "result.md"


def test_page_follows_the_table() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert rows == [(field.path, field.kind) for field in BAYESIAN_FIELDS]


def test_a_field_that_is_missing_is_named() -> None:
    with pytest.raises(InputError, match="robot"):
        validate_bayesian({"schema": 1, "pipeline": "bayesian"})


def test_only_what_is_observed_is_compared_with_other_runs() -> None:
    row = {"name": "hip.coulomb", "unit": "N m", "mean": 1.0, "lower": 0.8, "upper": 1.2, "sigma": 0.1}
    rows = [row | {"verdict": verdict} for verdict in ("observed", "in part", "not observed")]
    (found,) = bayesian_quantities({"parameters": rows})
    assert found == Quantity("hip.coulomb", "N m", 1.0, 0.8, 1.2, 0.1)


def test_the_headline_has_the_constant_that_is_told_best() -> None:
    row = {"name": "hip.coulomb", "unit": "N m", "mean": 1.0, "lower": 0.8, "upper": 1.2, "truth": None}
    rows = [row | {"verdict": "observed", "narrowing": 0.1}, row | {"verdict": "not observed", "narrowing": 1.0}]
    told = row | {"name": "shank.m", "unit": "kg", "verdict": "observed", "narrowing": 0.01}
    line = headline({"status": "FOUND", "parameters": [*rows, told]})
    assert line.startswith("2 of 3 constants are observed, 1 are not: there")
    assert line.endswith("; best told is shank.m, 1.00 kg (0.80 to 1.20 with 95 %)")
    part = row | {"verdict": "in part", "narrowing": 0.5}
    assert headline({"status": "FOUND", "parameters": [*rows, part]}).startswith(
        "1 of 3 constants are observed, 1 in part, 1 are not: there"
    )
