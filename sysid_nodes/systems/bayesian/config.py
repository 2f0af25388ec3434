# SPDX-License-Identifier: Apache-2.0
"""Configuration of the Bayesian identification: the only home of its defaults."""

from __future__ import annotations

from dataclasses import dataclass, replace

from sysid_nodes.data.config import option, section
from sysid_nodes.data.joint_vector import Numbers, Words

ALL, NONE = "all", "none"
NO_FRICTION, VISCOUS, COULOMB, STRIBECK, LUGRE = "none", "viscous", "coulomb", "stribeck", "lugre"
READINGS, MOTION = "readings", "motion"
GAUSSIAN, HUBER, CAUCHY = "gaussian", "huber", "cauchy"
FRICTION = (NO_FRICTION, VISCOUS, COULOMB, STRIBECK, LUGRE)


@dataclass(frozen=True)
class MechanismConfig:
    """Joints and loops, of which the robot's description is silent."""

    loops: Words = option(
        (),
        "closed loops: LINK:LINK for two links of the URDF whose origins coincide, LINK:LINK:KIND with hinge, weld, "
        "plane, slider or touch, or the name of an MJCF or SDF file that has them",
    )
    contacts: Words = option(
        (),
        "contacts that begin or end, in s from the log's first reading: LINK:PLANE:touch@WHEN of a point that bounces, "
        "LINK:PLANE:touch@SINCE..UNTIL of one that slides, LINK:PLANE:point@SINCE..UNTIL of one that sticks where "
        "PLANE has its origin; PLANE is a link with the plane across its z axis, universe for the base's",
    )
    passive: Words = option((), "joints without a motor")
    couplings: Words = option(
        (),
        "gears that couple joints: JOINT:OTHER:TURNS where the motor of JOINT turns by its angle and TURNS times that "
        "of OTHER; torques are read, and friction is stated, at the motors behind their gears",
    )
    term: str = option("", "Python file with torques and power of one's own in CasADi; it is run")


@dataclass(frozen=True)
class InertiaPriorConfig:
    """Prior of the links' inertia about the description's."""

    bodies: str = option(ALL, "links whose inertia is unknown, separated by commas; all, or none")
    mass_sigma: float = option(0.3, "of each link's mass, relative", minimum=1e-4)
    centre_sigma: float = option(0.3, "of its centre of mass, in units of its size", minimum=1e-4)
    shape_sigma: float = option(0.3, "of its size and shape, relative", minimum=1e-4)
    total_mass: float = option(0.0, "known mass of all moving links; 0: not known", unit="kg", minimum=0.0)
    symmetric: Words = option(
        (),
        "links of the same inertia: LINK:LINK, or LINK:LINK:AXES where one is the other's mirror image along axes x, y "
        "or z of their frames",
    )


@dataclass(frozen=True)
class FrictionPriorConfig:
    """Prior of the joints' friction; all of it is positive."""

    motors: str = option(COULOMB, "terms of joints with a motor", choices=FRICTION)
    passive: str = option(VISCOUS, "terms of joints without", choices=FRICTION)
    coulomb_sigma: float = option(5.0, "of Coulomb's friction", unit="N m", minimum=1e-6)
    viscous_sigma: float = option(5.0, "of viscous friction at 1 rad/s", unit="N m s/rad", minimum=1e-6)
    viscous_power: Numbers = option(
        (1.0,),
        "power of the speed that viscous friction grows with, below 1 where a lubricant thins",
        minimum=0.2,
        maximum=1.0,
    )
    stiction_sigma: float = option(2.0, "of what stiction adds at rest", unit="N m", minimum=1e-6)
    turning_speed: float = option(0.02, "over which friction turns its sign", unit="rad/s", minimum=1e-4)
    turning_sigma: float = option(0.0, "of its logarithm; 0: known", minimum=0.0)
    stribeck_speed: float = option(0.2, "beyond which stiction is gone", unit="rad/s", minimum=1e-4)
    stribeck_sigma: float = option(0.5, "of its logarithm; 0: known", minimum=0.0)
    deflection: float = option(1e-3, "by which lugre's bristles bend before they slide", unit="rad", minimum=1e-7)
    deflection_sigma: float = option(0.7, "of its logarithm; 0: known", minimum=0.0)
    load_sigma: float = option(
        0.0, "of the share of what a motor's gear transmits that is lost; 0: none", unit="1", minimum=0.0
    )


@dataclass(frozen=True)
class DrivePriorConfig:
    """Prior of motors and their sensors."""

    armature_sigma: float = option(
        0.0, "of the rotors' inertia about the description's; 0: known", unit="kg m2", minimum=0.0
    )
    offset_sigma: float = option(0.0, "of the torque readings' offsets; 0: none", unit="N m", minimum=0.0)
    gain_sigma: float = option(0.0, "of the torque readings' scale about 1; 0: known", minimum=0.0)
    delay_sigma: float = option(
        0.0, "of the time by which a motor's torque readings are later than positions; 0: none", unit="s", minimum=0.0
    )


@dataclass(frozen=True)
class PowerPriorConfig:
    """Prior of the power meter's losses: power = sum (torque x speed + loss x torque^2) + idle."""

    loss_sigma: float = option(1.0, "of a motor's loss", unit="W/(N m)^2", minimum=1e-9)
    idle_sigma: float = option(20.0, "of the power drawn at rest", unit="W", minimum=1e-9)


@dataclass(frozen=True)
class ContactPriorConfig:
    """Prior of contacts that begin with an impact, and how exactly they are met."""

    restitution: float = option(0.5, "of a point that bounces: what it keeps of its speed", minimum=0.0, maximum=1.0)
    restitution_sigma: float = option(0.3, "of the same; 0: known", minimum=0.0)
    instant_sigma: float = option(
        0.001, "of when it strikes; readings within three of these are not used", unit="s", minimum=1e-6
    )
    gap: float = option(
        1e-4, "standard deviation of its height as it strikes; of its speed, this a step", unit="m", minimum=1e-7
    )


@dataclass(frozen=True)
class NoiseConfig:
    """Standard deviations where the estimation of the noise begins, or of the noise if it is not estimated."""

    position: float = option(1e-3, "of joint positions", unit="rad", minimum=1e-9)
    torque: float = option(1.0, "of motor torques: their readings, and what the model misses", unit="N m", minimum=1e-9)
    passive: float = option(1e-2, "of torques at passive joints that the model misses", unit="N m", minimum=1e-6)
    power: float = option(5.0, "of the power meter", unit="W", minimum=1e-9)
    estimate: bool = option(True, "estimate the noise from the log")
    loss: str = option(
        GAUSSIAN,
        "of readings: huber bounds the pull of an outlier, cauchy lets it fade the farther it is off",
        choices=(GAUSSIAN, HUBER, CAUCHY),
    )
    acts_on: str = option(
        READINGS,
        "what errors of torques act on: readings, of drives that hold a motion whatever it takes, or motion, of arms "
        "that swing almost freely",
        choices=(READINGS, MOTION),
    )
    rounds: int = option(12, "of the noise's estimation at most", minimum=1)


@dataclass(frozen=True)
class SearchConfig:
    """How a minimum is looked for."""

    starts: int = option(2, "descents from parameters drawn from the prior, the first from its mean", minimum=1)
    seed: int = option(0, "of what is drawn", minimum=0)
    sharpening: tuple[float, ...] = option(
        (1.0,),
        "factors on the turning speed of friction in the problems that lead the way, with torques held less strictly",
        minimum=1.0,
    )
    iterations: int = option(100, "steps of a descent at most", minimum=1)
    tolerance: float = option(1e-6, "a descent ends where a step lowers the cost by less, relatively", minimum=0.0)


@dataclass(frozen=True)
class VerdictConfig:
    """When a parameter counts as observed."""

    observed: float = option(
        0.5, "posterior over prior sigma up to which a parameter is observed", minimum=0.0, maximum=1.0
    )
    blind: float = option(0.9, "the same from which on it is not", minimum=0.0, maximum=1.0)
    samples: int = option(4000, "draws from the posterior, for its intervals", minimum=100)


@dataclass(frozen=True)
class OnlineConfig:
    """How a live node follows the motion: window after window, each begun with what those before it say."""

    window: float = option(2.0, "of the log that is used at once", unit="s", minimum=0.5)
    patience: float = option(0.2, "for the power meter after joint states have ended a window", unit="s", minimum=0.0)
    samples: int = option(1000, "draws from a window's posterior, in place of verdict.samples", minimum=400)
    gap: float = option(0.1, "without joint states that ends a window unused", unit="s", minimum=1e-3, maximum=0.5)


@dataclass(frozen=True)
class BayesianConfig:
    """Constants of a robot with a fixed base, with or without closed loops, as a posterior."""

    step: float = option(0.01, "between stages", unit="s", minimum=1e-4, maximum=0.1)
    held_out: float = option(0.2, "last part of the log, kept for judging", minimum=0.0, maximum=0.8)
    mechanism: MechanismConfig = section(MechanismConfig, "joints and loops")
    inertia: InertiaPriorConfig = section(InertiaPriorConfig, "the links")
    friction: FrictionPriorConfig = section(FrictionPriorConfig, "the joints")
    drive: DrivePriorConfig = section(DrivePriorConfig, "the motors")
    power: PowerPriorConfig = section(PowerPriorConfig, "the power meter")
    contact: ContactPriorConfig = section(ContactPriorConfig, "the contacts")
    noise: NoiseConfig = section(NoiseConfig, "how exact readings are")
    search: SearchConfig = section(SearchConfig, "the search")
    verdict: VerdictConfig = section(VerdictConfig, "what is said of a parameter")
    online: OnlineConfig = section(OnlineConfig, "how the posterior follows the motion")

    @property
    def of_windows(self) -> BayesianConfig:
        """The same for a live node's windows."""
        return replace(self, verdict=replace(self.verdict, samples=self.online.samples))
