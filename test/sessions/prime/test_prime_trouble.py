# SPDX-License-Identifier: Apache-2.0
"""Trouble that no stream's transport shows, late clocks, slippery ground, a fall: the estimate is right or says so."""

from __future__ import annotations

import numpy as np
import pytest
from shared.firm_contacts import hold_firm
from shared.legged_readings import START, feed_all, make_session, record, spoilt, still
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.config import from_flat
from sysid_nodes.models.discrete_motion import difference
from sysid_nodes.results.prime import Fit, PrimeEstimate
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.prime.config import TrustConfig
from sysid_nodes.sessions.prime.trust import Trust
from sysid_nodes.sessions.prime.update import PrimeUpdate
from sysid_nodes.simulation.legged import Fault, LeggedRobotSim, LeggedSimulationConfig

LIVE = {
    "pacing__hop": 1,
    "pacing__most_hop": 1,
    "pacing__shortest": 30,
    "horizon__window": 30,
    "horizon__iterations": 1,
}
"""The live pace: a solve every step."""


def follow(
    duration: float, told: dict[str, object] | None = None, **options: object
) -> tuple[list[PrimeUpdate], np.ndarray, LeggedRobotSim]:
    """What is published of a run, the base's error in units of sigma (N, 3) and its length [m] (N,) as last column;
    `told` to the estimator."""
    flat = {name.replace("__", "."): value for name, value in options.items()}
    config = from_flat(LeggedSimulationConfig, {"load.mass": 3.0, **flat})
    sim = LeggedRobotSim(config, np.random.default_rng(3), start=START)
    updates = feed_all(make_session(real=True, **LIVE, **(told or {})), sim.run(duration))
    series = sim.series()
    at = [int(np.argmin(np.abs(series.time + START - update.t))) for update in updates]
    rows = []
    for k, update in zip(at, updates, strict=True):
        q, covariance = update.estimate.q[update.stage], update.estimate.q_covariance[update.stage]
        wrong = difference(series.q[k : k + 1], q[None])[0, :3]
        rows.append([*(wrong / np.sqrt(np.diag(covariance)[:3] * update.judgement.inflation)), np.linalg.norm(wrong)])
    return updates, np.array(rows), sim


def trusted(updates: list[PrimeUpdate]) -> np.ndarray:
    return np.array([update.judgement.status.trusted for update in updates])


# -- a stream whose stamps are late


IMU = ("gyroscope", "accelerometer", "imu_orientation")


@pytest.mark.parametrize(
    ("motion", "stream", "late"),
    [
        pytest.param("sway", "mocap", ("mocap_pose",), marks=pytest.mark.slow),
        pytest.param("trot", "mocap", ("mocap_pose",), marks=pytest.mark.slow),
        ("hop", "imu", IMU),
    ],
)
def test_a_stream_that_is_20_ms_late_is_named_with_its_delay(motion: str, stream: str, late: tuple[str, ...]) -> None:
    """And with that delay in the configuration all is well."""
    readings = spoilt(record(4.5, motion)[0], Fault(stream, "late"))
    session = make_session()
    updates = feed_all(session, readings)
    assert session.judgement.faults() == {late[0]: "offset"}
    assert session.judgement.status is PrimeStatus.DOUBTFUL
    assert {update.judgement.status for update in updates if update.t < START + 1.9} == {PrimeStatus.GOOD}
    (finding,) = session.judgement.findings
    told = float(finding.message.split("should be ")[1].split(" s")[0])
    assert told == pytest.approx(0.02, abs=0.006)  # the trot hardly moves the body; swaying tells to 2 ms
    mended = make_session(**{f"prime__sensors__{name}__delay": told for name in late})
    feed_all(mended, readings)
    assert mended.judgement.findings == ()


@pytest.mark.parametrize("motion", mark_slow(["sway", "hop", "trot", "stand"], but=["trot"]))
def test_streams_in_time_raise_no_alarm(motion: str) -> None:
    session = make_session()
    updates = feed_all(session, record(4.5, motion)[0])
    assert {update.judgement.status for update in updates} == {PrimeStatus.GOOD}


def test_a_late_pose_does_not_keep_the_payload_from_being_learnt() -> None:
    readings, mass = record(4.5, "sway")
    session = make_session(real=True)
    updates = feed_all(session, spoilt(readings, Fault("mocap", "late")))
    assert session.judgement.status is PrimeStatus.DOUBTFUL
    sigma = [update.estimate.bodies[0].mass_sigma for update in updates if update.t > START + 1.0]
    assert max(np.diff(sigma)) < 1e-3 * sigma[0], "nothing is forgotten"
    assert updates[-1].estimate.bodies[0].mass == pytest.approx(mass, rel=0.01)


# -- ground and robot


@pytest.mark.parametrize(("motion", "duration"), mark_slow([("trot", 1.3), ("sway", 1.0)], but=[("sway", 1.0)]))
def test_on_slippery_ground_a_wrong_place_is_not_trusted(
    motion: str, duration: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Friction is 0.2 where 0.8 is taken for exact, and contacts for firm: feet that push slide, and the base is up to
    60 mm from where it seems.

    What is trusted stays within five sigma, and within 5 mm.
    """
    hold_firm(monkeypatch)
    exact: dict[str, object] = {"prime__contact__friction_sigma": 0.0}
    updates, wrong, _ = follow(duration, exact, motion=motion, ground__friction=0.2)
    assert wrong[:, 3].max() > 0.02, "they slip"
    good = trusted(updates)
    assert np.abs(wrong[good, :3]).max() < 5.0
    assert wrong[good, 3].max() < 0.005
    doubted = [update.judgement for update, fine in zip(updates, good, strict=True) if not fine]
    assert all(judgement.status is PrimeStatus.DOUBTFUL for judgement in doubted)
    assert "feet slide" in doubted[0].sentence
    assert all(judgement.inflation > 1.0 for judgement in doubted[:5])


def test_slippery_ground_is_found_to_be_so() -> None:
    """The same sway, friction unknown: 2.6 mm at most, where 60 were."""
    updates, wrong, _ = follow(1.0, motion="sway", ground__friction=0.2)
    assert wrong[:, 3].max() < 0.005
    assert np.abs(wrong[trusted(updates), :3]).max() < 5.0


@pytest.mark.slow  # of whole logs: test_robust_logs.py
def test_less_friction_than_assumed_is_fine_as_long_as_feet_hold() -> None:
    updates, wrong, _ = follow(1.0, motion="trot", ground__friction=0.35)
    assert trusted(updates).all()
    errors = np.sort(np.abs(wrong[:, :3]).max(axis=1))
    assert errors[-2] < 3.0
    assert errors[-1] < 6.0, "one update as a foot lands and slides: 2.3 mm of height"


def test_a_fall_is_doubted_from_the_push_on() -> None:
    """A push of 250 N is a force that no contact gives; then the trunk lies on the ground, which the model has not.

    What lasts longer than 0.1 s, as an impact's traces do not, is no longer trusted; until then the covariance counts.
    """
    push = 0.6
    updates, wrong, sim = follow(
        1.5, motion="trot", push__start=push, push__duration=0.4, push__force=(0.0, 250.0, 0.0)
    )
    assert sim.series().q[-1, 2] < 0.2, "it falls"
    good, t = trusted(updates), np.array([update.t for update in updates]) - START
    assert good[t < push - 0.05].all()
    assert not good[t > push + 0.15].any()
    assert wrong[~good, 3].max() > 0.1
    assert wrong[good, 3].max() < 0.04
    assert np.abs(wrong[good, :3]).max() < 5.0
    assert updates[-1].judgement.findings


# -- what the judgement looks at


def judged(fit: dict[str, float], t: float, trust: Trust) -> tuple[PrimeStatus, float]:
    robot = load_robot("go2")
    plain = still(robot, t + np.array([-0.02, -0.01, 0.0]))
    values = {name: Fit(10, rms) for name, rms in fit.items()}
    estimate = PrimeEstimate(**{**vars(plain), "fit": values})
    found = trust.judge(estimate, (), "", t)
    return found.status, found.inflation


def test_residuals_of_the_contact_model_count_at_once_and_those_of_the_dynamics_after_a_while() -> None:
    trust = Trust((), TrustConfig(), 0.25)
    assert judged({"contact": 1.4, "dynamics": 2.4, "arrival": 2.4}, 1.0, trust) == (PrimeStatus.GOOD, 1.0)
    assert judged({"dynamics": 3.0}, 1.01, trust) == (PrimeStatus.GOOD, 9.0)
    assert judged({"dynamics": 3.0}, 1.11, trust) == (PrimeStatus.DOUBTFUL, 9.0)
    other = Trust((), TrustConfig(), 0.25)
    assert judged({"contact": 1.6}, 1.0, other)[0] is PrimeStatus.DOUBTFUL
    assert judged({"contact": 0.6}, 1.9, other) == (PrimeStatus.DOUBTFUL, 1.0)
    assert judged({"contact": 0.6}, 2.1, other) == (PrimeStatus.GOOD, 1.0)


def test_constants_far_from_their_prior_are_a_doubt() -> None:
    """As after a slip that feet and encoders explain: other residuals are small then."""
    trust = Trust((), TrustConfig(), 0.25)
    assert judged({"prior": 1.4, "arrival": 2.0}, 1.0, trust)[0] is PrimeStatus.GOOD
    assert judged({"prior": 2.3}, 1.01, trust)[0] is PrimeStatus.GOOD
    assert judged({"prior": 2.3}, 1.11, trust)[0] is PrimeStatus.DOUBTFUL
