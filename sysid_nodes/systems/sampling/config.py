# SPDX-License-Identifier: Apache-2.0
"""Configuration of the identification by rollouts: the only home of its defaults."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.rollouts.legged_model import GroundConfig

OURS, PAPER = "gauss_newton", "paper"


@dataclass(frozen=True)
class DriveConfig:
    """Known facts of the drives: one number for all joints, one for each kind, or one for each joint."""

    stiffness: tuple[float, ...] = option((40.0,), "k_p of the drives", unit="N m/rad", minimum=1e-3)
    damping: tuple[float, ...] = option((1.0,), "k_d of the drives", unit="N m s/rad", minimum=0.0)
    delay: float = option(0.0, "from a command's stamp to its torque", unit="s", minimum=0.0, maximum=0.1)


@dataclass(frozen=True)
class UnknownsConfig:
    """Parameters to identify, and their bounds (the paper's Table 4)."""

    bodies: str = option("", "links whose inertia is unknown, separated by commas; empty: the robot's own body")
    motors: str = option(
        "kind",
        "motors saturate by tanh, with a strength for all, for each kind of joint or for each; or a linear gain a kind",
        choices=("none", "one", "kind", "each", "linear"),
    )
    mass: tuple[float, ...] = option((3.0, 15.0), "bounds of a body's mass", unit="kg", minimum=1e-3)
    centre: float = option(0.1, "bound of the centre of mass, either side of the nominal one", unit="m", minimum=1e-4)
    inertia: tuple[float, ...] = option(
        (0.005, 1.0), "bounds of the principal second moments' scale", unit="kg m2", minimum=1e-6
    )
    strength: tuple[float, ...] = option((10.0, 200.0), "bounds of a motor's strength", unit="N m", minimum=0.1)
    strength_guess: float = option(25.0, "strength where the search begins", unit="N m", minimum=0.1)
    saturation_sigma: float = option(
        1.0, "prior of (strength_guess / strength)^2 about one; 0: none", unit="1", minimum=0.0
    )
    gain: tuple[float, ...] = option((0.5, 1.5), "bounds of a linear gain", unit="1", minimum=0.01)
    shape_sigma: float = option(
        0.5, "prior of the inertia's shape about the nominal one, in log-Cholesky coordinates", unit="1", minimum=1e-3
    )
    dry_friction: float = option(
        2.0,
        "upper bound of dry friction that only moving joints feel, one number for all; 0: they have none",
        unit="N m",
        minimum=0.0,
    )
    holding_friction: float = option(
        2.0,
        "upper bound of dry friction that holds joints at rest, too, one number for all; 0: they have none",
        unit="N m",
        minimum=0.0,
    )
    bristle_friction: float = option(
        1.0,
        "upper bound of dry friction that gives a little before it slides, one number for all; 0: they have none",
        unit="N m",
        minimum=0.0,
    )
    friction_sigma: float = option(0.3, "prior of the ground's friction, relative; 0: known", unit="1", minimum=0.0)
    compliance_sigma: float = option(
        0.5, "prior of the ground's time constant, relative; 0: known", unit="1", minimum=0.0
    )
    delay_sigma: float = option(0.02, "prior of the motion capture's delay; 0: none", unit="s", minimum=0.0)
    alignment_sigma: float = option(
        0.03, "prior of the angle between the tracked axes and the base's; 0: none", unit="rad", minimum=0.0
    )
    gyro_bias_sigma: float = option(0.01, "prior of the gyroscope's bias; 0: none", unit="rad/s", minimum=0.0)


@dataclass(frozen=True)
class NoiseConfig:
    """Standard deviations of single readings, by which residuals are weighed."""

    joint_position: float = option(1e-3, "encoders", unit="rad", minimum=1e-6)
    joint_velocity: float = option(0.05, "velocities of the joints", unit="rad/s", minimum=1e-6)
    position: float = option(2e-3, "motion capture's position", unit="m", minimum=1e-6)
    orientation: float = option(0.01, "motion capture's orientation", unit="rad", minimum=1e-6)
    gyroscope: float = option(0.01, "angular velocity", unit="rad/s", minimum=1e-6)
    vertical: float = option(0.005, "vertical in the inertial sensor's frame", unit="rad", minimum=1e-6)


@dataclass(frozen=True)
class HorizonsConfig:
    """Clips, short ones first: each level begins where the one before ended."""

    lengths: tuple[float, ...] = option((0.03, 0.03, 0.1), "of the clips of each level", unit="s", minimum=4e-3)
    clips: tuple[int, ...] = option((16, 24, 32), "of each level, for every ten seconds of motion", minimum=3)
    lead: float = option(
        0.0,
        "at the beginning of the last level's clips that is simulated and not compared: soles settle on the ground",
        unit="s",
        minimum=0.0,
    )
    iterations: tuple[int, ...] = option((5, 5, 7), "of each level at most", minimum=1)
    lost: float = option(
        2.0,
        "misfit of a settled clip, in units of the median one or of noise if that is more, beyond which it is left out",
        minimum=1.0,
    )
    settling: int = option(8, "steps of each level at most that fit start states alone, at first", minimum=0)
    tolerance: float = option(
        1.0, "step that ends a level, squared, in standard deviations if noise were all there is", minimum=1e-9
    )
    robust: float = option(
        4.0,
        "residual, in units of their spread or of noise if that is more, from which on it pulls no harder; 0: never",
        unit="1",
        minimum=0.0,
    )
    block: int = option(2, "clips whose residuals may be correlated", minimum=1)


@dataclass(frozen=True)
class VerdictConfig:
    """When a parameter counts as identified."""

    relative: float = option(0.2, "half-width of its 95 % interval, relative to it, that is good enough", minimum=0.0)
    distance: float = option(0.01, "half-width for the centre of mass", unit="m", minimum=0.0)
    misfit: float = option(
        3.0, "residuals, in units of the stated noise, above which nothing is claimed", unit="1", minimum=1.0
    )
    shown: float = option(0.5, "clips that the report replays", unit="s", minimum=0.02)
    inertia: float = option(
        0.2, "half-width for a product of inertia, relative to the largest moment", unit="1", minimum=0.0
    )


@dataclass(frozen=True)
class PaperConfig:
    """The paper's own method: random horizons and CMA-ES on its weighted cost."""

    shortest: float = option(0.05, "clip", unit="s", minimum=4e-3)
    longest: float = option(0.5, "clip", unit="s", minimum=4e-3)
    clips: int = option(40, "clips", minimum=1)
    population: int = option(0, "candidates an iteration; 0: as CMA-ES takes for the number of unknowns", minimum=0)
    iterations: int = option(60, "iterations", minimum=1)
    spread: float = option(0.3, "first standard deviation, in units of half the bounds' distance", minimum=1e-3)


@dataclass(frozen=True)
class SamplingConfig:
    """Base, payload and motors of a walking robot from rollouts."""

    method: str = option(OURS, "how: our own, or as the paper does", choices=(OURS, PAPER))
    step: float = option(0.002, "of the simulations", unit="s", minimum=2e-4, maximum=5e-3)
    threads: int = option(0, "of the simulations; 0: one a CPU", minimum=0)
    processes: int = option(0, "that simulate instead of threads; 0: none", minimum=0)
    scheduler: str = option("", "address of a Dask cluster's, whose workers simulate instead; empty: none")
    device: str = option(
        "", "of mujoco-warp, `cuda:0` or `cpu`, that simulates instead, in single precision; empty: none"
    )
    seed: int = option(0, "of the clips' places", minimum=0)
    drive: DriveConfig = section(DriveConfig, "the drives")
    unknowns: UnknownsConfig = section(UnknownsConfig, "what is identified")
    noise: NoiseConfig = section(NoiseConfig, "how exact readings are")
    horizons: HorizonsConfig = section(HorizonsConfig, "clips")
    ground: GroundConfig = section(GroundConfig, "friction and compliance, where the search begins")
    verdict: VerdictConfig = section(VerdictConfig, "when a parameter counts as identified")
    paper: PaperConfig = section(PaperConfig, "method `paper`")

    def __post_init__(self) -> None:
        if bool(self.processes) + bool(self.scheduler) + bool(self.device) > 1:
            raise ConfigError("'processes', 'scheduler' and 'device' exclude one another")
        levels = {len(self.horizons.lengths), len(self.horizons.clips), len(self.horizons.iterations)}
        if levels != {len(self.horizons.lengths)} or not self.horizons.lengths:
            raise ConfigError("'horizons' needs as many lengths as clips and iterations, and one at least")
        if not self.horizons.lead < self.horizons.lengths[-1]:
            raise ConfigError("'horizons.lead' leaves nothing of the last level's clips")
        for name in ("mass", "inertia", "strength", "gain"):
            bounds = getattr(self.unknowns, name)
            if len(bounds) != 2 or not bounds[0] < bounds[1]:
                raise ConfigError(f"'unknowns.{name}' must be two numbers, the lower first")
