# SPDX-License-Identifier: Apache-2.0
"""Simulated robot and robust controller as processes of their own, and a tester that stands in for everything else."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pinocchio
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from online_sysid.msg import CertifiedTrajectory, ControllerStatus, Obstacles, ParameterBounds, StopRequest
from rcl_interfaces.msg import Parameter, ParameterType, ParameterValue
from rcl_interfaces.srv import SetParameters
from rclpy.qos import QoSProfile
from sensor_msgs.msg import JointState
from shared import children
from shared.obstacle_messages import to_obstacles
from shared.waiting import spin_until
from std_srvs.srv import Trigger

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.data.scene import Scene
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import model_box
from sysid_nodes.results.stop_reason import StopReason
from sysid_nodes.results.trajectory_record import TrajectoryRecord, record_trajectory
from sysid_nodes.ros import qos
from sysid_nodes.ros.certified.controller_conversions import nanoseconds
from sysid_nodes.ros.certified.trajectory_messages import to_trajectory
from sysid_nodes.ros.spinning import make_executor
from sysid_nodes.sessions.certified.config import CertifiedConfig, set_up
from sysid_nodes.systems.certified.certificate.certifier import Certifier

IDLE, TRACKING, BRAKING, HOLDING, STOPPED = range(5)

ROBOT = {"simulated_arm.reply_timeout": 5.0, "simulated_arm.seed": 1}
CONTROLLER = {"controller.silence": 1.0}
"""The machine's own pauses are not what is tested; what takes simulated time keeps its defaults."""

BOUNDS = "interval_identifier/parameter_bounds"

IDENTIFIER = {
    "noise.torque_interpolation": "until",
    "noise.jerk": [20.0],
    "noise.stamp_error": 5e-7,
    "set_membership.solves": 3,
    "diagnostics_period": 0.5,
}
"""Bounds that the simulated robot's sensors keep, see config/kinova_gen3_simulated.yaml; with little effort."""

PLANNER = {"certified_planner.excite_time": 0.0, "planner.stop_rule.plans": 1000, "certified_planner.seed": 3}
"""Goes on identifying for ever."""


def command(node: str, parameters: Mapping[str, Any]) -> list[str]:
    """Command line of a node's process, after the interpreter."""
    words = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    return ["-m", f"sysid_nodes.ros.nodes.{node}", "--ros-args", "--log-level", "fatal", *words]


def start_node(node: str, parameters: Mapping[str, Any]) -> subprocess.Popen[str]:
    """A node's process."""
    return children.start(*command(node, parameters))


class Loop:
    """The processes and what they publish.

    Attributes:
        config, setup: what both sides are configured with.
        status: of the controller, all that came since the last `clear`.
        stop: last one of the robot's own stops; reason 0: none.
        diagnostics: newest values by the status' name.
    """

    def __init__(
        self,
        robot: Mapping[str, Any] = MappingProxyType({}),
        controller: Mapping[str, Any] = MappingProxyType({}),
        also: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
    ) -> None:
        self.config = CertifiedConfig()
        self.setup = set_up(self.config)
        self.lead = 0.15  # a trajectory starts this long after the last joint state heard of [s]
        self.processes = {
            "robot": start_node("simulated_arm", {**ROBOT, **robot}),
            "controller": start_node("robust_controller", {**CONTROLLER, **controller}),
            **{name: start_node(name, also[name]) for name in also},
        }
        rclpy.init()
        self.node = rclpy.create_node("tester")
        self._executor = make_executor()
        self._executor.add_node(self.node)
        self.status: list[ControllerStatus] = []
        self.stop = StopRequest(reason=255)
        self.diagnostics: dict[str, DiagnosticStatus] = {}
        listen = self.node.create_subscription
        listen(ControllerStatus, "robust_controller/status", self.status.append, _history(1000))
        listen(StopRequest, "robot_stop", lambda message: setattr(self, "stop", message), qos.LATCHED)
        listen(DiagnosticArray, "/diagnostics", self._diagnose, 10)
        self._trajectories = self.node.create_publisher(CertifiedTrajectory, "certified_trajectory", 10)
        self._bounds = self.node.create_publisher(ParameterBounds, BOUNDS, qos.LATCHED)
        self._obstacles = self.node.create_publisher(Obstacles, "obstacles", qos.LATCHED)
        self._clients: dict[str, Any] = {}

    def start(self, node: str, parameters: Mapping[str, Any]) -> None:
        """Starts a process in place of one that has ended, or is ended now."""
        children.kill(self.processes[node])
        self.processes[node] = start_node(node, parameters)

    # -- time passes

    def until(self, condition: Callable[[], Any]) -> None:
        """Spins until the condition holds."""
        spin_until(self._executor, condition, lambda: f"last status: {self.status[-1:]}; {self._planner()}")

    def call(self, kind: Any, name: str, request: Any) -> Any:
        """The answer of a service."""
        client = self._clients.setdefault(name, self.node.create_client(kind, name))
        self.until(client.service_is_ready)
        future = client.call_async(request)
        self.until(future.done)
        return future.result()

    def trigger(self, name: str) -> Any:
        return self.call(Trigger, name, Trigger.Request())

    def mode(self, *modes: int) -> ControllerStatus:
        """Waits for a mode and returns the status that told of it."""
        self.until(lambda: self.status and self.status[-1].mode in modes)
        return self.status[-1]

    def reason(self, mode: int, *reasons: StopReason) -> None:
        """Waits for a mode with a reason."""
        self.until(lambda: any(s.mode == mode and s.reason in reasons for s in self.status))

    def value(self, status: str, key: str) -> str:
        """A value of the newest diagnostics."""
        return next(item.value for item in self.diagnostics[status].values if item.key == key)

    # -- the robot

    def ready(self) -> None:
        """Robot at its start, at rest, without a fault; controller idle; prior bounds; no obstacle."""
        self.fault("none")
        if self.status and self.status[-1].mode in (TRACKING, BRAKING, HOLDING):
            self.trigger("robust_controller/stop")
        self.trigger("simulated_arm/restart")
        self.until(lambda: self.stop.reason == 0)
        self.publish_bounds(self.config.prior.bounds)
        self.publish_scene(Scene())
        self.until(lambda: self.trigger("robust_controller/reset").success)
        self.status.clear()
        self.mode(IDLE)

    def fault(self, kind: str, *, start: float = 0.4, duration: float = 0.0, size: float = 0.0) -> None:
        """A fault of the joint states, from ``start`` after the first command."""
        prefix = "simulated_arm.fault"
        double, text = ParameterType.PARAMETER_DOUBLE, ParameterType.PARAMETER_STRING
        values = [
            Parameter(name=f"{prefix}.{name}", value=ParameterValue(type=double, double_value=float(value)))
            for name, value in (("start", start), ("duration", duration), ("size", size))
        ]
        values.append(Parameter(name=f"{prefix}.kind", value=ParameterValue(type=text, string_value=kind)))
        answer = self.call(SetParameters, "simulated_arm/set_parameters", SetParameters.Request(parameters=values))
        assert all(result.successful for result in answer.results), answer

    def posture(self) -> np.ndarray:
        """One reading of the joints."""
        heard: list[JointState] = []
        subscription = self.node.create_subscription(JointState, "joint_states", heard.append, 1)
        self.until(lambda: heard)
        self.node.destroy_subscription(subscription)
        return np.array(heard[0].position)[JointOrder(self.setup.robot.joint_names).columns(heard[0].name)]

    def load(self, q: np.ndarray) -> tuple[float, ...]:
        """(3,) centre of the load's room at q (n,), in the base frame [m]."""
        data = self.setup.robot.model.createData()
        pinocchio.forwardKinematics(self.setup.robot.model, data, q)
        return tuple(data.oMi[self.setup.robot.n].act(np.asarray(self.setup.shapes[-1].position)).tolist())

    # -- what others publish

    def plan(self, q: np.ndarray, k: float | np.ndarray, duration: float | None = None) -> TrajectoryRecord:
        """A certified trajectory from rest, joints by k [rad], within the planner's duration or another [s]."""
        config, setup, scene = self.config, self.setup, Scene()
        box = model_box(
            setup.robot, config.known_robot, config.prior.bounds, setup.robot.body_index(setup.body), config.target
        )
        certifier = Certifier(setup.robot, setup.shapes, config.control, config.certifier)
        still, duration = np.zeros(q.size), duration or config.planner.duration
        plan = Bezier(q, still, still, np.full(q.size, 1.0) * k, duration)
        certificate = certifier.certify(plan, box, certifier.at_rest(box), scene)
        assert certificate.certified, certificate.binding
        return record_trajectory(
            plan, certificate, start_ns=0, joint_names=setup.robot.joint_names, bounds=config.prior.bounds,
            bounds_window=-1, nominal=box.theta[setup.robot.body_index(setup.body)],
            start_rate=certifier.at_rest(box).speed, body=setup.body, target=config.target, config_id=setup.config_id,
            scene_id=scene.id,
        )  # fmt: skip

    def starting_soon(self, record: TrajectoryRecord) -> TrajectoryRecord:
        """The same trajectory, with a start to come."""
        self.status.clear()
        self.until(lambda: self.status and self.status[-1].header.stamp.sec)
        return replace(record, start_ns=nanoseconds(self.status[-1].header.stamp) + round(1e9 * self.lead)).seal()

    def publish(self, record: TrajectoryRecord) -> None:
        """Sends a trajectory as it is."""
        self.until(self._trajectories.get_subscription_count)
        self._trajectories.publish(to_trajectory(record))

    def go(self, record: TrajectoryRecord) -> TrajectoryRecord:
        """Starts a trajectory, and waits until it is executed."""
        for _ in range(20):  # a start that the machine has slept through is refused, as it should be
            sent = self.starting_soon(record)
            self.publish(sent)
            self.until(lambda sent=sent: sent.id in (self.status[-1].trajectory_id, self.status[-1].refused_id))
            if self.status[-1].trajectory_id == sent.id:
                return sent
            assert self.status[-1].refused_reason == StopReason.TRAJECTORY_LATE, self.status[-1]
        raise AssertionError("never in time")

    def publish_bounds(self, bounds: Bounds | ParameterBounds, **fields: Any) -> None:
        """Bounds as the identifier publishes them; fields replace what the message would hold."""
        if isinstance(bounds, ParameterBounds):
            self._bounds.publish(bounds)
            return
        setup = self.setup
        message = ParameterBounds(
            robot=setup.robot.name, body=setup.body, target="body", status=ParameterBounds.PROVEN,
            lower=bounds.lower, upper=bounds.upper,
        )  # fmt: skip
        for name, value in fields.items():
            setattr(message, name, value)
        self._bounds.publish(message)

    def publish_scene(self, scene: Scene | Obstacles) -> None:
        self._obstacles.publish(scene if isinstance(scene, Obstacles) else to_obstacles(scene, self.setup.frame))

    # -- end

    def close(self) -> None:
        children.kill(*self.processes.values())
        self._executor.shutdown()
        self.node.destroy_node()
        rclpy.shutdown()

    def _planner(self) -> str:
        """The planner's own words, where there is one: why it has no trajectory."""
        status = self.diagnostics.get("certified_planner: planning")
        return "no planner" if status is None else ", ".join(f"{item.key}: {item.value}" for item in status.values)

    def _diagnose(self, message: DiagnosticArray) -> None:
        self.diagnostics.update({status.name: status for status in message.status})


def _history(depth: int) -> QoSProfile:
    profile = qos.LATCHED
    return QoSProfile(
        history=profile.history, depth=depth, reliability=profile.reliability, durability=profile.durability
    )
