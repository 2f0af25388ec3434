# SPDX-License-Identifier: Apache-2.0
"""What is kept of a motion, how it is compared with a truth, and the page made of it."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.legged_bag import write_truth
from shared.legged_log import average_forces as slow_average
from shared.legged_readings import START, feed_all, make_session, record
from shared.report_pages import without_scripts

from sysid_nodes.cli.prime.replay import summary_line
from sysid_nodes.exceptions import InputError
from sysid_nodes.logs import BagWriter
from sysid_nodes.reports.files import read_document
from sysid_nodes.reports.json_text import encode
from sysid_nodes.reports.prime.bag import PrimeBag
from sysid_nodes.reports.prime.live import compare_live
from sysid_nodes.reports.prime.report import render_prime_report
from sysid_nodes.reports.prime.run import PrimeRun, run_document
from sysid_nodes.reports.prime.schema import PRIME_FIELDS, RUN_FIELDS, validate_prime
from sysid_nodes.reports.prime.series import (
    PrimeCollector,
    PrimeSeries,
    read_prime_series,
    write_prime_series,
)
from sysid_nodes.reports.prime.truth import PrimeTruth, f1, feet, read_truth, score, sum_by_foot, triangle_means
from sysid_nodes.results.prime_mode import HORIZON
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.update import PrimeUpdate
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig
from sysid_nodes.simulation.legged.truth import TruthSeries

DOC = Path(__file__).parents[3] / "docs" / "prime" / "result.md"
ROBOT = load_robot("go2")


@pytest.fixture(scope="module")
def fed() -> tuple[PrimeSession, list[PrimeUpdate]]:
    """A session whose estimator says that the robot stands still at the origin on one foot."""
    session = make_session()
    return session, feed_all(session, [reading for reading in record()[0] if reading.stamp < START + 2.0])


@pytest.fixture(scope="module")
def series(fed: tuple[PrimeSession, list[PrimeUpdate]]) -> PrimeSeries:
    collector = PrimeCollector()
    for update in fed[1]:
        collector.add(update)
    return collector.series()


def truth_of(series: PrimeSeries) -> PrimeTruth:
    """A truth that is what was estimated."""
    return PrimeTruth(series.theta[-1], 15.0, series.base[:, :3], series.base[:, 3:], series.force)


def document_of(session: PrimeSession, series: PrimeSeries, **facts: Any) -> dict[str, Any]:
    run = PrimeRun(session, series, HORIZON, "bags/<walk>", 1.0, versions={"online_sysid": "1"}, **facts)
    return run_document(run)


# -- the series


def test_every_published_stage_is_kept_once(series: PrimeSeries) -> None:
    np.testing.assert_allclose(np.diff(series.t), 0.01, atol=1e-6)
    assert series.force.shape == (len(series.t), 4, 3)
    assert series.theta.shape == (len(series.solved), 1, 10)
    assert series.bodies == ("base",)
    np.testing.assert_allclose(series.force[:, 0], np.broadcast_to([5.0, 0.0, 50.0], (len(series.t), 3)))


def test_a_series_survives_its_file(series: PrimeSeries, tmp_path: Path) -> None:
    truth = truth_of(series)
    write_prime_series(tmp_path / "series.npz", series, truth.arrays())
    again, arrays = read_prime_series(tmp_path / "series.npz")
    assert (again.contacts, again.sensors, again.bodies) == (series.contacts, series.sensors, series.bodies)
    np.testing.assert_array_equal(again.t, series.t)  # in full, the rest in single precision
    np.testing.assert_allclose(again.force, series.force, rtol=1e-6)
    np.testing.assert_array_equal(again.on_ground, series.on_ground)
    assert arrays is not None
    np.testing.assert_array_equal(PrimeTruth.of(arrays).force, truth.force)
    assert PrimeTruth.of(arrays).total_mass == 15.0


@pytest.mark.parametrize("content", [b"", b"PK", b"not a zip", None])
def test_a_file_that_is_no_series_is_told(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "series.npz"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError, match=r"not a series of a motion|no such file"):
        read_prime_series(path)


def test_nothing_is_no_series() -> None:
    with pytest.raises(InputError, match="nothing was estimated"):
        PrimeCollector().series()


# -- the truth


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.02, 0.013]))
def test_triangle_means_are_those_of_a_fine_sum(seed: int, dt: float) -> None:
    rng = np.random.default_rng(seed)
    h, count = 0.002, 60
    force = rng.normal(size=(count, 2, 3))
    start, times = 7.0, 7.0 + np.array([0.0, 0.02, 0.041, 0.0605, 0.09, 0.119])
    found = triangle_means(start, h, force, times, dt)
    blank = np.zeros(0)
    truth = TruthSeries(start + h * np.arange(count), h, blank, blank, blank, blank, force, blank, blank, blank, blank)
    expected = slow_average(truth, times, dt)
    known = np.isfinite(expected[:, 0, 0])
    np.testing.assert_array_equal(
        np.isfinite(found[:, 0, 0]), (times - dt >= start) & (times + dt <= start + h * count)
    )
    both = known & np.isfinite(found[:, 0, 0])
    assert both.sum() >= 2
    # the reference counts each tick in ten parts
    np.testing.assert_allclose(found[both], expected[both], atol=0.03)


def test_the_mean_of_a_constant_is_that_constant() -> None:
    found = triangle_means(0.0, 0.002, np.full((100, 1, 3), 40.0), np.array([0.05, 0.1]), 0.01)
    np.testing.assert_allclose(found, 40.0, rtol=1e-9)


def test_an_estimate_that_is_the_truth_has_no_errors(series: PrimeSeries) -> None:
    found = score(series, truth_of(series), ROBOT)
    assert found["force_error"] == found["force_rms"] == found["position_rms"] == 0.0
    assert found["contact_f1"] == 1.0
    assert found["bodies"][0]["mass_error"] == found["bodies"][0]["centre_of_mass_error"] == 0.0


def test_errors_are_what_they_are_called(series: PrimeSeries) -> None:
    truth = truth_of(series)
    wrong = replace(
        truth, force=truth.force * [1.0, 1.0, 1.1], position=truth.position + np.array([0.003, 0.0, 0.004]),
        parameters=truth.parameters * ([1.25] + [1.0] * 9),
    )  # fmt: skip
    found = score(series, wrong, ROBOT)
    assert found["force_rms"] == pytest.approx(5.0 / 2.0)  # 5 N at one foot of four
    assert found["force_error"] == pytest.approx(5.0 / np.hypot(5.0, 55.0))
    assert found["position_rms"] == pytest.approx(0.005)
    assert found["bodies"][0]["mass_error"] == pytest.approx(-0.2)
    assert found["contact_f1"] == 1.0


def test_the_simulators_files_are_read(series: PrimeSeries, tmp_path: Path) -> None:
    sim = LeggedRobotSim(LeggedSimulationConfig(motion="stand"), np.random.default_rng(1), start=START)
    for _ in sim.run(0.5):
        pass
    truth = read_truth(write_truth(tmp_path, sim, START), ROBOT, series)
    inside = np.isfinite(truth.force).all(axis=(1, 2))
    assert inside[(series.t > START + 0.02) & (series.t < START + 0.48)].all()
    assert not inside[series.t > START + 0.5].any()
    weight = 9.81 * truth.total_mass
    np.testing.assert_allclose(truth.force[inside][:, :, 2].sum(axis=1)[20:].mean(), weight, rtol=0.02)
    np.testing.assert_allclose(truth.parameters[0], sim.truth.theta)


@pytest.mark.parametrize("content", ["{}", "no json", "[]"])
def test_what_is_no_truth_is_told(content: str, series: PrimeSeries, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_truth(tmp_path, ROBOT, series)
    (tmp_path / "truth.json").write_text(content, encoding="utf-8")
    (tmp_path / "truth.npz").write_bytes(b"")
    with pytest.raises(InputError, match="not the truth of a simulated robot"):
        read_truth(tmp_path, ROBOT, series)


def test_feet_are_the_points_of_one_link() -> None:
    names, index = feet(load_robot("g1"))
    assert names == ("left", "right")
    np.testing.assert_array_equal(np.bincount(index), [4, 4])
    assert feet(ROBOT)[0] == ("FL_foot", "FR_foot", "RL_foot", "RR_foot")
    summed = sum_by_foot(np.ones((2, 8, 3)), index)
    np.testing.assert_array_equal(summed, np.full((2, 2, 3), 4.0))


def test_f1_counts_both_kinds_of_error() -> None:
    true = np.array([True, True, False, False])
    assert f1(true, true) == 1.0
    assert f1(~true, true) == 0.0
    assert f1(np.array([True, False, False, False]), true) == pytest.approx(2.0 / 3.0)
    assert f1(np.array([True, True, True, False]), true) == pytest.approx(0.8)
    assert f1(~np.ones(3, bool), ~np.ones(3, bool)) == 1.0


# -- live against replay


def test_a_live_nodes_messages_are_compared_stage_by_stage(
    fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries, tmp_path: Path
) -> None:
    with PrimeBag(tmp_path / "live.mcap", ROBOT, (0.0, 0.0, 1.0)) as bag:
        for update in fed[1][2:]:
            bag.write(update)
        bag.write(fed[1][-1])  # told again, as after a change of status
    same = compare_live(tmp_path / "live.mcap", series, {})
    assert same["compared"] == same["stages"] < len(series.t)
    assert same["largest_force_difference"] == same["largest_position_difference"] == same["mass_difference"] == 0.0
    assert "the numbers are the live node's" in same["sentence"]
    moved = replace(series, force=series.force + np.array([0.0, 3.0, 4.0]))
    counts = {"recorded /imu/data": 10, "received /imu/data": 8}
    other = compare_live(tmp_path / "live.mcap", moved, counts, "it was slow")
    assert other["force_difference_rms"] == other["largest_force_difference"] == pytest.approx(5.0)
    assert "differ from the live node's by 5 N (RMS)" in other["sentence"]
    assert "(it was slow; of /imu/data the live node got 8 messages and the recording has 10)" in other["sentence"]


def test_a_live_node_that_published_no_estimate_is_said_to(series: PrimeSeries, tmp_path: Path) -> None:
    with BagWriter(tmp_path / "live.mcap") as bag:
        bag.add_topic("/contact_forces", "online_sysid/msg/ContactForces")
        bag.add_topic("/odom", "nav_msgs/msg/Odometry")
        bag.write("/odom", 1, {})
    found = compare_live(tmp_path / "live.mcap", series, {}, "it was slow")
    assert (found["stages"], found["compared"], found["largest_force_difference"]) == (0, 0, None)
    assert found["sentence"] == "The live node published no estimate (it was slow)."


# -- the result


def test_every_field_is_documented_with_its_kind() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", DOC.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [(field.path, field.kind) for field in (*PRIME_FIELDS, *RUN_FIELDS)]


def test_a_result_is_valid_and_survives_its_file(
    fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries, tmp_path: Path
) -> None:
    document = document_of(fed[0], series, truth=truth_of(series))
    (tmp_path / "result.json").write_text(encode(document), encoding="utf-8")
    assert validate_prime(read_document(tmp_path)) == json.loads(json.dumps(document))
    foot = document["run"]["feet"][0]
    assert (foot["name"], foot["on_ground"], foot["touchdowns"], foot["peak_force"]) == ("FL_foot", 1.0, 0, 50.0)
    assert document["run"]["feet"][1]["on_ground"] == 0.0
    # what a live node saves is a result as well
    del document["run"]
    validate_prime(document)


@pytest.mark.usefixtures("blank_figures")
def test_forces_that_are_not_observed_are_no_values(
    fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As without any torque: null in the file, words in message, page and summary; that a foot is down stays."""
    session, truth = fed[0], truth_of(series)
    blank = replace(series, force=np.full_like(series.force, np.nan), force_sigma=np.full_like(series.force, np.nan))
    assert session.estimate is not None
    contacts = replace(session.estimate.contacts, force=np.full_like(session.estimate.contacts.force, np.nan))
    monkeypatch.setattr(session, "_estimate", replace(session.estimate, contacts=contacts))
    document = document_of(session, blank, truth=truth)
    validate_prime(document)
    foot, found = document["run"]["feet"][0], document["run"]["truth"]
    assert (foot["on_ground"], foot["mean_force"], foot["peak_force"]) == (1.0, None, None)
    assert found["force_error"] is None and found["force_rms"] is None and found["contact_f1"] is not None
    assert "forces are not observed" in document["message"]
    assert "forces are not observed" in summary_line(document)
    assert "forces are not observed" not in summary_line(document_of(fed[0], series))
    assert "Not observed: without any reading of a torque" in render_prime_report(document, blank, truth, ROBOT)


def test_sigmas_are_raised_at_once(
    fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of messages, where constants cannot be and the status has yet to say so; values stay."""
    session = fed[0]
    plain = document_of(session, series)
    monkeypatch.setattr(session, "judgement", replace(session.judgement, inflation=9.0))
    raised = document_of(session, series)
    for before, after in zip(plain["bodies"][0]["parameters"], raised["bodies"][0]["parameters"], strict=True):
        assert after["sigma"] == pytest.approx(3.0 * before["sigma"])
        assert after["estimate"] == before["estimate"]
    assert raised["bodies"][0]["centre_of_mass_sigma"][0] == pytest.approx(
        3.0 * plain["bodies"][0]["centre_of_mass_sigma"][0]
    )


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"schema": 2}, "schema 2 is not supported"),
        ({"status": "FINE"}, "'status' must be a prime status, got 'FINE'"),
        ({"bodies": [{}]}, r"'bodies\[0\].link' is missing"),
        ({"run": {}}, "'run.mode' is missing"),
        ({"pipeline": "interval"}, "not a result of the pipeline 'prime'"),
    ],
)
def test_what_is_wrong_in_a_result_is_told(
    change: dict[str, Any], line: str, fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries
) -> None:
    with pytest.raises(InputError, match=line):
        validate_prime(document_of(fed[0], series) | change)


# -- the page


def test_the_page_tells_all(fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries) -> None:
    truth = truth_of(series)
    document = document_of(fed[0], series, truth=truth, live={"sentence": "Live was <the same>."})
    document["findings"] = ["something is <odd>"]
    page = render_prime_report(document, series, truth, ROBOT)
    for section in ("findings", "contacts", "forces", "parameters", "motion", "sensors", "settings"):
        assert f'<section id="{section}"' in page
    assert "something is &lt;odd&gt;" in page
    assert "Live was &lt;the same&gt;." in page
    assert "bags/&lt;walk&gt;" in page
    assert "Against the known truth: mass 0.00 %" in page
    assert page.count('aria-label="Contact force of') == 4
    for picture in ("When each foot is on the ground", "way, its contacts and forces", "Error of the base"):
        assert page.count(picture) == 1
    assert "base weighs" in page
    assert "http:" not in re.sub(r"<svg.*?</svg>", "", without_scripts(page), flags=re.DOTALL)  # nothing from elsewhere
    ids = re.findall(r' id="([^"]+)"', page)
    assert len(ids) == len(set(ids))


@pytest.mark.usefixtures("blank_figures")
def test_a_page_without_a_truth_claims_none(fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries) -> None:
    page = render_prime_report(document_of(fed[0], series), series, None, ROBOT)
    assert "truth" not in re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL).lower()
    assert "Error of the base" not in page


@pytest.mark.usefixtures("blank_figures")
def test_what_is_not_to_be_relied_on_looks_like_it(
    fed: tuple[PrimeSession, list[PrimeUpdate]], series: PrimeSeries
) -> None:
    bad = replace(
        series, status=np.where(np.arange(len(series.t)) % 2, 3, 1),
        on_ground=np.zeros_like(series.on_ground), force=np.zeros_like(series.force),  # fallen: no foot on the ground
    )  # fmt: skip
    document = document_of(fed[0], bad) | {"status": "DOUBTFUL", "message": "no"}
    page = render_prime_report(document, bad, None, ROBOT)
    assert '<p class="verdict bad"><strong>Not to be relied on in the end</strong>' in page
    share = 100.0 * float(np.mean(bad.status == 3))
    assert f"{share:.1f} % of the stages were published as not to be relied on" in page
