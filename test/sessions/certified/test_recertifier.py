# SPDX-License-Identifier: Apache-2.0
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
        self.nominal = box.theta[robot.body_index(self.setup.body)]
        self.rate = certifier.at_rest(box).speed
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
            bounds_window=-1, nominal=self.nominal, start_rate=self.rate, body=setup.body,
            target=CONFIG.target, config_id=setup.config_id, scene_id=Scene().id,
            previous=previous, previous_time=1.5,
        )  # fmt: skip


@pytest.fixture(scope="module")
def planned() -> Planned:
    return Planned()


@pytest.fixture(scope="module")
def prover() -> Prover:
    return Prover(set_up(CONFIG), CONFIG)


def test_an_honest_planner_s_proofs_are_found_again(planned: Planned, prover: Prover) -> None:
    assert prover.prove(planned.second, Scene()) is None, "nothing is known of the one before"
    for record in (planned.first, planned.second):
        found = prover.prove(record, Scene())
        assert found is not None
        assert agrees(record, found)
        assert found.envelope is not None
        # What is assumed once more follows more narrowly.
        assert (found.envelope.level <= record.error_energy).all()
        assert (found.envelope.level >= 0.7 * record.error_energy).all()


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


@pytest.mark.parametrize("share", [0.0, 5.3e-7, 0.5])
def test_the_nominal_model_is_the_trajectory_s_own(planned: Planned, prover: Prover, share: float) -> None:
    """Whatever body another machine's solver has put in the middle: the proof is of that one."""
    setup, bounds = planned.setup, CONFIG.prior.bounds
    robot, body = setup.robot, setup.robot.body_index(setup.body)
    other = planned.nominal + share * np.array([1.0, 0, 0, -0.1, 0.05, 0, 0.05, 0, 0, 0.05])
    box = model_box(robot, CONFIG.known_robot, bounds, body, CONFIG.target, other)
    certifier, still = Certifier(robot, setup.shapes, CONFIG.control, CONFIG.certifier), np.zeros(robot.n)
    plan = Bezier(START, still, still, np.full(robot.n, 0.02), 3.0)
    found = certifier.certify(plan, box, certifier.at_rest(box), Scene())
    record = record_trajectory(
        plan, found, start_ns=10**9, joint_names=robot.joint_names, bounds=bounds, bounds_window=-1, nominal=other,
        start_rate=planned.rate, body=setup.body, target=CONFIG.target, config_id=setup.config_id, scene_id=Scene().id,
    )  # fmt: skip
    own = prover.prove(record, Scene())
    assert own is not None and agrees(record, own)
    # The same claims for another body in the middle are none of them.
    lie = replace(record, nominal=planned.nominal + 0.3 * np.eye(10)[0]).seal()
    found_too = prover.prove(lie, Scene())
    assert share == 0.5 or found_too is None or not agrees(lie, found_too)


ABSURD = {
    "margins": {"torque_margin": np.full(7, 30.0), "obstacle_margin": 1.0, "self_margin": 1.0},
    "envelopes": {"error_energy": np.full(65, 1e300), "error_norm": np.full(65, 1e300)},
    "accelerations": {"error_acceleration": np.full(65 * 7, 1e300), "error_rate": np.full(65, 1e300)},
    "no errors": {"error_energy": np.zeros(65), "error_norm": np.zeros(65)},
    "rates": {"error_rate": np.zeros(65)},
    "clip": {"robust_limit": np.full(7, 60.0)},
    "no clip": {"robust_limit": np.zeros(7)},
    "edges": {"edges": np.linspace(0.0, 2.0, 65)},
    "nominal": {"nominal": np.array([5.2, 0.0, 0.0, -0.5, 0.15, 0.0, 0.15, 0.0, 0.0, 0.1])},
    "start": {"start_rate": 1e300},
}


@pytest.mark.parametrize("kind", ABSURD)
def test_claims_that_nobody_has_proven_are_refused(planned: Planned, prover: Prover, kind: str) -> None:
    forged = replace(planned.first, **ABSURD[kind]).seal()  # type: ignore[arg-type]
    with np.errstate(all="ignore"):
        found = prover.prove(forged, Scene())
    assert found is None or not agrees(forged, found)


def test_checking_claims_is_one_pass_and_no_looser(planned: Planned, prover: Prover) -> None:
    found = prover.prove(planned.first, Scene())
    assert found is not None and found.envelope is not None and found.iterations == 1
    assert (found.envelope.level <= planned.first.error_energy).all()
    assert (found.margins.torque >= planned.first.torque_margin - 1e-9).all()


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    made = Loop()  # to prove for itself is the controller's default
    made.lead = 1.5  # the robot's time is the machine's until it moves, and the proof has to fit in
    yield made
    made.close()


@pytest.mark.ros
@pytest.mark.slow  # forged ones are refused by a process that proves in test_robust_controller_faults.py, too
def test_a_controller_that_proves_for_itself_executes_nothing_else(loop: Loop) -> None:
    loop.ready()
    plan = loop.plan(loop.posture(), 0.2)
    # It stays within all limits and its digest is its own; only the proof was never made.
    forged = replace(loop.starting_soon(plan), k=np.array([0.2, 0.9, 0.2, 0.2, 0.2, 0.2, 0.2])).seal()
    loop.publish(forged)
    loop.until(lambda: loop.status[-1].refused_id == forged.id)
    assert loop.status[-1].refused_reason == StopReason.TRAJECTORY_NOT_CERTIFIED
    forged = replace(loop.starting_soon(plan), **ABSURD["margins"]).seal()  # type: ignore[arg-type]
    loop.publish(forged)
    loop.until(lambda: loop.status[-1].refused_id == forged.id)
    assert loop.status[-1].refused_reason == StopReason.TRAJECTORY_NOT_CERTIFIED
    assert not loop.status[-1].age_watched  # a robot in lockstep: nobody could tell
    loop.go(plan)
    assert loop.mode(TRACKING, STOPPED).mode == TRACKING
