# SPDX-License-Identifier: Apache-2.0
"""Every input of the robust controller gone wrong in every way, on real processes: certified motion or a stop follows.

Robot and controller run in lockstep, so that nothing here depends on the machine's speed.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from online_sysid.msg import Obstacle, Obstacles
from shared.certified_processes import BRAKING, HOLDING, IDLE, STOPPED, TRACKING, Loop
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Obstacle as SceneObstacle
from sysid_nodes.data.scene import Scene
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.systems.certified.control.config import ControllerConfig

pytestmark = pytest.mark.ros

FAR = Scene((SceneObstacle("far", "sphere", (3.0, 0.0, 0.5), (0.1,)),))


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def plan(loop: Loop) -> TrajectoryRecord:
    return loop.plan(loop.posture(), 0.2)


@pytest.fixture(scope="module")
def short(plan: TrajectoryRecord, loop: Loop) -> TrajectoryRecord:
    """Ends soon after its successor is missing."""
    return loop.plan(plan.q0, 0.1, loop.config.planner.replan + 0.3)


def at_rest(loop: Loop) -> None:
    """Waits for the robot's own stop to bring it to rest, which must not take more than a little way."""
    loop.until(lambda: loop.stop.reason)
    loop.diagnostics.clear()
    loop.until(lambda: "simulated_arm: robot" in loop.diagnostics)
    loop.until(lambda: loop.value("simulated_arm: robot", "at rest") == "True")
    # 0.25 rad/s at most, 1 rad/s2, and the 0.02 rad of StopConfig.
    assert float(loop.value("simulated_arm: robot", "stop travel [rad]")) < 0.06
    assert loop.value("simulated_arm: robot", "saturated ticks") == "0"
    assert float(loop.value("simulated_arm: robot", "clearance to itself [m]")) > 0.0


FROZEN = {StopReason.JOINT_STATES_FROZEN, StopReason.JOINT_STATES_IMPLAUSIBLE}

FAULTS: dict[str, tuple[dict[str, Any], set[StopReason]]] = {
    "off": ({"kind": "off"}, {StopReason.JOINT_STATES_LOST}),
    "off 0.005": ({"kind": "off", "duration": 0.005}, {StopReason.JOINT_STATES_INTERMITTENT}),
    "stuck stamp": ({"kind": "stuck stamp"}, {StopReason.JOINT_STATES_FROZEN}),
    "stuck stamp 0.01": ({"kind": "stuck stamp", "duration": 0.01}, {StopReason.JOINT_STATES_INTERMITTENT}),
    "stuck": ({"kind": "stuck"}, FROZEN),
    "stuck 0.05": ({"kind": "stuck", "duration": 0.05}, FROZEN),
    "one joint stuck": ({"kind": "one joint stuck"}, {StopReason.JOINT_STATES_IMPLAUSIBLE, StopReason.TRACKING_ERROR}),
    "garbage": ({"kind": "garbage"}, {StopReason.JOINT_STATES_INVALID}),
    "absurd": ({"kind": "absurd"}, {StopReason.JOINT_STATES_INVALID, StopReason.JOINT_STATES_IMPLAUSIBLE}),
    "offset 0.01": ({"kind": "offset", "size": 0.01}, {StopReason.JOINT_STATES_IMPLAUSIBLE}),
    "drift 0.05": ({"kind": "drift", "size": 0.05}, {StopReason.JOINT_STATES_IMPLAUSIBLE}),
    "velocity scaled 0.3": ({"kind": "velocity scaled", "size": 0.3}, {StopReason.JOINT_STATES_IMPLAUSIBLE}),
    "names": ({"kind": "names"}, {StopReason.JOINT_NAMES_WRONG}),
    "backwards": ({"kind": "backwards"}, {StopReason.JOINT_STATES_IMPLAUSIBLE}),
    "slow 5.0": ({"kind": "slow", "size": 5.0}, {StopReason.JOINT_STATES_SLOW, StopReason.JOINT_STATES_INTERMITTENT}),
    "delayed 5.0": ({"kind": "delayed", "size": 5.0}, {StopReason.JOINT_STATES_DELAYED}),
    "intermittent 20.0": ({"kind": "intermittent", "size": 20.0}, {StopReason.JOINT_STATES_INTERMITTENT}),
}


@pytest.mark.parametrize(
    "fault",
    # What the watch makes of each is tested in test_joint_watch.py, and of some in the closed loop in
    # test_certified_loop.py: here, silence, and what the message alone tells.
    mark_slow(FAULTS, but=["off", "garbage", "names"]),
)
def test_joint_states_gone_wrong_stop_the_robot_with_a_reason_of_its_own(
    loop: Loop, plan: TrajectoryRecord, fault: str
) -> None:
    given, reasons = FAULTS[fault]
    loop.ready()
    loop.fault(**given)
    loop.go(plan)
    status = loop.mode(STOPPED)
    assert StopReason(status.reason) in reasons
    assert status.text == StopReason(status.reason).message
    at_rest(loop)


@pytest.mark.slow  # a planner that dies: test_certified_planner_process.py
def test_without_a_successor_the_certified_end_is_followed_and_held(loop: Loop, short: TrajectoryRecord) -> None:
    loop.ready()
    loop.go(short)
    loop.reason(BRAKING, StopReason.PLANNER_SILENT)
    status = loop.mode(HOLDING)
    assert status.reason == StopReason.PLANNER_SILENT
    assert loop.stop.reason == 0
    # An encoder step and what Coulomb friction holds back.
    assert np.abs(status.position_error).max() < 0.01
    assert (np.abs(status.position_error) <= np.array(status.position_bound)).all()


NAN = [float("nan")] * 10


def scaled(bounds: Bounds, factor: float) -> Bounds:
    return Bounds(bounds.centre - factor * bounds.half_width, bounds.centre + factor * bounds.half_width)


@pytest.mark.parametrize(
    ("factor", "fields", "reason"),
    [
        pytest.param(  # this and most others without processes: test_robust_controller.py
            1.0, {"status": 3, "lower": NAN, "upper": NAN}, StopReason.BOUNDS_INCONSISTENT, marks=pytest.mark.slow
        ),
        pytest.param(1.0, {"lower": NAN}, StopReason.BOUNDS_INVALID, marks=pytest.mark.slow),
        pytest.param(1.0, {"status": 77}, StopReason.BOUNDS_INVALID, marks=pytest.mark.slow),
        pytest.param(1.0, {"body": "forearm_link"}, StopReason.BOUNDS_INVALID, marks=pytest.mark.slow),
        (1.0, {"robot": "panda"}, StopReason.BOUNDS_INVALID),
        pytest.param(1.0, {"status": 4}, StopReason.BOUNDS_INVALID, marks=pytest.mark.slow),
        (1.1, {}, StopReason.BOUNDS_WIDENED),
    ],
    ids=["inconsistent", "garbage", "status", "other-body", "other-robot", "estimated", "wider"],
)
def test_bounds_gone_wrong_brake_along_the_certified_end(
    loop: Loop, plan: TrajectoryRecord, factor: float, fields: dict[str, Any], reason: StopReason
) -> None:
    loop.ready()
    loop.go(plan)
    loop.publish_bounds(scaled(loop.config.prior.bounds, factor), **fields)
    loop.reason(BRAKING, reason)
    assert loop.stop.reason == 0


@pytest.mark.slow  # without processes: test_robust_controller.py
def test_bounds_that_say_nothing_new_tighten_or_come_when_they_like_change_nothing(
    loop: Loop, short: TrajectoryRecord
) -> None:
    """Stuck, slow, delayed and intermittent bounds: the last ones are in force, and older ones are wider."""
    loop.ready()
    loop.go(short)
    for factor in (1.0, 1.0, 0.9, 0.9, 0.8):
        loop.publish_bounds(scaled(loop.config.prior.bounds, factor))
        seen = len(loop.status)
        loop.until(lambda seen=seen: len(loop.status) > seen + 1)
    loop.mode(HOLDING)
    assert {status.reason for status in loop.status} <= {StopReason.NONE, StopReason.PLANNER_SILENT}


def test_an_obstacle_that_appears_in_the_path_stops_the_robot_unless_a_plan_around_it_comes_in_time(
    loop: Loop, plan: TrajectoryRecord
) -> None:
    loop.ready()
    way = loop.plan(plan.q0, np.array([0.4, *[0.2] * 6]))
    loop.go(way)
    loop.publish_scene(Scene())  # the same again: nothing
    loop.publish_scene(Scene((SceneObstacle("ball", "sphere", loop.load(way.q0 + way.k), (0.02,)),)))
    loop.reason(TRACKING, StopReason.SCENE_CHANGED)
    noticed = next(s for s in loop.status if s.reason == StopReason.SCENE_CHANGED).trajectory_time
    assert loop.mode(STOPPED).reason == StopReason.SCENE_CHANGED
    stopped = loop.status[-1].trajectory_time
    assert stopped <= noticed + ControllerConfig().scene_grace + 0.01
    at_rest(loop)
    assert loop.stop.reason == StopReason.SCENE_CHANGED
    if stopped < 1.1:  # later only if this tester was kept from running for half a second
        assert float(loop.value("simulated_arm: robot", "clearance to obstacles [m]")) > 0.03


@pytest.mark.slow  # without processes: test_robust_controller.py
def test_obstacles_that_make_no_sense_brake(loop: Loop, short: TrajectoryRecord) -> None:
    loop.ready()
    loop.go(short)
    loop.publish_scene(Obstacles(obstacles=[Obstacle(name="hole", kind="sphere", size=[-0.1])]))
    loop.reason(BRAKING, StopReason.SCENE_INVALID)
    loop.mode(HOLDING)


def forged(record: TrajectoryRecord, **fields: Any) -> TrajectoryRecord:
    return replace(record, **fields).seal()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda r: replace(r, obstacle_margin=1.0), StopReason.TRAJECTORY_ALTERED),
        (lambda r: replace(r, k=r.k + 0.1), StopReason.TRAJECTORY_ALTERED),
        (lambda r: replace(r, id="0" * 16), StopReason.TRAJECTORY_ALTERED),
        (lambda r: forged(r, verdict=int(Verdict.TORQUE)), StopReason.TRAJECTORY_NOT_CERTIFIED),
        (lambda r: forged(r, self_margin=float("nan")), StopReason.TRAJECTORY_NOT_CERTIFIED),
        (lambda r: forged(r, torque_margin=r.torque_margin - 100.0), StopReason.TRAJECTORY_NOT_CERTIFIED),
        (lambda r: forged(r, error_energy=np.zeros(0)), StopReason.TRAJECTORY_NOT_CERTIFIED),
        (lambda r: forged(r, config_id="0" * 16), StopReason.TRAJECTORY_OTHER_CONFIG),
        (lambda r: forged(r, lower=r.lower + 0.1), StopReason.TRAJECTORY_OTHER_BOUNDS),
        (lambda r: forged(r, scene_id=FAR.id), StopReason.TRAJECTORY_OTHER_SCENE),
        (lambda r: forged(r, q0=r.q0 + 0.01), StopReason.TRAJECTORY_NOT_CERTIFIED),  # by the controller's own proof
        (lambda r: forged(r, qd0=r.qd0 + 0.01), StopReason.TRAJECTORY_NOT_CONTINUOUS),
        (lambda r: forged(r, previous_id="0" * 16), StopReason.TRAJECTORY_NOT_CONTINUOUS),
        (lambda r: forged(r, start_ns=r.start_ns - 10**10), StopReason.TRAJECTORY_LATE),
        (lambda r: forged(r, q0=r.q0[:6]), StopReason.TRAJECTORY_INVALID),
        (lambda r: forged(r, k=np.full(7, np.nan)), StopReason.TRAJECTORY_INVALID),
        (lambda r: forged(r, joint_names=r.joint_names[::-1]), StopReason.TRAJECTORY_INVALID),
    ],
)  # fmt: skip
def test_a_forged_or_outdated_trajectory_is_refused_with_its_reason(
    loop: Loop, plan: TrajectoryRecord, spoil: Any, reason: StopReason
) -> None:
    if not (loop.status and loop.status[-1].mode == IDLE):
        loop.ready()
    for _ in range(20):  # a start that the machine has slept through is refused for that
        sent = spoil(loop.starting_soon(plan))
        loop.publish(sent)
        loop.until(lambda sent=sent: loop.status[-1].refused_id == sent.id)
        if loop.status[-1].refused_reason == reason:
            break
        assert loop.status[-1].refused_reason == StopReason.TRAJECTORY_LATE, loop.status[-1]
    assert loop.status[-1].refused_text == reason.message
    assert loop.status[-1].mode == IDLE
    assert loop.stop.reason == 0


@pytest.mark.slow  # without processes: test_robust_controller.py
def test_a_refusal_does_not_disturb_what_is_executed(loop: Loop, short: TrajectoryRecord) -> None:
    loop.ready()
    sent = loop.go(short)
    loop.publish(replace(sent, k=sent.k + 0.1))
    loop.until(lambda: loop.status[-1].refused_id == sent.id)  # another may have come too late before
    assert loop.status[-1].refused_reason == StopReason.TRAJECTORY_ALTERED
    assert loop.mode(HOLDING).trajectory_id == sent.id


def test_a_controller_that_sleeps_as_a_motion_begins_does_not_miss_its_beginning(
    loop: Loop, short: TrajectoryRecord
) -> None:
    """Time waits for it while the robot still holds itself, so that the first torque answers the present state."""

    def too_late() -> int:
        loop.diagnostics.clear()
        loop.until(lambda: "simulated_arm: robot" in loop.diagnostics)
        return int(loop.value("simulated_arm: robot", "commands too late"))

    loop.ready()
    before, controller = too_late(), loop.processes["controller"].pid
    for _ in range(20):
        sent = loop.starting_soon(short)
        loop.publish(sent)
        time.sleep(0.5 * loop.lead)
        os.kill(controller, signal.SIGSTOP)
        try:
            time.sleep(0.5)
        finally:
            os.kill(controller, signal.SIGCONT)
        loop.until(lambda sent=sent: sent.id in (loop.status[-1].trajectory_id, loop.status[-1].refused_id))
        if loop.status[-1].trajectory_id == sent.id:
            break
        assert loop.status[-1].refused_reason == StopReason.TRAJECTORY_LATE, loop.status[-1]
    assert loop.mode(STOPPED, BRAKING, HOLDING).mode != STOPPED
    assert too_late() == before


def test_a_controller_that_dies_leaves_the_robot_to_its_own_stop(loop: Loop, plan: TrajectoryRecord) -> None:
    """Last: there is no controller after it."""
    loop.ready()
    loop.go(plan)
    loop.processes["controller"].kill()
    loop.until(lambda: loop.stop.reason == StopReason.COMMAND_TIMEOUT)
    at_rest(loop)
