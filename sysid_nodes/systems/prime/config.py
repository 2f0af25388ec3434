# SPDX-License-Identifier: Apache-2.0
"""Configuration of the PRIME estimator: the only home of its defaults."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.sensors import SensorsConfig
from sysid_nodes.solvers.trajectory_least_squares import LevenbergMarquardtConfig

LAWS = ("coulomb", "anitescu")


@dataclass(frozen=True)
class ContactConfig:
    """Contact with the ground, a plane."""

    friction: float = option(0.8, "friction coefficient of the ground, about which it is looked for", minimum=0.01)
    friction_sigma: float = option(
        0.3,
        "prior standard deviation of its logarithm, which is then estimated: rubber on concrete has 0.45 (wet) to 0.85"
        " (dry), and up to 1; 0: exact",
        unit="1",
        minimum=0.0,
    )
    law: str = option("coulomb", "coulomb, or the paper's convex anitescu, where a sliding foot hovers", choices=LAWS)
    normal: tuple[float, ...] = option((0.0, 0.0, 1.0), "unit normal of the ground in the world")
    height: float = option(0.0, "height of the ground along its normal", unit="m")
    height_sigma: float = option(
        0.01, "prior standard deviation of the height, which is then estimated; 0: exact", unit="m", minimum=0.0
    )
    tilt_sigma: float = option(
        0.05,
        "prior standard deviation of the ground's slope against its normal, about each of two axes, which is then"
        " estimated; 0: none",
        unit="rad",
        minimum=0.0,
    )
    foot_sigma: float = option(
        0.002,
        "prior standard deviation of a foot's place on its link, along each axis, which is then estimated; 0: exact",
        unit="m",
        minimum=0.0,
    )
    compliance_sigma: float = option(
        5e-5,
        "prior standard deviation of what feet and ground give together under a load, which is then estimated; 0: none",
        unit="m/N",
        minimum=0.0,
    )
    lag_sigma: float = option(
        0.02,
        "prior standard deviation of the time by which they give late, and come back, which is then estimated; 0: a"
        " spring, as they are where the heights of footholds are open",
        unit="s",
        minimum=0.0,
    )
    foothold_sigma: float = option(
        0.0,
        "standard deviation of the ground's height from foothold to foothold, against its plane: half the height of the"
        " steps; whether a foot bears is then left to forces and accelerations",
        unit="m",
        minimum=0.0,
    )
    gap_sigma: float = option(2e-3, "standard deviation of the ground's shape and give", unit="m", minimum=1e-9)
    slip_sigma: float = option(0.05, "standard deviation of creep in a contact", unit="m/s", minimum=1e-9)
    force_sigma: float = option(
        1000.0,
        "prior standard deviation of a contact force's components: decides what the motion does not, as how the corners"
        " of a foot share its load; a small one makes a robot light whose drives' gain is not known",
        unit="N",
        minimum=1e-6,
    )
    smoothing: float = option(3e-4, "eps of gap velocity times impulse (the paper's 2 / kappa)", unit="J", minimum=1e-9)
    first_smoothing: float = option(1e-2, "eps at the start of a continuation", unit="J", minimum=1e-9)
    continuation: int = option(2, "solves on the way from the first smoothing to the last, both included", minimum=1)
    impulse_scale: float = option(
        1.0,
        "rho, velocity per impulse in the free contact variable; no effect on the solution",
        unit="1/kg",
        minimum=1e-6,
    )
    threshold: float = option(2.0, "normal force above which a foot counts as on the ground", unit="N", minimum=0.0)

    def __post_init__(self) -> None:
        if len(self.normal) != 3:
            raise ConfigError(f"'normal' of the ground must be three numbers, got {len(self.normal)}")
        if self.first_smoothing < self.smoothing:
            raise ConfigError("'first_smoothing' must not be below 'smoothing'")


@dataclass(frozen=True)
class ProcessConfig:
    """Errors of the rigid-body model: disturbances, independent from stage to stage."""

    force: float = option(2.0, "standard deviation of a force on the base", unit="N", minimum=1e-9)
    moment: float = option(0.2, "standard deviation of a moment on the base", unit="N m", minimum=1e-9)
    torque: float = option(
        0.1, "standard deviation of unknown joint torque, besides the sensor's", unit="N m", minimum=0.0
    )
    coulomb: float = option(
        0.0,
        "prior standard deviation of the joints' Coulomb friction as a share of their torque limits, then estimated;"
        " with viscous and armature 0: exact",
        unit="1",
        minimum=0.0,
    )
    viscous: float = option(
        0.0, "the same of their viscous friction, at 1 rad/s and a share of the limits", unit="s/rad", minimum=0.0
    )
    armature: float = option(
        0.3,
        "prior standard deviation of their armature as a share of the robot's, or, of a robot that states none, of 1e-3"
        " kg m2 for 1 N m of torque limit; then estimated. Rotors exactly known would say how heavy the robot is",
        unit="1",
        minimum=0.0,
    )
    outside_force: float = option(
        0.0,
        "standard deviation of a force on the base from outside, as of a push, a rope or a hand, from stage to stage,"
        " which is then estimated and told; the mass is known the less; 0: nothing pushes",
        unit="N",
        minimum=0.0,
    )
    outside_moment: float = option(0.0, "the same of a moment", unit="N m", minimum=0.0)
    drift: float = option(
        0.02,
        "standard deviation of the base's place along the ground as a share of the way since something saw it: feet"
        " slide a little the same way at every step",
        unit="1",
        minimum=0.0,
    )

    @property
    def asks_outside(self) -> bool:
        """Whether a force or a moment from outside is to be estimated."""
        return self.outside_force > 0.0 or self.outside_moment > 0.0


@dataclass(frozen=True)
class InertiaConfig:
    """Bodies to identify and what is known of them before."""

    bodies: str = option("", "links to identify, separated by commas; empty for the robot's default, none for none")
    links_sigma: float = option(
        0.03,
        "prior standard deviation of the masses of all other links together, as a share; then estimated. Legs whose"
        " weight is known would calibrate the drives; 0: they do",
        unit="1",
        minimum=0.0,
    )
    weighed: float = option(
        0.0,
        "mass of the whole robot with all that it carries, where it was weighed: calibrates the drives; 0: it was not",
        unit="kg",
        minimum=0.0,
    )
    weighed_sigma: float = option(0.003, "its standard deviation as a share", unit="1", minimum=1e-4)
    observed: float = option(
        0.3, "share of its prior's standard deviation that a parameter's may have to be called observed", minimum=0.01
    )
    least_turning: float = option(
        0.1,
        "angular velocity of the base, root mean square over half a second, that moments of inertia about an axis,"
        " products about both of theirs and the height of the centre of mass need to be called observed",
        unit="rad/s",
        minimum=0.0,
    )
    least_swing: float = option(
        0.3,
        "velocity of a joint, root mean square over half a second, from which on a robot is not at rest though its base"
        " does not turn: drives, links and delays are estimated",
        unit="rad/s",
        minimum=0.0,
    )
    mass_sigma: float = option(0.7, "prior standard deviation of a mass's logarithm", minimum=1e-6)
    com_sigma: float = option(0.15, "prior standard deviation of the centre of mass", unit="m", minimum=1e-6)
    shape_sigma: float = option(
        0.5, "prior standard deviation of the logarithms of the mass distribution's extents", minimum=1e-6
    )
    shear_sigma: float = option(
        0.05, "prior standard deviation of the distribution's shear terms", unit="m", minimum=1e-6
    )


@dataclass(frozen=True)
class LimitsConfig:
    """Inequalities that a motion obeys; a moving window's give way a little where readings speak against them."""

    joints: bool = option(False, "whether joints stay within the robot's position limits")
    torques: bool = option(
        False, "whether motors stay within the robot's torque limits; without any reading of a torque nothing does"
    )


@dataclass(frozen=True)
class StartConfig:
    """Prior of the first stage besides its readings: keeps a log without mocap determined."""

    position_sigma: float = option(
        1.0, "standard deviation of the base's position about the first guess", unit="m", minimum=1e-6
    )
    rotation_sigma: float = option(
        1.0, "standard deviation of the base's orientation about the first guess", unit="rad", minimum=1e-6
    )
    joint_sigma: float = option(
        1.0, "standard deviation of joint positions about the first guess", unit="rad", minimum=1e-6
    )


@dataclass(frozen=True)
class IterationConfig:
    """Stopping rules."""

    most: int = option(60, "iterations of a solve at most", minimum=1)
    tolerance: float = option(1e-5, "stop when an iteration lowers the cost by less, relatively", minimum=1e-12)
    promise: float = option(
        0.1,
        "stop when a step promises to lower the cost by less: half the square of its length, in sigmas of all unknowns"
        " together",
        minimum=0.0,
    )
    time_limit: float = option(0.0, "wall time of a solve; 0: none", unit="s", minimum=0.0)

    def solver(self) -> LevenbergMarquardtConfig:
        """The solver's own settings."""
        return LevenbergMarquardtConfig(
            max_iterations=self.most,
            cost_tolerance=self.tolerance,
            promise_tolerance=self.promise,
            time_limit=self.time_limit,
        )


@dataclass(frozen=True)
class PrimeConfig:
    """The estimator of motion, contact forces and inertia."""

    step: float = option(0.01, "time between stages", unit="s", minimum=1e-4, maximum=0.1)
    misfit: float = option(
        2.0,
        "root mean square of one kind of residuals over any half second, in units of its noise, above which a whole"
        " log's estimate is doubtful",
        unit="1",
        minimum=1.0,
    )
    contact: ContactConfig = section(ContactConfig, "contact with the ground")
    process: ProcessConfig = section(ProcessConfig, "disturbances")
    inertia: InertiaConfig = section(InertiaConfig, "inertial parameters")
    sensors: SensorsConfig = section(SensorsConfig, "measurements")
    limits: LimitsConfig = section(LimitsConfig, "limits of joints and motors")
    start: StartConfig = section(StartConfig, "the first stage")
    iteration: IterationConfig = section(IterationConfig, "Levenberg-Marquardt iteration")
