# SPDX-License-Identifier: Apache-2.0
"""result.json: what is written is what is documented, and what is read is checked."""

from __future__ import annotations

import copy
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared.synthetic_run import TRUTH, results, run

from sysid_nodes.data import PARAMETER_NAMES, PARAMETER_UNITS
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.interval.result_file import build_document, read_result, thin, write_result
from sysid_nodes.reports.interval.schema import INTERVAL_FIELDS, INTERVAL_KINDS, validate_interval
from sysid_nodes.reports.json_text import encode
from sysid_nodes.results import Status

DOC = Path(__file__).parents[3] / "docs" / "interval" / "result.md"

# Objects whose keys are data, not fields.
OPEN = ("samples.rejected", "contradiction.factors", "costs", "config", "versions")


def paths(node: object, where: str = "") -> set[str]:
    """Every path of a document, list entries as []."""
    if where in OPEN:
        return set()
    if isinstance(node, dict):
        return {
            p
            for key, value in node.items()
            for p in ({f"{where}.{key}".lstrip(".")} | paths(value, f"{where}.{key}".lstrip(".")))
        }
    if isinstance(node, list):
        return {p for item in node if isinstance(item, dict) for p in paths(item, f"{where}[]")}
    return set()


def documented_rows() -> dict[str, str]:
    """Field and kind of every row of the reference page; the table of statuses has rows without a kind."""
    return dict(re.findall(r"^\| `([^`]+)` \| ([^|]+?) \| [^|]+ \|$", DOC.read_text(encoding="utf-8"), re.MULTILINE))


def test_every_status_survives_the_file(tmp_path: Path) -> None:
    for status in Status:
        document = build_document(run(status))
        file = tmp_path / f"{status.name}.json"
        write_result(file, document)
        assert read_result(file) == document
        assert document["status"] == status.name


def test_the_design_fields_hold_the_result() -> None:
    found = run()
    document = build_document(found)
    last = found.result
    assert document["schema"] == 1
    assert [row["name"] for row in document["parameters"]] == list(PARAMETER_NAMES)
    assert [row["unit"] for row in document["parameters"]] == list(PARAMETER_UNITS)
    # exact: JSON's shortest repr of a double reads back as the same double
    assert [row["lower"] for row in json.loads(encode(document))["parameters"]] == last.lower.tolist()
    assert document["samples"] == {"used": 6000, "rejected": {"duplicate_stamp": 3, "not_finite": 1}}
    assert document["condition_number"] == last.excitation.condition_number
    assert document["solve_time_s"] == pytest.approx(60 * 0.004)
    assert len(document["history"]) == 60
    assert document["history"][0]["condition_number"] is None  # infinite while rank deficient


def test_the_body_is_the_parameters_about_its_centre_of_mass() -> None:
    document = build_document(run())
    body = document["nominal_body"]
    theta = run().result.nominal
    np.testing.assert_allclose(body["mass"] * np.array(body["centre_of_mass"]), theta[1:4], rtol=1e-12)
    x, y, z = body["centre_of_mass"]
    shift = body["mass"] * np.array([y * y + z * z, -x * y, x * x + z * z, -x * z, -y * z, x * x + y * y])
    np.testing.assert_allclose(np.array(body["inertia"]) + shift, theta[4:], rtol=1e-9)


def test_parameters_that_no_body_can_have_are_not_told_as_a_body() -> None:
    made = run()
    impossible = replace(made.result, nominal=np.array([3.0, 0, 0, 0, 1.0, 0, 1.0, 0, 0, 9.0]))
    assert build_document(replace(made, history=(impossible,)))["nominal_body"] is None


def test_a_contradiction_claims_nothing() -> None:
    document = build_document(run(Status.INCONSISTENT))
    for row in document["parameters"]:
        assert row["nominal"] is row["lower"] is row["upper"] is None
    assert document["nominal_body"] is None
    assert document["costs"] == {}
    assert document["contradiction"]["factors"]["velocity_error"] is None  # infinite: would not help
    assert "torque_relative" in document["contradiction"]["sentence"]


def test_the_file_is_strict_json_in_few_lines() -> None:
    text = encode(build_document(run(Status.INCONSISTENT)))
    assert not re.search(r"\b(NaN|Infinity)\b", text)
    assert len(text.splitlines()) < 60 + 10 + len(INTERVAL_FIELDS)


def test_the_documented_fields_are_the_written_fields() -> None:
    documented = set(documented_rows())
    written = paths(build_document(run())) | paths(build_document(run(Status.INCONSISTENT)))
    assert documented == written == {field.path for field in INTERVAL_FIELDS}


def test_the_documented_kinds_are_the_checked_kinds() -> None:
    assert documented_rows() == {field.path: field.kind for field in INTERVAL_FIELDS}
    assert {field.kind for field in INTERVAL_FIELDS} == set(INTERVAL_KINDS)


def test_unknown_fields_are_allowed() -> None:
    document = build_document(run()) | {"added_later": 3}
    assert validate_interval(document) is document


def _without(name: str) -> object:
    def change(document: dict) -> None:
        del document[name]

    return change


def _set(*path: object) -> object:
    def change(document: dict) -> None:
        node = document
        for key in path[:-2]:
            node = node[key]
        node[path[-2]] = path[-1]

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (_without("schema"), "not a result file: 'schema' or 'pipeline' is missing"),
        (_set("schema", 2), "schema 2 is not supported, this version reads 1"),
        (_without("history"), "'history' is missing"),
        (_set("history", 3, "lower", [0.0] * 9), "'history[3].lower' must be ten numbers or nulls"),
        (_set("parameters", 0, "lower", "2"), "'parameters[0].lower' must be a number or null, got '2'"),
        (_set("parameters", 0, "name", "mass"), "'parameters' must name m, m*cx"),
        (_set("parameters", 0, "lower", 9.0), "impossible bounds: m has lower 9 above upper"),
        (_set("status", "FINE"), "'status' must be a status, got 'FINE'"),
        (_set("status", "INCONSISTENT"), "m has a bound although the status is INCONSISTENT"),
        (_set("samples", "rejected", {"gap": 0.5}), "'samples.rejected' must be counts"),
        (_set("samples", 3), "'samples' must be an object, got 3"),
        (_set("window", True), "'window' must be an integer, got True"),
        (_set("solve_time_s", math.nan), "'solve_time_s' must be a number, got nan"),
        (_set("nominal_body", {"mass": 1.0}), "'nominal_body.centre_of_mass' is missing"),
    ],
)
def test_a_wrong_document_is_neither_written_nor_read(tmp_path: Path, change: object, message: str) -> None:
    document = copy.deepcopy(build_document(run()))
    change(document)
    with pytest.raises(InputError, match=re.escape(message)):
        write_result(tmp_path / "result.json", document)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not valid JSON"),
        (b"{", "not valid JSON"),
        (b"[1, 2]", "not a result file: the top level is not an object"),
        (b'{"schema": NaN}', "not valid JSON: NaN is not a JSON number"),
        (b"\xff\xfe\x00", "not valid JSON"),
        (b"[" * 100000, "not valid JSON"),
    ],
)
def test_a_damaged_file_is_one_clear_error(tmp_path: Path, content: bytes, message: str) -> None:
    file = tmp_path / "result.json"
    file.write_bytes(content)
    with pytest.raises(InputError, match=re.escape(message)) as error:
        read_result(file)
    assert str(file) in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: No such file"):
        read_result(tmp_path / "nowhere.json")


def test_a_folder_stands_for_its_result(tmp_path: Path) -> None:
    document = build_document(run())
    write_result(tmp_path / "result.json", document)
    assert read_result(tmp_path) == document


def test_thinning_keeps_ends_and_changes_of_status() -> None:
    history = results(steps=60)
    kept = thin(history, 7)
    assert len(kept) <= 7 + 1
    assert kept[0] is history[0]
    assert kept[-1] is history[-1]
    assert history[20] in kept  # the first PROVEN
    assert [step.t for step in kept] == sorted(step.t for step in kept)
    assert thin(history, 60) == list(history)


def test_the_truth_is_kept_when_known() -> None:
    assert build_document(run())["truth"] == TRUTH.tolist()
    assert build_document(run(truth=False))["truth"] is None
