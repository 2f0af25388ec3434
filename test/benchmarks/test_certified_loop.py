# SPDX-License-Identifier: Apache-2.0
"""The closed loop in simulated time: certificates hold on a true robot, and faults end in rest under their own name.

Episodes are short and few here; benchmarks/episodes.py runs hundreds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from shared.gen3_scene import START, gen3, obstacles
from shared.quick_and_slow import mark_slow

from benchmarks.certified_log import CertifiedLog
from benchmarks.certified_loop import CertifiedLoop, Event, LoopConfig
from benchmarks.random_planner import RandomPlanner
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig
from sysid_nodes.models.model_box import model_box
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results import Status
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord, record_trajectory
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, PlannerNodeConfig, set_up
from sysid_nodes.sessions.certified.motion_planner import build_planner
from sysid_nodes.simulation.arm.joint_faults import JointFault
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.payload import dumbbell
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.own_stop import OwnStop
from sysid_nodes.systems.certified.control.config import ControllerConfig
from sysid_nodes.systems.certified.control.output import ControllerOutput, Mode
from sysid_nodes.systems.certified.control.robust_controller import RobustController
from sysid_nodes.systems.certified.search.config import ExciteConfig, PlannerConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, SensitivityConfig

ARM = HardwareConfig(delay=0.0, robot_error=0.05)
NOISE = NoiseConfig(torque_interpolation="hold", acceleration=(30.0,))
MASS = 2.7
CONTROL, CERTIFIER = RobustControlConfig(), CertifierConfig()
REPLAN = PlannerConfig().replan
PLANS = PlannerConfig(excite=ExciteConfig(duration=PlannerConfig().duration, replan=REPLAN))
"""All plans are as long as those to goals."""


@pytest.fixture(scope="module")
def robot() -> Robot:
    return gen3()


def _config(prior: Bounds | None = None, *, plans: int = 1, **fields: Any) -> LoopConfig:
    """A loop that identifies for as long as ``plans`` plans take; fields with a prefix of the parts' own."""
    ends = {} if prior is None else {"lower": tuple(prior.lower), "upper": tuple(prior.upper)}
    given = PriorConfig(**ends)
    parts = {name: fields.pop(name) for name in ("control", "certifier", "certified_planner") if name in fields}
    task = PlannerNodeConfig(excite_time=(plans - 0.25) * REPLAN, **parts.pop("certified_planner", {}))
    planner = CertifiedPlannerConfig(variant="gripper", prior=given, certified_planner=task, planner=PLANS, **parts)
    identifier = IntervalIdentifierConfig(variant="gripper", noise=NOISE, prior=given)
    return LoopConfig(planner, identifier, **fields)


def _around_truth(robot: Robot, share: float = 0.1, mass: float = MASS) -> Bounds:
    """Bounds a good identification would leave."""
    body, inertia = dumbbell(mass).spatial_inertia(robot)
    theta = robot.inertial_parameters()[body] + inertia.toDynamicParameters()
    half = share * PriorConfig().bounds.half_width
    return Bounds(theta - half, theta + half)


def _loop(
    robot: Robot,
    config: LoopConfig,
    *,
    touch: bool = False,
    scene: Scene = Scene(),  # noqa: B008 (frozen)
    ranges: tuple[float, ...] = (0.4, 0.2, 0.1),
    seed: int = 1,
    arm: HardwareConfig = ARM,
    optimised: bool = False,
    **options: Any,
) -> CertifiedLoop:
    """A loop from START; without ``touch`` the robot has no shapes, so that there is nothing to touch."""
    rng = np.random.default_rng(seed)
    plant = SimulatedArm(robot, dumbbell(MASS), arm, rng, START, start=10.0)
    setup = set_up(config.planner)._replace(scene=scene)
    setup = setup if touch else setup._replace(shapes=())
    build = build_planner if optimised else partial(RandomPlanner, rng=rng, ranges=ranges)
    return CertifiedLoop(setup, plant, config, build=build, **options)


def _quick(robot: Robot, **options: Any) -> CertifiedLoop:
    """One whose certificates come at the first try: little is unknown, and there is nothing to touch."""
    fields = {name: options.pop(name) for name in ("plans", "identify", "latency") if name in options}
    config = _config(_around_truth(robot), **{"identify": False, "plans": 1, "latency": 0.2, **fields})
    return _loop(robot, config, **options)


# --- What is certified holds ----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_algorithm_1_drives_the_loop_where_estimates_are_let_in(robot: Robot) -> None:
    config, prior = _config(plans=3), PriorConfig().bounds
    identifier = replace(config.identifier, method="sensitivity", sensitivity=SensitivityConfig(nested_after=1.5))
    for estimates in (True, False):
        planner = replace(config.planner, estimates=estimates)
        episode = replace(config, planner=planner, identifier=identifier)
        loop = _loop(robot, episode, touch=True, scene=obstacles(), optimised=True, seed=2)
        log = loop.run(4.6)
        assert {result.status for result in log.bounds} == {Status.ESTIMATED}
        if estimates:
            assert len(log.executed) == 3 and not loop.refusals
            assert all(record.config_id.startswith("estimated-") for record in log.executed)
            assert (0.5 * (log.bounds[-1].upper - log.bounds[-1].lower) < 0.5 * prior.half_width).any()
        else:
            assert len(log.executed) <= 1 and loop.controller.reason is StopReason.BOUNDS_INVALID


@pytest.mark.parametrize("optimised", mark_slow([False, True], but=[True]), ids=["random", "optimised"])
def test_an_episode_with_the_papers_prior_among_obstacles(robot: Robot, optimised: bool) -> None:
    """Links, friction and armature anywhere within 5 %, sensors at their worst, a payload within Table I."""
    seed = 2 if optimised else 1
    loop = _loop(robot, _config(plans=2), touch=True, scene=obstacles(), optimised=optimised, seed=seed)
    log = loop.run(3.0)
    assert not loop.refusals
    assert [mode for mode, _ in log.passed_modes()] == [Mode.IDLE, Mode.TRACKING]
    followed = log.judge()
    assert len(followed) == 2
    for each in followed:
        assert each.broken() == []
        # Bounds are bounds, and no more than two orders of magnitude off: otherwise the test would show nothing.
        assert 0.01 < each.norm < 1.0
    last = log.bounds[-1]
    assert last.status in (Status.NOT_EXCITED, Status.PROVEN)
    assert Bounds(last.lower, last.upper).contains(loop.arm.truth.theta)
    # The second plan was made for tighter bounds than the first.
    widths = [record.upper - record.lower for record in log.executed]
    assert (widths[1] <= widths[0]).all() and (widths[1] < 0.9 * widths[0]).any()


@pytest.mark.slow
def test_a_goal_is_gone_to_after_the_identification(robot: Robot) -> None:
    """The whole agenda: plans that identify, plans to the goal, the last of which says so, and rest."""
    goal = START + 0.3 * np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0, 1.0])
    config = _config(_around_truth(robot), certified_planner={"goals": tuple(goal)})
    loop = _loop(robot, config, touch=True, optimised=True)
    log = loop.run(12.0, until=lambda: loop.finished)
    assert loop.finished
    assert log.passed_modes()[-1] == (Mode.HOLDING, StopReason.PLAN_ENDED)
    assert [record.last for record in log.executed] == [False] * (len(log.executed) - 1) + [True]
    assert np.abs(loop.arm.q - goal).max() < config.planner.planner.near + 0.01
    assert all(each.broken() == [] for each in log.judge())


def test_an_episode_is_a_function_of_its_arguments(robot: Robot) -> None:
    torques = [np.array(_quick(robot, plans=2).run(1.0).torque) for _ in range(2)]
    np.testing.assert_array_equal(*torques)
    assert np.ptp(torques[0], axis=0).min() > 0.0


def test_the_controller_gives_the_same_numbers_from_recorded_messages(robot: Robot) -> None:
    """What a node would record, fed into a fresh controller: the same torques to the last bit."""
    loop = _quick(robot, plans=2)
    calls: list[tuple[str, tuple[object, ...]]] = []
    answers: list[ControllerOutput] = []
    step, offer = loop.controller.step, loop.controller.offer

    def record_step(reading: RawJointState, now: float, age: float | None = None) -> ControllerOutput:
        calls.append(("step", (reading, now, age)))
        answers.append(step(reading, now, age))
        return answers[-1]

    def record_offer(record: TrajectoryRecord, own: Certificate) -> StopReason:
        calls.append(("offer", (record, own)))
        return offer(record, own)

    loop.controller.step, loop.controller.offer = record_step, record_offer  # type: ignore[method-assign, assignment]
    loop.run(2.2)
    fresh = _quick(robot, plans=2).controller
    again = [result for name, given in calls if (result := getattr(fresh, name)(*given)) and name == "step"]
    assert len(again) == len(answers) > 2000
    assert {output.mode for output in again} >= {Mode.IDLE, Mode.TRACKING}
    for one, other in zip(answers, again, strict=True):
        assert (one.mode, one.reason, one.trajectory_id, one.trajectory_time) == (
            other.mode, other.reason, other.trajectory_id, other.trajectory_time,
        )  # fmt: skip
        np.testing.assert_array_equal(one.torque, other.torque)


def test_ticks_that_jitter_within_the_certificate_s_period(robot: Robot) -> None:
    config = _config(_around_truth(robot), identify=False, control=RobustControlConfig(period=0.0011))
    loop = _loop(robot, config, arm=replace(ARM, tick_jitter=0.1))
    log = loop.run(2.0)
    assert log.passed_modes()[-1] == (Mode.TRACKING, StopReason.NONE)
    assert log.judge()[0].broken() == []
    # With the period that the drive does not keep nothing even starts.
    strict = _loop(robot, _config(_around_truth(robot), identify=False), arm=replace(ARM, tick_jitter=0.1))
    late = strict.run(0.8)
    assert set(late.modes) == {Mode.IDLE}
    assert StopReason.JOINT_STATES_INTERMITTENT in late.reasons or StopReason.JOINT_STATES_SLOW in late.reasons


# --- Faults ---------------------------------------------------------------------------------------------------------


FAULTS = {
    "off": (0.0, StopReason.JOINT_STATES_LOST),
    "stuck": (0.0, StopReason.JOINT_STATES_FROZEN),
    "garbage": (0.0, StopReason.JOINT_STATES_INVALID),
    "drift": (0.003, StopReason.JOINT_STATES_IMPLAUSIBLE),
    "velocity scaled": (0.03, StopReason.JOINT_STATES_IMPLAUSIBLE),
    "slow": (4.0, StopReason.JOINT_STATES_INTERMITTENT),
    "delayed": (5.0, StopReason.JOINT_STATES_DELAYED),
    "intermittent": (20.0, StopReason.JOINT_STATES_INTERMITTENT),
}
"""Size and reason of the stop; the watch's own tests go through all of them too."""


@pytest.mark.parametrize("kind", mark_slow(FAULTS, but=["off", "stuck", "delayed"]))
def test_bad_joint_states_end_in_the_robot_s_own_stop(robot: Robot, kind: str) -> None:
    """Of a silent stream the drive's own watchdog hears first: it misses commands after 20 ms."""
    size, reason = FAULTS[kind]
    # Where the motion slows down, so that a frozen state is seen as such before the proven error is exceeded.
    loop = _quick(robot, fault=JointFault(kind, 12.9 if kind == "stuck" else 11.2, size=size))
    log = loop.run(4.0)
    stop = loop.arm.stop
    assert stop is not None and stop.at_rest
    assert stop.reason == ("COMMAND_TIMEOUT" if kind == "off" else reason.name)
    assert log.stopped is reason or kind == "off"
    # The commanded torque stays within its limits for as long as the fault is not seen.
    assert (np.abs(np.array(log.torque)) <= robot.limits.torque).all()
    assert (np.abs(np.array(log.qd)) <= robot.limits.velocity).all()


def test_the_robot_s_own_stop_stays_in_the_room_that_the_certificate_keeps_for_it(robot: Robot) -> None:
    scene = Scene((Obstacle("floor", "box", (0.0, 0.0, -0.03), (4.0, 4.0, 0.02)),))
    # 1 rad/s2 and 0.02 rad are the simulated drive's; some 12 ms pass from the last good reading to the stop.
    certifier = CertifierConfig(stop_deceleration=(1.0,), stop_reaction=0.02, stop_travel=0.02)
    config = _config(_around_truth(robot), identify=False, latency=0.2, certifier=certifier)
    loop = _loop(robot, config, touch=True, scene=scene, fault=JointFault("stuck", 11.6), ranges=(0.26,))
    log = loop.run(4.0)
    stop = loop.arm.stop
    assert stop is not None and stop.at_rest
    assert stop.travel.max() > 0.005
    record, watch = log.executed[0], log.watch(scene)
    assert 0.0 < record.obstacle_margin < 0.1
    assert min(watch.to_obstacles(q).distance for q in log.q[::10]) >= record.obstacle_margin
    assert 0.0 < record.self_margin <= min(watch.to_itself(q).distance for q in log.q[::10])


def test_what_a_held_torque_does_before_its_loss_is_noticed_is_part_of_the_stop_s_way(robot: Robot) -> None:
    """Joint states cease as the motion gathers speed; for controller.silence nobody brakes."""
    fault = JointFault("off", 11.05)
    loop = _quick(robot, ranges=(1.0,), seed=4, arm=replace(ARM, command_timeout=0.5), fault=fault)
    log = loop.run(4.0)
    assert log.stopped is StopReason.JOINT_STATES_LOST and loop.arm.stop is not None and loop.arm.stop.at_rest
    last = int(np.searchsorted(log.stamps, fault.start - 5e-4)) - 1
    way, speed = np.array(log.q[last:]) - log.q[last], log.qd[last][None]
    reaction = ControllerConfig().silence + 0.003  # ticks until it is noticed, and until the drive brakes
    assert loop.arm.stop.stamp - log.stamps[last] < reaction
    stop = OwnStop(np.ones(7), reaction=reaction, acceleration=CERTIFIER.stop_acceleration, travel=0.003)
    below, above = stop.reach(speed, speed)
    assert (way <= above).all() and (way >= -below).all()
    below, above = replace(stop, acceleration=0.0).reach(speed, speed)
    assert (way > above + 0.01).any() or (way < -below - 0.01).any()


@pytest.mark.parametrize("seed", mark_slow([1, 2, 3], but=[1]))
def test_errors_stay_proven_where_a_start_is_off_by_all_that_is_allowed(robot: Robot, seed: int) -> None:
    """A plan from where the robot was measured; when it begins, the robot is measured half a millirad further on."""
    off = CERTIFIER.start_distance * np.random.default_rng(seed).choice([-0.999, 0.999], robot.n)
    loop = _quick(robot, seed=seed)
    loop.posture_offset = off
    log = loop.run(2.0)
    assert len(log.executed) == 1 and log.stopped is StopReason.NONE
    assert log.judge()[0].broken() == []
    assert 0.0 < max(log.usage) < 1.0


@pytest.mark.parametrize("seed", mark_slow([1, 2, 3], but=[1]))
def test_nor_are_they_left_where_the_robot_moves_as_fast_as_rest_allows_besides(robot: Robot, seed: int) -> None:
    """The true start at a corner of what is certified, position and velocity pulling the same way, narrow bounds."""
    rng, bounds, still = np.random.default_rng(seed), _around_truth(robot), np.zeros(robot.n)
    found, body = gains(robot, CONTROL), robot.body_index()
    corner = rng.choice([-0.999, 0.999], robot.n)
    # Twice the sensor's error less: the controller reads it with one and adds the other.
    speed = corner * (CERTIFIER.start_speed - 2.0 * found.velocity_error)
    arm = SimulatedArm(robot, dumbbell(MASS), ARM, rng, START, speed, start=10.0)
    reading = arm.reading()
    begin = reading.position - corner * (found.position_error + CERTIFIER.start_distance)
    certifier = Certifier(robot, (), CONTROL, CERTIFIER)
    box = model_box(robot, KnownRobotConfig(), bounds, body, "body")
    plan = Bezier(begin, still, still, rng.uniform(-0.3, 0.3, robot.n), 3.0)
    certificate = certifier.certify(plan, box, certifier.at_rest(box), Scene())
    assert certificate.certified, certificate.binding
    record = record_trajectory(
        plan, certificate, start_ns=round(1e9 * arm.now), joint_names=robot.joint_names, bounds=bounds,
        bounds_window=-1, nominal=box.theta[body], start_rate=certifier.at_rest(box).speed, body=robot.body,
        target="body", config_id="any", scene_id=Scene().id,
    )  # fmt: skip
    controller = RobustController(
        robot, KnownRobotConfig(), CONTROL, ControllerConfig(settle=0.0, clock_error=0.0, recertify=False),
        prior=bounds, config_id="any", scene_id=Scene().id, rest_speed=CERTIFIER.start_speed,
        rest_distance=CERTIFIER.start_distance,
    )  # fmt: skip
    assert not controller.offer(record)
    setup = set_up(_config().planner)._replace(shapes=())
    log = CertifiedLog(setup, arm.truth, CONTROL)
    for _ in range(500):
        output = controller.step(reading, arm.now, 0.0)
        assert output.torque is not None, output
        arm.command(output.torque, output.stamp)
        log.add(arm, controller, output)
        reading = arm.step()
    followed = log.judge()[0]
    assert followed.broken() == []
    assert max(followed.energy, followed.norm) > 0.2


def test_a_dead_planner_ends_at_the_certified_rest(robot: Robot) -> None:
    loop = _quick(robot, plans=3, events=[Event(0.3, CertifiedLoop.kill_planner)])
    log = loop.run(3.6)
    assert log.passed_modes() == [
        (Mode.IDLE, StopReason.NONE),
        (Mode.TRACKING, StopReason.NONE),
        (Mode.BRAKING, StopReason.PLANNER_SILENT),
        (Mode.HOLDING, StopReason.PLANNER_SILENT),
    ]
    followed = log.judge()
    assert followed[0].broken() == []
    assert np.abs(loop.arm.qd).max() < 0.01


def test_a_dead_identifier_leaves_the_last_bounds(robot: Robot) -> None:
    loop = _quick(robot, plans=2, identify=True, latency=0.4, events=[Event(0.9, CertifiedLoop.kill_identifier)])
    log = loop.run(2.4)
    assert log.passed_modes()[-1] == (Mode.TRACKING, StopReason.NONE)
    assert len(log.executed) == 2
    assert all(each.broken() == [] for each in log.judge())


def _obstacle(at: tuple[float, float, float], radius: float) -> Callable[[CertifiedLoop], None]:
    return lambda loop: loop.change_scene(Scene((Obstacle("new", "sphere", at, (radius,)),)))


def test_an_obstacle_out_of_the_way_is_met_by_a_stop_certified_beside_it(robot: Robot) -> None:
    config = _config(_around_truth(robot), plans=3, identify=False, latency=0.2)
    loop = _loop(robot, config, touch=True, events=[Event(1.0, _obstacle((0.0, 0.0, 2.0), 0.2))])
    log = loop.run(1.8)
    assert [record.scene_id for record in log.executed] == [Scene().id, loop.scene.id]
    assert log.stopped is StopReason.NONE
    assert StopReason.SCENE_CHANGED in log.reasons


def test_an_obstacle_in_the_path_ends_in_the_robot_s_own_stop(robot: Robot) -> None:
    """It appears where the robot is: nothing can be certified before the grace is over."""
    config = _config(_around_truth(robot), plans=2, identify=False, latency=0.2)
    loop = _loop(robot, config, touch=True, events=[Event(1.0, _obstacle((0.0, 0.0, 0.4), 0.2))])
    log = loop.run(3.0)
    assert log.stopped is StopReason.SCENE_CHANGED
    assert loop.arm.stop is not None and loop.arm.stop.at_rest
    assert loop.arm.stop.stamp - 11.0 == pytest.approx(ControllerConfig().scene_grace, abs=0.003)


@pytest.mark.parametrize(
    ("size", "mode"),
    mark_slow(
        [(0.02, Mode.TRACKING), (0.05, Mode.BRAKING), (0.3, Mode.IDLE)],
        but=[(0.02, Mode.TRACKING), (0.3, Mode.IDLE)],
    ),
)
def test_encoders_that_were_off_from_the_start_are_found_out_by_the_torques_or_not_at_all(
    robot: Robot, size: float, mode: Mode
) -> None:
    """No joint state contradicts another; a large offset shows in gravity, a small one is a known limit."""
    config = _config(_around_truth(robot), plans=1, latency=0.2)
    loop = _loop(robot, config, fault=JointFault("offset", 0.0, size=size))
    log = loop.run(1.6)
    assert loop.controller.mode is mode
    assert (log.bounds[-1].status is Status.INCONSISTENT) == (mode is not Mode.TRACKING)
    assert (loop.controller.reason is StopReason.BOUNDS_INCONSISTENT) == (mode is not Mode.TRACKING)


@pytest.mark.parametrize("late", mark_slow([False, True], but=[True]), ids=["from the start", "in motion"])
def test_a_payload_outside_the_bounds_is_found_out(robot: Robot, late: bool) -> None:
    """1.5 kg more than the bounds allow: the identifier says so, at rest already, and nothing moves any more."""
    config = _config(_around_truth(robot, 0.1, mass=1.2), plans=2, latency=0.2)
    events = [Event(0.8, CertifiedLoop.start_identifier)] if late else []
    loop = _loop(robot, replace(config, identify=not late), events=events)
    log = loop.run(4.0)
    assert log.bounds[-1].status is Status.INCONSISTENT
    assert log.passed_modes()[-1] == (Mode.HOLDING if late else Mode.IDLE, StopReason.BOUNDS_INCONSISTENT)
    assert (Mode.BRAKING in log.modes) == late
    assert np.abs(loop.arm.qd).max() < 0.01


@pytest.mark.parametrize(
    ("tamper", "reason"),
    [
        (lambda record: replace(record, k=2.0 * record.k), StopReason.TRAJECTORY_ALTERED),
        (lambda record: replace(record, verdict=1).seal(), StopReason.TRAJECTORY_NOT_CERTIFIED),
        (lambda record: replace(record, config_id="x").seal(), StopReason.TRAJECTORY_OTHER_CONFIG),
        (lambda record: replace(record, start_ns=record.start_ns - 10**9).seal(), StopReason.TRAJECTORY_LATE),
    ],
)
def test_a_forged_or_outdated_trajectory_is_refused(
    robot: Robot, tamper: Callable[[TrajectoryRecord], TrajectoryRecord], reason: StopReason
) -> None:
    def forge(loop: CertifiedLoop) -> None:
        loop.tamper = tamper

    loop = _quick(robot, events=[Event(0.0, forge)])
    log = loop.run(0.6)
    assert {refused for _, refused in loop.refusals} == {reason}
    assert set(log.modes) == {Mode.IDLE}
    assert not loop.arm.commanded
