# SPDX-License-Identifier: Apache-2.0
"""Where a robot falls in a log, and what is estimated of such a log."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared import legged_readings
from shared.legged_readings import START, feed_all, leaning, make_session, readings_of, record

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.models.rotations import quaternion_exp, quaternion_product
from sysid_nodes.results.prime import Fit, PrimeEstimate
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.robots import Robot, load_robot
from sysid_nodes.sessions.live_session import Level
from sysid_nodes.sessions.prime.batch import Gatherer, StreamRecord, solve_batch
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.fall import FALLEN, FallWatch, find_fall, first_stages
from sysid_nodes.sessions.prime.live import LivePrime
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.stretches import Stretch, extend_stretches
from sysid_nodes.sessions.prime.trust import CONSISTENCY, PrimeJudgement
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.samples import AlignedSteps, Samples

UP = (0.0, 0.0, 1.0)


def steps(lean: np.ndarray, mounted: float = 0.7, **others: Samples) -> AlignedSteps:
    """Readings every second step of an IMU that is mounted askew on a base that leans about x, and turns."""
    at = np.arange(0, len(lean), 2)
    turned = quaternion_exp(np.outer(0.02 * at, [0.0, 0.0, 1.0]))
    tipped = quaternion_exp(np.outer(lean[at], [1.0, 0.0, 0.0]))
    askew = quaternion_exp(np.array([[0.0, mounted, 0.0]]))
    values = quaternion_product(turned, quaternion_product(tipped, np.repeat(askew, len(at), axis=0)))
    own = Samples(at.astype(np.intp), values, np.ones(len(at)))
    return AlignedSteps(0, 0, 5.0 + 0.01 * np.arange(len(lean)), {"imu_orientation": own, **others})


def test_it_begins_where_the_base_last_was_upright() -> None:
    lean = np.concatenate([np.full(40, 0.275), np.linspace(0.29, 1.5, 122)])  # 0.15 more than at first at step 54
    fall = find_fall(steps(lean), UP)
    assert fall is not None
    assert fall.stages == 53  # the last reading that is below is that of step 52, of the even ones
    assert fall.t == pytest.approx(5.53)
    assert fall.lean == pytest.approx(1.5 - 0.275, abs=0.03)


@pytest.mark.parametrize("lean", [np.zeros(50), np.linspace(0.0, 0.95, 50), np.linspace(0.0, -0.95, 50)])
def test_walks_and_bows_are_none(lean: np.ndarray) -> None:
    assert find_fall(steps(lean), UP) is None
    assert find_fall(AlignedSteps(0, 0, np.arange(3.0), {}), UP) is None


def test_only_what_was_before_it_is_kept() -> None:
    kept = first_stages(steps(np.zeros(50)), 11)
    assert len(kept) == 11
    assert kept.samples["imu_orientation"].steps.tolist() == [0, 2, 4, 6, 8, 10]


def test_a_log_that_begins_with_a_fall_is_refused_in_one_line() -> None:
    gathered = Gatherer()
    session = PrimeSession(load_robot("go2"), PrimeSessionConfig(), lambda: gathered, clock=lambda: 0.0)
    gathered.push(steps(np.linspace(0.0, 1.6, 60)))
    line = (
        r"^no motion could be estimated: the robot falls 0.0 s into the log, where its base leans by up to 9\d degrees"
    )
    with pytest.raises(ExcitationError, match=line):
        solve_batch(session, gathered, StreamRecord.empty())


def test_it_is_the_same_whether_a_log_comes_at_once_or_step_by_step() -> None:
    lean = np.concatenate([np.zeros(30), np.linspace(0.0, 1.5, 60)])
    log, watch = steps(lean), FallWatch(UP)
    for k in range(len(log)):
        watch.take(first_stages(log, k + 1) if k == 0 else part(log, k))
    fall = find_fall(log, UP)
    assert fall is not None and watch.fall is not None
    assert fall.t == pytest.approx(watch.fall.upright + 0.01)
    assert fall.lean == watch.fall.lean


def part(log: AlignedSteps, k: int) -> AlignedSteps:
    """Step k alone."""
    samples = {name: own.between(k, k + 1) for name, own in log.samples.items()}
    return replace(log, first=k, times=log.times[k : k + 1], samples=samples)


def test_single_readings_that_say_so_are_garbage() -> None:
    lean = np.zeros(80)
    lean[[20, 40, 42]] = 2.0  # readings are of every second step: 0.02 s apart
    assert find_fall(steps(lean), UP) is None
    lean[44] = 2.0
    assert find_fall(steps(lean), UP) is not None


@pytest.mark.parametrize(("lies", "over"), [(0.35, True), (0.6, False)])
def test_a_robot_has_to_stand_for_a_while_to_be_believed_again(lies: float, over: bool) -> None:
    lean = np.concatenate([np.zeros(20), np.full(20, 1.5), np.full(120, lies)])
    log, watch = steps(lean), FallWatch(UP, held=1.0)
    assert watch.finding(0.0) is None
    watch.take(first_stages(log, 130))
    found = watch.finding(6.3)
    assert found is not None, "for 0.9 s"
    assert found.message == (
        "the robot has fallen: its base leans by up to 86 degrees; nothing is believed until it has stood for 1 s or "
        "the estimator is reset"
    )
    for k in range(130, 160):
        watch.take(part(log, k))
    assert (watch.finding(6.6) is None) == over


def falls(t: float) -> float:
    """Between 0.8 and 1.2 s the base goes from 0 to 1.6 rad, and is back after 1.5 s."""
    return float(np.interp(t, [0.8, 1.2, 1.4, 1.5], [0.0, 1.6, 1.6, 0.0]))


def test_nothing_is_good_from_a_fall_until_the_robot_stands_again() -> None:
    session = make_session()
    updates = feed_all(session, leaning(record(3.0)[0], falls))
    t = np.array([update.t for update in updates]) - START
    status = np.array([update.judgement.status for update in updates])
    assert set(status[t < 1.0]) == {PrimeStatus.GOOD}
    lies = (t > 1.15) & (t < 2.4)  # 1 rad is passed after 1.05 s; 0.4 rad again after 1.475 s, and a second later
    assert set(status[lies]) == {PrimeStatus.DOUBTFUL}
    assert set(status[t > 2.65]) == {PrimeStatus.GOOD}
    said = {update.judgement.sentence for update, lying in zip(updates, lies, strict=True) if lying}
    assert all("the robot has fallen: its base leans by up to" in line for line in said)
    assert session.whole_status is PrimeStatus.DOUBTFUL
    assert [stretch.status.name for stretch in session.stretches] == ["GOOD", "DOUBTFUL", "GOOD"]
    assert "the robot has fallen" in session.stretches[1].why


def test_a_stretch_names_the_fall_though_residuals_were_in_doubt_before() -> None:
    stretches: list[Stretch] = []
    doubt = Finding(CONSISTENCY, "contact", 0.0, "feet slide")
    fallen = Finding(FALLEN, "robot", 0.0, "the robot has fallen")
    for t, findings in ((1.0, (doubt,)), (1.1, (fallen, doubt)), (1.2, (fallen,))):
        extend_stretches(stretches, PrimeJudgement(PrimeStatus.DOUBTFUL, findings), t)
    assert [(entry.why, entry.start, entry.end) for entry in stretches] == [
        ("feet slide", 1.0, 1.0),
        ("the robot has fallen", 1.0, 1.2),
    ]


def test_on_its_belly_it_does_not_stand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Upright, but with forces that no foot gives: residuals speak against it, and the time begins anew."""
    misfit = {"dynamics": Fit(10, 9.0)}
    made = legged_readings.still
    monkeypatch.setattr(legged_readings, "still", lambda robot, times: replace(made(robot, times), fit=misfit))
    session = make_session()
    feed_all(session, leaning(record(3.0)[0], falls))
    assert session.judgement.fallen


def test_while_it_lies_constants_are_those_of_before(monkeypatch: pytest.MonkeyPatch) -> None:
    made = legged_readings.still

    def still(robot: Robot, times: np.ndarray) -> PrimeEstimate:
        found = made(robot, times)
        (body,) = found.bodies
        return replace(found, bodies=(replace(body, parameters=(times[-1] - START) * body.parameters),))

    monkeypatch.setattr(legged_readings, "still", still)
    session = make_session()
    updates = feed_all(session, leaning(record(3.0)[0], falls))
    share = np.array([update.estimate.bodies[0].mass for update in updates]) / session.robot.inertial_parameters()[0, 0]
    at = np.array([float(update.estimate.t[-1]) for update in updates]) - START
    lies = np.array([update.judgement.fallen for update in updates])
    np.testing.assert_allclose(share[~lies], at[~lies], rtol=1e-9)
    np.testing.assert_allclose(share[lies], 0.1, atol=0.11)  # the first of two that are 0.8 s apart, before 1.05 s


def test_a_reset_forgets_the_fall() -> None:
    session, readings = make_session(), record(3.0)[0]
    feed_all(session, leaning(readings, lambda t: float(np.interp(t, [0.5, 0.9], [0.0, 1.6]))))
    assert session.judgement.fallen and session.judgement.faults()["robot"] == "fallen"
    session.reset()
    assert not session.judgement.fallen
    feed_all(session, readings)
    assert session.judgement.status is PrimeStatus.GOOD


def test_a_node_says_it_once_whatever_was_wrong_before() -> None:
    said: list[PrimeJudgement] = []
    session = make_session()
    live = LivePrime(
        session,
        capacity=5,
        write=lambda path, _: Path(path),
        publish=lambda _: None,
        judged=lambda _, now: said.append(now),
        complain=lambda _: None,
    )
    try:
        for reading in leaning(record(3.0)[0], falls):
            live._process((lambda message: [readings_of(message)], reading, time.monotonic()))
            if session.judgement.fallen:
                assert live.report(active=True).level is Level.ERROR
    finally:
        live.stop()
    fallen = [judgement for judgement in said if judgement.fallen]
    assert len(fallen) == 1
