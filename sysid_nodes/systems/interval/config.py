# SPDX-License-Identifier: Apache-2.0
"""Configuration of the interval identifier: the only place its defaults live."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.data.joint_vector import Words
from sysid_nodes.models.known_robot import KnownRobotConfig, Numbers, PriorConfig
from sysid_nodes.signals.driver import SignalsConfig

METHODS = ("set_membership", "sensitivity")


@dataclass(frozen=True)
class WindowConfig:
    """How the stream is cut into momentum-balance windows."""

    duration: float = option(0.1, "length of a window", unit="s", minimum=1e-3, maximum=10.0)
    max_gap: float = option(
        0.02, "a longer pause between two samples ends a window unused", unit="s", minimum=1e-5, maximum=1.0
    )


@dataclass(frozen=True)
class NoiseConfig:
    """Bounds on the measurement errors. The proof of every published bound rests on these numbers.

    One number stands for every joint; otherwise one number a joint, in the robot's joint order.
    """

    model: str = option(
        "itemised",
        "itemised: every error has a bound of its own; window: torque_relative and torque_absolute bound the mean "
        "imbalance over a window, all errors of measurement and sampling together (found by calibration)",
        choices=("itemised", "window"),
    )
    torque_relative: Numbers = option(
        (0.025,), "largest torque error relative to the reading", unit="1", minimum=0.0, maximum=1.0, live=True
    )
    torque_absolute: Numbers = option(
        (0.0,),
        "largest torque error on top of the relative one, in units of the reading, unmodelled friction included; with "
        "model window: of the mean over a window",
        unit="N m",
        minimum=0.0,
        live=True,
    )
    torque_factor: float = option(
        1.0, "factor on the torque error that a calibration found", unit="1", minimum=0.1, maximum=100.0
    )
    position_error: Numbers = option(
        (0.0,),
        "largest joint position error (half an encoder step); 0 takes the robot's encoder",
        unit="rad",
        minimum=0.0,
        live=True,
    )
    velocity_error: Numbers = option((1e-4,), "largest joint velocity error", unit="rad/s", minimum=0.0, live=True)
    stamp_error: float = option(0.0, "largest error of a stamp", unit="s", minimum=0.0, maximum=0.1, live=True)
    acceleration: Numbers = option(
        (10.0,), "largest joint acceleration between samples", unit="rad/s2", minimum=1e-6, live=True
    )
    jerk: Numbers = option(
        (0.0,),
        "largest rate of change of acceleration between two samples (at the samples it may jump); 0: not assumed, "
        "acceleration may jump anywhere",
        unit="rad/s3",
        minimum=0.0,
        live=True,
    )
    torque_rate: Numbers = option(
        (200.0,),
        "largest rate of change of torque between samples (torque_interpolation linear)",
        unit="N m/s",
        minimum=0.0,
        live=True,
    )
    torque_curvature: Numbers = option(
        (0.0,),
        "largest rate of change of torque's own rate between two samples (at the samples it may jump) while no joint "
        "reverses (torque_interpolation linear); 0: not assumed",
        unit="N m/s2",
        minimum=0.0,
        live=True,
    )
    torque_interpolation: str = option(
        "linear",
        "torque between samples: linear (off a straight line by what torque_rate allows), hold (a reading's torque "
        "acts from its stamp to the next) or until (it has acted from the stamp before to its own)",
        choices=("linear", "hold", "until"),
    )


@dataclass(frozen=True)
class SetMembershipConfig:
    """Effort of the set-membership method. None of these touches soundness."""

    max_rows: int = option(400, "inequality rows kept; the least useful are dropped", minimum=20, maximum=100000)
    spans: int = option(
        4,
        "rows also over 2, 4 and 8 windows in a row, up to so many (itemised noise): the longer a row, the less do "
        "errors at its ends weigh",
        minimum=1,
        maximum=8,
    )
    max_cuts: int = option(60, "pseudo-inertia cuts kept", minimum=0, maximum=10000)
    solves: int = option(6, "linear programs solved a round, the most promising first", minimum=1, maximum=20)
    min_shrink: float = option(
        1e-3,
        "a bound counts as tightened when it moves by this share of the interval",
        unit="1",
        minimum=0.0,
        maximum=1.0,
        live=True,
    )


@dataclass(frozen=True)
class SensitivityConfig:
    """Effort of the sensitivity method, which estimates anew from all rows it keeps."""

    max_rows: int = option(4200, "rows kept; older ones are dropped", minimum=20, maximum=100000)
    nested_after: float = option(
        0.0,
        "time of data after which intervals are intersected with the prior and with one another, as trajectories need "
        "that outlive a window (see estimates of the certified planner); until then the prior stands; of the first "
        "windows alone many miss the truth, and intervals with nothing in common are a contradiction; 0: never",
        unit="s",
        minimum=0.0,
    )


@dataclass(frozen=True)
class IntervalIdentifierConfig:
    """Everything the interval identifier needs; node, replay and demo read the same."""

    robot: str = option("kinova_gen3", "robot by name, or 'urdf' for the one given by urdf or robot_description")
    variant: str = option("", "variant of the robot (kinova_gen3: bare or gripper); empty takes its default")
    urdf: str = option("", "path of a URDF file that replaces the robot's own")
    body: str = option("", "link to identify, with all that is rigidly attached; empty takes the robot's last")
    joints: Words = option(
        (), "joints of the arm, all others being locked; empty takes those that move the body (and are in the log)"
    )
    locked: Numbers = option(
        (), "places of joints that are locked, by joint name; others as the log has them", unit="rad or m",
        joints_apart=True,
    )  # fmt: skip
    target: str = option(
        "body",
        "what is identified: body (the link with all it carries) or payload (what was added to the known link)",
        choices=("body", "payload"),
    )
    method: str = option("set_membership", "identification method", choices=METHODS)
    calibration: str = option("", "path of a calibration.json that replaces known_robot; goes with target payload")
    weigh_first: int = option(
        48,
        "windows that are weighed against the calibration before bounds that rest on it are called proven; until then "
        "they are the prior's",
        minimum=0,
    )
    signals: SignalsConfig = section(SignalsConfig, "how the driver's joint states read")
    window: WindowConfig = section(WindowConfig, "windows")
    noise: NoiseConfig = section(NoiseConfig, "measurement errors")
    known_robot: KnownRobotConfig = section(KnownRobotConfig, "uncertainty of the known robot")
    prior: PriorConfig = section(PriorConfig, "prior box of the body")
    set_membership: SetMembershipConfig = section(SetMembershipConfig, "set-membership method")
    sensitivity: SensitivityConfig = section(SensitivityConfig, "sensitivity method")
