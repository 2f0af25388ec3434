# SPDX-License-Identifier: Apache-2.0
"""Words and printed numbers claim no more than the result."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from shared.synthetic_run import run

from sysid_nodes.reports.interval.result_file import build_document
from sysid_nodes.reports.interval.schema import validate_interval
from sysid_nodes.reports.wording import IntervalText, likely_text, listing, number_text, symbol, unit_text, verdict
from sysid_nodes.results import Status

FINITE = st.floats(-1e4, 1e4, allow_nan=False)


@given(FINITE, st.floats(1e-9, 1e3))
def test_the_printed_interval_contains_the_interval(lower: float, width: float) -> None:
    upper = lower + width
    text = IntervalText.of(0.5 * (lower + upper), lower, upper)
    low, high = (float(end.replace("−", "-")) for end in (text.lower, text.upper))
    assert low <= lower
    assert high >= upper


def test_an_end_that_needs_no_rounding_is_not_rounded() -> None:
    assert IntervalText.of(None, 2.8, 5.2, digits=2).upper == "5.2"


@given(FINITE, st.floats(1e-9, 1e3))
def test_the_printed_interval_is_hardly_wider(lower: float, width: float) -> None:
    upper = lower + width
    text = IntervalText.of(None, lower, upper)
    printed = float(text.upper.replace("−", "-")) - float(text.lower.replace("−", "-"))
    # three significant digits of the half-width: each end moves by less than a hundredth of it
    assert printed <= 1.011 * (upper - lower) + 1e-11


@given(FINITE, st.floats(1e-6, 1e3), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_a_confidence_interval_never_prints_beyond_the_proven_one(
    lower: float, width: float, first: float, last: float
) -> None:
    upper = lower + width
    low, high = sorted(min(lower + share * width, upper) for share in (first, last))
    assume(high - low > 1e-3 * width)
    row = {"lower": lower, "upper": upper, "nominal": 0.5 * (low + high), "likely_lower": low, "likely_upper": high}
    assume((low, high) != (lower, upper))
    for digits in (2, 3):  # of the headline and of the table
        proven = IntervalText.of(None, lower, upper, digits=digits)
        text = likely_text(row, proven)
        assert text is not None
        shown = text.ends
        assert proven.ends[0] <= shown[0] <= low and high <= shown[1] <= proven.ends[1]
        assert shown[1] - shown[0] <= 1.5 * (high - low) + 1e-11


def test_a_confidence_interval_has_no_more_digits_than_are_known() -> None:
    row = {"lower": 2.1, "upper": 3.5, "nominal": 2.8123, "likely_lower": 2.7789, "likely_upper": 2.8497}
    assert likely_text(row) == IntervalText("2.81", "2.77", "2.85", "0.04")
    wide = {"lower": 0.1, "upper": 2.4, "nominal": 1.2, "likely_lower": 0.13, "likely_upper": 2.37}
    assert likely_text(wide, IntervalText.of(None, 0.1, 2.4, digits=2)) == IntervalText("1.2", "0.1", "2.4", "1.2")


def test_a_confidence_interval_beyond_the_proven_one_is_not_shown_as_its_end() -> None:
    row = {"lower": 2.436, "upper": 2.514, "nominal": 2.514, "likely_lower": 2.514 - 1e-11, "likely_upper": 2.514}
    assert likely_text(row, IntervalText.of(None, 2.436, 2.514, digits=2)) is None


def test_an_interval_without_ends_is_dashes() -> None:
    assert IntervalText.of(None, None, None) == IntervalText("–", "–", "–", "–")


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.80512, "2.805"), (-0.00042, "−0.00042"), (None, "–"), (float("nan"), "–"), (float("inf"), "∞"), (3.0, "3")],
)
def test_numbers(value: float | None, text: str) -> None:
    assert number_text(value) == text


def test_a_column_of_numbers_keeps_its_zeros() -> None:
    assert number_text(0.2, 3, zeros=True) == "0.200"
    assert number_text(123.0, 3, zeros=True) == "123"


def test_digits_before_the_point_are_all_there() -> None:
    assert [number_text(value, 2) for value in (152.3, -99.4, 3.0e9)] == ["152", "−99", "3e+09"]


@pytest.mark.parametrize(
    ("unit", "text"),
    [
        ("kg m2", "kg·m²"),
        ("N m s/rad", "N·m·s/rad"),
        ("W/(N m)^2", "W/(N·m)²"),
        ("1", ""),
        ("kg, kg m, kg m2", "kg, kg·m, kg·m²"),
    ],
)
def test_units(unit: str, text: str) -> None:
    assert unit_text(unit) == text


@pytest.mark.parametrize(
    ("name", "html"),
    [("m", "<i>m</i>"), ("Ixy", "<i>I</i><sub>xy</sub>"), ("m*cz", "<i>m</i>&#8201;<i>c</i><sub>z</sub>")],
)
def test_symbols(name: str, html: str) -> None:
    assert symbol(name) == html


def test_listing() -> None:
    assert listing(["a"]) == "a"
    assert listing(["a", "b", "c"]) == "a, b and c"


@pytest.mark.parametrize(
    ("status", "tone", "headline"),
    [
        (Status.PROVEN, "good", "The mass is 2.81 kg (2.79 to 2.82 with 95 % confidence), proven between"),
        (Status.NOT_EXCITED, "wait", "The mass is 2.81 kg (2.79 to 2.82 with 95 % confidence), proven between"),
        (Status.ESTIMATED, "wait", "The mass is estimated between"),
        (Status.WAITING, "wait", "Nothing was learnt"),
        (Status.INCONSISTENT, "bad", "The data contradict the stated assumptions"),
        (Status.DOUBTFUL, "bad", "The mass seems to lie between"),
        (Status.UNWEIGHED, "wait", "Nothing is claimed: it takes 48 windows of 0.1 s, 4.8 s of usable data, to weigh"),
    ],
)
def test_the_verdict_follows_the_status(status: Status, tone: str, headline: str) -> None:
    told = verdict(build_document(run(status)))
    assert told.tone == tone
    assert told.headline.startswith(headline)
    assert ("proven" in told.label.lower()) == (status in (Status.PROVEN, Status.NOT_EXCITED))


def test_the_verdict_names_blind_directions() -> None:
    assert "Izz and Ixx + Iyy" in " ".join(verdict(build_document(run(Status.NOT_EXCITED))).sentences)


def test_the_verdict_admits_a_miss() -> None:
    document = build_document(run())
    document["truth"][0] = 9.0
    assert "outside the interval of m." in " ".join(verdict(document).sentences)


def test_a_payload_is_called_one() -> None:
    document = build_document(run()) | {"target": "payload"}
    assert verdict(document).headline.startswith("The payload's mass is 2.81 kg")


def test_without_a_confidence_interval_of_its_own_the_proven_one_is_the_headline() -> None:
    document = build_document(run())
    mass = document["parameters"][0]
    mass |= {"likely_lower": mass["lower"], "likely_upper": mass["upper"]}
    assert verdict(document).headline.startswith("The mass lies between")
    for earlier in ("likely_lower", "likely_upper"):
        mass.pop(earlier)
    assert verdict(validate_interval(document)).headline.startswith("The mass lies between")


def test_a_changed_payload_is_the_headline() -> None:
    document = build_document(run(Status.INCONSISTENT))
    document["contradiction"] |= {"payload_changed": True, "change_time": 5.1}
    told = verdict(document)
    assert told.headline == "The payload changed, or else the robot did"
    assert "5.100 s" in told.sentences[0]


def test_an_estimate_without_intervals_claims_none() -> None:
    document = build_document(run(Status.ESTIMATED))
    for row in document["parameters"]:
        row["lower"] = row["upper"] = None
    told = verdict(document)
    assert told.headline.endswith(" kg, nothing said of its error")
    assert "–" not in told.headline
    assert len(told.sentences) == 1
