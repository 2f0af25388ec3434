# SPDX-License-Identifier: Apache-2.0
"""Planner, controller, identifier and robot together as processes of their own, and one after the other taken away."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from online_sysid.msg import CertifiedTrajectory, Obstacle, Obstacles, ParameterBounds
from sensor_msgs.msg import JointState
from shared.certified_processes import BOUNDS, BRAKING, HOLDING, IDENTIFIER, PLANNER, STOPPED, TRACKING, Loop
from visualization_msgs.msg import MarkerArray

from sysid_nodes.data.scene import Obstacle as SceneObstacle
from sysid_nodes.data.scene import Scene
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.trajectory_messages import to_record

pytestmark = pytest.mark.ros

ROBOT = "simulated_arm: robot"


class Heard:
    """What the nodes publish beside the status."""

    def __init__(self, loop: Loop) -> None:
        self.trajectories: list[CertifiedTrajectory] = []
        self.bounds: list[ParameterBounds] = []
        self.markers: list[MarkerArray] = []
        self.obstacles: list[MarkerArray] = []
        listen = loop.node.create_subscription
        listen(CertifiedTrajectory, "certified_trajectory", self.trajectories.append, 10)
        listen(ParameterBounds, BOUNDS, self.bounds.append, qos.LATCHED)
        listen(MarkerArray, "certified_planner/markers", self.markers.append, qos.LATCHED)
        listen(MarkerArray, "certified_planner/obstacle_markers", self.obstacles.append, qos.LATCHED)


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    patient = {"controller.silence": 20.0}  # the machine's own pauses are not what is tested
    made = Loop(controller=patient, also={"certified_planner": PLANNER, "interval_identifier": IDENTIFIER})
    yield made
    made.close()


@pytest.fixture(scope="module")
def heard(loop: Loop) -> Heard:
    return Heard(loop)


def unharmed(loop: Loop) -> None:
    """Nothing touched, no torque at its limit."""
    loop.diagnostics.pop(ROBOT, None)
    loop.until(lambda: ROBOT in loop.diagnostics)
    assert float(loop.value(ROBOT, "clearance to obstacles [m]")) > 0.0
    assert float(loop.value(ROBOT, "clearance to itself [m]")) > 0.0
    assert loop.value(ROBOT, "saturated ticks") == "0"


def executed(loop: Loop) -> list[str]:
    """Ids of the trajectories that were executed, in order."""
    return list(dict.fromkeys(status.trajectory_id for status in loop.status if status.trajectory_id))


def test_one_certified_trajectory_follows_the_other_while_bounds_tighten(loop: Loop, heard: Heard) -> None:
    loop.until(lambda: len(executed(loop)) >= 2)
    assert not {status.mode for status in loop.status} & {STOPPED}
    records = [to_record(message) for message in heard.trajectories]
    assert all(record.id == record.digest() for record in records)
    # Standing still tells a quarter of what was known of the mass, and motion more.
    known = loop.config.prior.bounds.half_width[0]
    loop.until(lambda: heard.bounds and 0.5 * (heard.bounds[-1].upper[0] - heard.bounds[-1].lower[0]) < 0.2 * known)
    loop.until(lambda: heard.markers)
    assert {marker.ns for marker in heard.markers[-1].markers} >= {"path", "swept", "rest", "margins"}
    # Errors of the sensors are taken off: the share of what is proven.
    share = float(loop.value("robust_controller: control", "largest share so far"))
    assert 0.0 < share < 1.0
    unharmed(loop)


def test_a_recorder_that_joins_late_hears_of_plans_before_it(loop: Loop, heard: Heard) -> None:
    """Under load the demo's recorder was found after the first plan was out, and the bag told nothing of it."""
    before, late = set(executed(loop)), list[CertifiedTrajectory]()
    subscription = loop.node.create_subscription(
        CertifiedTrajectory, "certified_trajectory", late.append, qos.latched(10)
    )
    loop.until(lambda: before & {message.id for message in late})
    loop.node.destroy_subscription(subscription)


def test_an_obstacle_that_appears_is_planned_around_or_stopped_for(loop: Loop, heard: Heard) -> None:
    """It stands behind the robot, where it cannot be touched before the planner knows of it."""
    loop.mode(TRACKING)
    x, y, _ = loop.load(loop.posture())
    behind = -0.7 / np.hypot(x, y)
    scene = Scene((SceneObstacle("post", "capsule", (behind * x, behind * y, 0.6), (0.05, 1.0)),))
    loop.publish_scene(scene)
    loop.status.clear()
    loop.until(
        lambda: (
            loop.status
            and (
                loop.status[-1].mode == STOPPED
                or any(m.scene_id == scene.id and m.id == loop.status[-1].trajectory_id for m in heard.trajectories)
            )
        )
    )
    if loop.status[-1].mode == STOPPED:  # a machine too slow to prove a stop within the grace
        assert loop.status[-1].reason == StopReason.SCENE_CHANGED
        # The arm's own stop may carry it where nothing is certified, past a joint's limit: nobody asked for its way.
        loop.trigger("simulated_arm/restart")
        loop.until(lambda: loop.trigger("robust_controller/reset").success)
        loop.mode(TRACKING)
    loop.until(lambda: any(marker.ns == "obstacles" for marker in heard.obstacles[-1].markers))
    unharmed(loop)


@pytest.mark.slow  # without processes: test_robust_controller.py, test_certified_lifecycle.py
def test_obstacles_and_goals_that_make_no_sense_end_in_certified_rest(loop: Loop, heard: Heard) -> None:
    loop.mode(TRACKING)
    loop.node.create_publisher(JointState, "goal", 10).publish(JointState(name=["elsewhere"], position=[1.0]))
    loop.publish_scene(Obstacles(obstacles=[Obstacle(name="", kind="box")]))
    loop.reason(BRAKING, StopReason.SCENE_INVALID)
    loop.mode(HOLDING)
    assert loop.stop.reason == 0
    loop.publish_scene(Scene())
    loop.mode(TRACKING)


@pytest.mark.slow  # without processes: benchmarks/test_certified_loop.py
def test_without_the_identifier_the_last_bounds_stay_in_force(loop: Loop, heard: Heard) -> None:
    """Our tester's publisher on the same topic is there and says nothing."""
    loop.processes["interval_identifier"].kill()  # takes leave of nobody: to the others it is there for 20 s more
    loop.status.clear()
    loop.until(lambda: len(executed(loop)) >= 2)
    assert not {status.mode for status in loop.status} & {STOPPED}
    assert loop.stop.reason == 0


def test_without_the_planner_the_certified_end_is_followed(loop: Loop, heard: Heard) -> None:
    loop.status.clear()  # a stop for other obstacles is meant to be the last, and ends without a complaint
    loop.until(lambda: len(executed(loop)) >= 2)
    loop.mode(TRACKING)
    loop.processes["certified_planner"].kill()
    loop.reason(BRAKING, StopReason.PLANNER_SILENT)
    loop.mode(HOLDING)
    assert loop.stop.reason == 0
    unharmed(loop)


@pytest.mark.slow  # from rest: search/test_planner.py; a planner anew: test_position_streaming_process.py
def test_a_planner_that_starts_again_goes_on_from_rest(loop: Loop, heard: Heard) -> None:
    # Those that the identifier would keep latched: with the prior there may be no way on from here.
    loop.until(lambda: heard.bounds)
    loop.publish_bounds(heard.bounds[-1])
    old = len(heard.trajectories)
    loop.start("certified_planner", PLANNER)
    loop.status.clear()
    loop.mode(TRACKING)
    loop.until(lambda: len(heard.trajectories) > old)
    assert heard.trajectories[old].previous_id not in {message.id for message in heard.trajectories[:old]}
    # A robot that is held by feedback moves to and fro by an encoder step: that is no reason to refuse a start.
    # What was refused before stays in the status until the next refusal.
    refused = {status.refused_id: status.refused_reason for status in loop.status}
    assert StopReason.TRAJECTORY_NOT_CONTINUOUS not in {refused.get(message.id) for message in heard.trajectories[old:]}
