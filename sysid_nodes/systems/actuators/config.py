# SPDX-License-Identifier: Apache-2.0
"""Configuration of actuator identification: the only home of its defaults."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.actuator import PARAMETERS
from sysid_nodes.systems.actuators.method_config import METHODS, EvolutionConfig, NetworkConfig, OracleConfig

_FIT = "whether to fit it: "
_MEANING = {p.name: _FIT + p.meaning for p in PARAMETERS}


@dataclass(frozen=True)
class FittedConfig:
    """Parameters that are fitted; the others stay at what `law` says."""

    armature: bool = option(True, _MEANING["armature"])
    delay: bool = option(True, _MEANING["delay"])
    gain: bool = option(False, _MEANING["gain"])
    encoder_bias: bool = option(True, _MEANING["encoder_bias"])
    torque_offset: bool = option(False, _MEANING["torque_offset"])
    backlash: bool = option(False, _MEANING["backlash"])
    dead_zone: bool = option(False, _MEANING["dead_zone"])
    torque_limit: bool = option(False, _MEANING["torque_limit"])
    no_load_speed: bool = option(False, _MEANING["no_load_speed"])
    viscous: bool = option(True, _MEANING["viscous"])
    stribeck: bool = option(False, _MEANING["stribeck"])
    stribeck_speed: bool = option(False, _MEANING["stribeck_speed"])
    coulomb: bool = option(True, _MEANING["coulomb"])
    load_friction: bool = option(False, _MEANING["load_friction"])
    position_friction: bool = option(True, _MEANING["position_friction"])

    @property
    def names(self) -> tuple[str, ...]:
        """Of the fitted parameters, in the law's order."""
        return tuple(p.name for p in PARAMETERS if getattr(self, p.name))

    @property
    def open_names(self) -> tuple[str, ...]:
        """The same of a drive that is told torques: a gain and an offset stand for what a position loop has."""
        chosen = {*self.names, "gain", "torque_offset"} - {"encoder_bias", "backlash"}
        return tuple(p.name for p in PARAMETERS if p.name in chosen)


@dataclass(frozen=True)
class LawConfig:
    """Known facts of the drives. A list has a value for each joint, one value stands for all."""

    stiffness: tuple[float, ...] = option((), "k_p of the drives; empty: as the log says", unit="N m/rad", minimum=0.0)
    damping: tuple[float, ...] = option((), "k_d of the drives; empty: as the log says", unit="N m s/rad", minimum=0.0)
    backlash: tuple[float, ...] = option((), "play between drive and joint; empty: none", unit="rad", minimum=0.0)
    dead_zone: tuple[float, ...] = option(
        (), "torque wanted of the drives below which they give none; empty: none", unit="N m", minimum=0.0
    )
    torque_limit: tuple[float, ...] = option((), "largest torque of the drives; empty: none", unit="N m", minimum=1e-6)
    no_load_speed: tuple[float, ...] = option(
        (), "speed at which no torque is left; empty: none", unit="rad/s", minimum=1e-6
    )
    saturation: str = option("tanh", "how the torque meets its limit", choices=("tanh", "hard"))
    stribeck_speed: float = option(
        0.1, "speed at which Stribeck's friction has fallen to 1/e", unit="rad/s", minimum=1e-3
    )
    rest_speed: float = option(0.003, "speed over which dry friction turns over", unit="rad/s", minimum=1e-5)
    command: str = option(
        "held", "whether a command holds until the next or runs straight to it", choices=("held", "straight")
    )


@dataclass(frozen=True)
class MotionConfig:
    """From samples to what the rigid body takes."""

    cutoff: float = option(
        15.0, "of the filter behind velocity, acceleration and load (zero phase)", unit="Hz", minimum=0.1
    )
    step: float = option(1e-3, "longest step of a rollout", unit="s", minimum=1e-5, maximum=1e-2)
    gap: float = option(0.05, "silence after which a new segment begins", unit="s", minimum=1e-3)
    travel: float = option(0.02, "distance that a joint must move to be looked at", unit="rad", minimum=0.0)


@dataclass(frozen=True)
class ShootingOptions:
    """How the fit is solved."""

    horizons: tuple[float, ...] = option(
        (0.25, 1.0, 4.0), "lengths of the segments, one solve after the other", unit="s", minimum=1e-3
    )
    open_horizons: tuple[float, ...] = option(
        (0.1, 0.3), "the same where drives are told torques alone: nothing holds a joint there", unit="s", minimum=1e-3
    )
    iterations: int = option(60, "of each solve at most", minimum=1)
    robust: float = option(
        4.0, "residual, in units of their spread, from which on it pulls no harder; 0: never", unit="1", minimum=0.0
    )
    speed_sigma: float = option(0.05, "of the filtered velocity, from which segments start", unit="rad/s", minimum=1e-6)
    residual_sigma: float = option(
        1e-3, "of the residuals; weighs them against the filtered velocity only", unit="rad", minimum=1e-9
    )
    block: float = option(
        1.0, "time over which residuals may be correlated; covariances rest on blocks of it", unit="s", minimum=1e-3
    )


@dataclass(frozen=True)
class DoubtConfig:
    """Effects besides the law; estimates make room for them and sigmas count them."""

    body_error: float = option(
        0.005, "standard deviation of the robot's inertias and weights, relative", unit="1", minimum=0.0
    )
    friction_at_rest: bool = option(True, "whether joints may have friction at rest that the law lacks")
    friction_with_load: bool = option(
        True, "whether to make room for dry friction that grows with the load, where it shows"
    )
    torque_waves: int = option(
        6, "waves over its travel of a torque that depends on a joint's position; 0: no such torque", minimum=0
    )


@dataclass(frozen=True)
class VerdictConfig:
    """When a parameter counts as identified."""

    relative: float = option(
        0.3, "half-width of its 95 % interval, relative to it, that is good enough", unit="1", minimum=0.0
    )
    share: float = option(
        0.03,
        "or: half-width relative to what the parameter acts beside (the body's inertia, the drive's damping or torque)",
        unit="1",
        minimum=0.0,
    )
    unexplained: float = option(
        0.25, "replay error, relative to the joint's motion, above which nothing is claimed", unit="1", minimum=0.0
    )
    longest_delay: float = option(
        0.05, "of a drive; more is a contradiction: clocks that are apart, most likely", unit="s", minimum=0.0
    )
    gain_factor: float = option(
        1.25, "factor by which drives may be stronger or weaker than stated before it is a contradiction", minimum=1.0
    )


@dataclass(frozen=True)
class ActuatorConfig:
    """Actuators from commands and encoders."""

    method: str = option(
        "structured", "what replays the log: the fitted law, or what another method makes of it", choices=METHODS
    )
    fitted: FittedConfig = section(FittedConfig, "which parameters are fitted")
    law: LawConfig = section(LawConfig, "what is known of the drives")
    motion: MotionConfig = section(MotionConfig, "from samples to the rigid body's load")
    shooting: ShootingOptions = section(ShootingOptions, "the fit")
    doubt: DoubtConfig = section(DoubtConfig, "what may be wrong besides the residuals")
    verdict: VerdictConfig = section(VerdictConfig, "when a parameter counts as identified")
    oracle: OracleConfig = section(OracleConfig, "methods oracle and free_oracle")
    network: NetworkConfig = section(NetworkConfig, "methods network and residual")
    evolution: EvolutionConfig = section(EvolutionConfig, "method cma_es")

    def __post_init__(self) -> None:
        if not self.fitted.names:
            raise ConfigError("no parameter is to be fitted")
        for name in ("horizons", "open_horizons"):
            if not getattr(self.shooting, name):
                raise ConfigError(f"'shooting.{name}' is empty")
