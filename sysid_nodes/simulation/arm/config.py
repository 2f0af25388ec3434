# SPDX-License-Identifier: Apache-2.0
"""Settings of the simulated arm as a node or a demo runs it, and the arm they ask for."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pinocchio

from sysid_nodes.data.config import option, section
from sysid_nodes.data.key_file import AuthorityConfig
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import Numbers
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig
from sysid_nodes.sessions.node_config import frame_prefix_option
from sysid_nodes.simulation.arm.driver_readings import DriverConfig
from sysid_nodes.simulation.arm.excitation import check_limits
from sysid_nodes.simulation.arm.gen3 import gen3_excitation
from sysid_nodes.simulation.arm.joint_faults import KINDS, FaultyJoints, JointFault
from sysid_nodes.simulation.arm.playback import Playback
from sysid_nodes.simulation.arm.position_interface import PositionInterface
from sysid_nodes.simulation.arm.simulated_arm import HardwareConfig, SimulatedArm
from sysid_nodes.simulation.arm.vendor_controller import VendorConfig
from sysid_nodes.simulation.payload import Payload, dumbbell

POUND = 0.45359237
"""[kg]"""

START = (-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415)
"""Where the authors' hardware runs begin, joint 3 unwrapped [rad]."""


NO_FAULT = "none"

INTERFACES = ("torque", "position", "playback")


@dataclass(frozen=True)
class JointFaultConfig:
    """A fault of the joint states on their way out, put in on purpose."""

    kind: str = option(
        NO_FAULT, "what goes wrong, see simulation/arm/joint_faults.py", choices=(NO_FAULT, *KINDS), live=True
    )
    start: float = option(0.5, "after the first command", unit="s", minimum=0.0, live=True)
    duration: float = option(0.0, "how long; 0: for good", unit="s", minimum=0.0, live=True)
    size: float = option(0.0, "of the fault, in the unit that its kind says", live=True)

    def start_at(self, now: float) -> FaultyJoints:
        """The fault, counted from a first command at a stamp [s]."""
        if self.kind == NO_FAULT:
            return FaultyJoints(None)
        # Half a tick early, so that no rounding of stamps decides.
        lasts = self.duration if self.duration > 0.0 else np.inf
        return FaultyJoints(JointFault(self.kind, now + self.start - 5e-4, lasts, self.size))


@dataclass(frozen=True)
class ArmSimulationConfig:
    """The simulated robot, its load, and how time passes."""

    seed: int = option(0, "of all randomness", minimum=0)
    pounds: float = option(6.0, "dumbbell in the hand; 0: none", unit="lb", minimum=0.0, maximum=20.0)
    payload: Numbers = option(
        (), "ten inertial parameters of what the body carries, instead of a dumbbell", unit="kg, kg m, kg m2"
    )
    grasp: Numbers = option((0.0, 0.0, 0.0), "shift of the dumbbell's centre in the hand", unit="m")
    start: Numbers = option(START, "posture at the start; a playback begins where its motion does", unit="rad")
    interface: str = option(
        "torque",
        "what the arm takes: torques; positions (JointTrajectory), as a stock driver does; or nothing: playback is an "
        "exciting motion of the Gen3 without end. The latter two in real time",
        choices=INTERFACES,
    )
    vendor: VendorConfig = section(VendorConfig, "the controller behind the position interface")
    lockstep: bool = option(
        True,
        "time waits for the answer to each joint state, which acts from that state's stamp, or torque_delay later, on "
        "(hardware.delay is not used); "
        "otherwise time runs like the machine's",
    )
    torque_delay: float = option(
        0.0,
        "in lockstep, simulated time from a joint state's stamp to the earliest tick that the torque which answers it "
        "acts in, as over a network",
        unit="s",
        minimum=0.0,
        maximum=0.02,
    )
    listeners: int = option(
        0, "subscribers of the joint states to wait for before the first is sent", minimum=0, maximum=100
    )
    reply_timeout: float = option(
        0.25, "of real time to wait for an answer before the arm stops itself", unit="s", minimum=0.001, maximum=3600.0
    )
    speed: float = option(1.0, "simulated time never passes faster than this times real time", minimum=0.01)
    command_age: float = option(
        0.002, "a command that answers an older joint state is not taken", unit="s", minimum=0.0, maximum=10.0
    )
    clearance_period: float = option(
        0.01, "simulated time between two measurements of the true clearance; 0: none", unit="s", minimum=0.0
    )
    truth_file: str = option("", "file that gets the true parameters of the loaded body; empty writes none")
    hardware: HardwareConfig = section(HardwareConfig, "drive, sensors and deviation from the nominal robot")
    driver: DriverConfig = section(DriverConfig, "how the driver passes the sensors' readings on")
    fault: JointFaultConfig = section(JointFaultConfig, "a fault of the joint states, put in on purpose")


@dataclass(frozen=True)
class SimulatedArmConfig:
    """Everything the simulated arm needs; keys at the top are shared with planner and controller."""

    robot: str = option("kinova_gen3", "robot by name")
    variant: str = option("", "variant of the robot; empty takes its default")
    scene: str = option("", "scene file of the obstacles; empty: none until obstacles are published")
    frame_prefix: str = frame_prefix_option()
    payload_volume: PayloadVolumeConfig = section(PayloadVolumeConfig, "room that the payload takes")
    simulated_arm: ArmSimulationConfig = section(ArmSimulationConfig, "the simulation")
    authority: AuthorityConfig = section(AuthorityConfig, "who may command")


def build_payload(robot: Robot, config: ArmSimulationConfig) -> Payload | None:
    """The robot's load.

    Raises:
        ConfigError: the numbers are not as many as they should be.
        InputError: they do not belong to a physical body.
    """
    if config.payload:
        if len(config.payload) != 10:
            raise ConfigError(f"'simulated_arm.payload' needs 10 numbers, got {len(config.payload)}")
        inertia = pinocchio.Inertia.FromDynamicParameters(np.array(config.payload))
        frame = robot.model.frames[robot.model.getFrameId(robot.body, pinocchio.FrameType.BODY)]
        inertia = frame.placement.actInv(inertia)
        return Payload(inertia.mass, np.array(inertia.lever), np.array(inertia.inertia))
    if len(config.grasp) != 3:
        raise ConfigError(f"'simulated_arm.grasp' needs 3 numbers, got {len(config.grasp)}")
    return dumbbell(POUND * config.pounds, offset=np.array(config.grasp)) if config.pounds > 0.0 else None


def build_arm(robot: Robot, config: ArmSimulationConfig, rng: np.random.Generator, *, now: float = 0.0) -> SimulatedArm:
    """The arm at rest at its start posture, its clock at ``now`` [s].

    Raises:
        InputError: the configuration does not fit the robot, nor does the motion to play.
    """
    # What is computed beside the arm acts at once, or as late as is wished.
    beside = config.lockstep or config.interface != "torque"
    late = config.torque_delay if config.interface == "torque" else 0.0
    hardware = replace(config.hardware, delay=late) if beside else config.hardware
    if robot.floating_base:
        raise ConfigError(f"robot '{robot.name}' has a floating base; the simulated arm needs a fixed one")
    start = np.array(config.start)
    if config.interface == "playback":
        check_limits(gen3_excitation(), robot.limits)
        start = gen3_excitation()(0.0).q
    elif start.size != robot.n:
        line = f"'simulated_arm.start' has {start.size} positions, robot '{robot.name}' has {robot.n} joints"
        raise ConfigError(line)
    return SimulatedArm(robot, build_payload(robot, config), hardware, rng, start, start=now, until=beside)


def build_driver(robot: Robot, config: ArmSimulationConfig, arm: SimulatedArm) -> PositionInterface | Playback | None:
    """The drive of an arm of `build_arm` where no torques are commanded from outside; None where they are."""
    if config.interface == "position":
        return PositionInterface(robot, config.vendor, arm)
    return Playback(robot, gen3_excitation(), arm) if config.interface == "playback" else None
