"""The controller's own proofs: the same numbers as the planner's, and a forger who cannot make them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from shared.certified_processes import STOPPED, TRACKING, Loop

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import model_box
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord, record_trajectory
from sysid_nodes.sessions.certified.config import CertifiedConfig, Setup, set_up
from sysid_nodes.sessions.certified.recertifier import Prover
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.control.acceptance import agrees

CONFIG = CertifiedConfig()
START = np.array([-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415])


class Planned:
    """What an honest planner sends: one from rest, and one that continues it."""

    def __init__(self) -> None:
        self.setup: Setup = set_up(CONFIG)
        robot = self.setup.robot
        certifier = Certifier(robot, self.setup.shapes, CONFIG.control, CONFIG.certifier)
        bounds = CONFIG.prior.bounds
        box = model_box(robot, CONFIG.known_robot, bounds, robot.body_index(self.setup.body), CONFIG.target)
        still = np.zeros(robot.n)
        plan = Bezier(START, still, still, np.full(robot.n, 0.15), 3.0)
        first = certifier.certify(plan, box, certifier.at_rest(box), Scene())
        onward = Bezier(*plan.split(1.5), np.full(robot.n, 0.1), 3.0)
        assert first.envelope is not None
        second = certifier.certify(onward, box, first.envelope.entry(1.5), Scene())
        self.first = self._record(plan, first, None)
        self.second = self._record(onward, second, self.first)

    def _record(self, plan: Bezier, certificate: Certificate, previous: TrajectoryRecord | None) -> TrajectoryRecord:
        assert certificate.certified
        setup = self.setup
        return record_trajectory(
            plan, certificate, start_ns=10**9, joint_names=setup.robot.joint_names, bounds=CONFIG.prior.bounds,
            bounds_window=-1, body=setup.body, target=CONFIG.target, config_id=setup.config_id, scene_id=Scene().id,
            previous=previous, previous_time=1.5,
        )  # fmt: skip


@pytest.fixture(scope="module")
def planned() -> Planned:
    return Planned()


@pytest.fixture(scope="module")
def prover() -> Prover:
    return Prover(CONFIG)


def test_an_honest_planner_s_proofs_are_found_again(planned: Planned, prover: Prover) -> None:
    assert prover.prove(planned.second, Scene()) is None, "nothing is known of the one before"
    for record in (planned.first, planned.second):
        found = prover.prove(record, Scene())
        assert found is not None
        assert agrees(record, found)
        assert found.envelope is not None
        np.testing.assert_array_equal(record.error_energy, found.envelope.level)


def test_forgeries_are_not_proven(planned: Planned, prover: Prover) -> None:
    first = planned.first
    assert prover.prove(replace(first, k=np.full(7, 1.4)).seal(), Scene()) is None
    # Its own digest is right and its bounds are narrower than those it was certified for.
    narrow = 0.5 * (first.upper - first.lower)
    better = replace(first, lower=first.lower + 0.9 * narrow, upper=first.upper - 0.9 * narrow).seal()
    found = prover.prove(better, Scene())
    assert found is None or not agrees(better, found)
    assert prover.prove(replace(first, lower=first.upper, upper=first.lower).seal(), Scene()) is None
    elsewhere = Scene((Obstacle("ball", "sphere", (0.0, 0.0, 0.5), (0.3,)),))
    assert prover.prove(first, elsewhere) is None
    assert prover.prove(replace(first, scene_id=elsewhere.id).seal(), elsewhere) is None


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop(controller={"controller.recertify": True})
    made.lead = 1.5  # the robot's time is the machine's until it moves, and the proof has to fit in
    yield made
    made.close()


@pytest.mark.ros
def test_a_controller_that_proves_for_itself_executes_nothing_else(loop: Loop) -> None:
    loop.ready()
    plan = loop.plan(loop.posture(), 0.2)
    # It stays within all limits and its digest is its own; only the proof was never made.
    forged = replace(loop.starting_soon(plan), k=np.array([0.2, 0.9, 0.2, 0.2, 0.2, 0.2, 0.2])).seal()
    loop.publish(forged)
    loop.until(lambda: loop.status[-1].refused_id == forged.id)
    assert loop.status[-1].refused_reason == StopReason.TRAJECTORY_NOT_CERTIFIED
    loop.go(plan)
    assert loop.mode(TRACKING, STOPPED).mode == TRACKING
