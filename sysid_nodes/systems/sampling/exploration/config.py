# SPDX-License-Identifier: Apache-2.0
"""Configuration of the exploration's planner: the only home of its defaults."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option, section
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.rollouts import GAITS, WalkingConfig

CRITERIA = ("A", "D", "E", "T")


@dataclass(frozen=True)
class CommandsConfig:
    """Largest commands, either way."""

    forward: float = option(0.5, "speed", unit="m/s", minimum=0.0)
    sideways: float = option(0.25, "speed", unit="m/s", minimum=0.0)
    turning: float = option(0.7, "turn rate", unit="rad/s", minimum=0.0)
    roll: float = option(0.22, "attitude", unit="rad", minimum=0.0, maximum=0.6)
    pitch: float = option(0.18, "attitude", unit="rad", minimum=0.0, maximum=0.6)
    height: float = option(
        0.0, "of the base, constant; 0: that at which the controller walks well", unit="m", minimum=0.0, maximum=1.0
    )
    gaits: str = option("trot,pace,bound,pronk,stand", "gaits to choose from, separated by commas")

    @property
    def largest(self) -> npt.NDArray[np.float64]:
        """(5,)."""
        return np.array([self.forward, self.sideways, self.turning, self.roll, self.pitch])


@dataclass(frozen=True)
class SearchConfig:
    """CMA-ES on the curves, segment by segment."""

    iterations: int = option(5, "of each segment", minimum=1)
    population: int = option(10, "candidates an iteration", minimum=4)
    spread: float = option(0.5, "first standard deviation, in units of the largest commands", minimum=1e-3)
    clips: int = option(4, "of a segment, by which a search judges its information", minimum=1)
    draws: int = option(3, "robots drawn from the posterior that every candidate must not let fall", minimum=0)
    limit: float = option(
        0.0,
        "time on the clock after which nothing more is sought and the robot stands; 0: none",
        unit="s",
        minimum=0.0,
    )
    random: int = option(0, "random plans to compare with, vetted alike, which takes its time; 0: none", minimum=0)


@dataclass(frozen=True)
class VettingConfig:
    """Conditions that a plan must keep before it is published."""

    draws: int = option(300, "robots drawn from the posterior, none of which may fall", minimum=1)
    area: float = option(3.0, "furthest from the start", unit="m", minimum=0.1)
    stop: float = option(1.0, "in which robots come to rest after each segment, as if it were the last", minimum=0.0)
    attempts: int = option(
        3, "searches for each segment, each with smaller commands than the one before; then the robot stands", minimum=1
    )
    shrink: float = option(0.7, "of the commands, from one search to the next", minimum=0.1, maximum=0.95)


@dataclass(frozen=True)
class ExplorationConfig:
    """Planning of the motion that tells the most."""

    duration: float = option(40.0, "of the plan, a multiple of the segments'", unit="s", minimum=0.5)
    segment: float = option(4.0, "of each curve, and with one gait", unit="s", minimum=0.5)
    degree: int = option(10, "of the Bezier curves", minimum=1, maximum=30)
    criterion: str = option(
        "A",
        "what is minimised, of the covariance of inertia and motors in units of what `verdict` asks: A its trace, "
        "D its determinant, E its largest eigenvalue; T maximises the trace of the information",
        choices=CRITERIA,
    )
    model_errors: bool = option(
        True,
        "whether A, D and E are of the errors to be expected, those of the simulations included; "
        "false: of those that noise alone leaves, the paper's F^-1",
    )
    settling: float = option(1.0, "standing still before the first segment", unit="s", minimum=0.0)
    pose_rate: float = option(100.0, "readings of motion capture a second, as they are to be expected", minimum=1.0)
    seed: int = option(0, "of the search", minimum=0)
    commands: CommandsConfig = section(CommandsConfig, "largest commands")
    search: SearchConfig = section(SearchConfig, "search")
    vetting: VettingConfig = section(VettingConfig, "what a plan must keep")
    walking: WalkingConfig = section(WalkingConfig, "the controller that obeys the commands")

    def __post_init__(self) -> None:
        if unknown := [name for name in self.gaits if name not in GAITS]:
            raise ConfigError(f"'commands.gaits' knows no '{unknown[0]}', only {', '.join(GAITS)}")
        if abs(self.segments * self.segment - self.duration) > 1e-9:
            raise ConfigError(f"'duration' must be a multiple of 'segment', {self.segment:g} s, got {self.duration:g}")

    @property
    def gaits(self) -> tuple[str, ...]:
        """To choose from."""
        return tuple(name.strip() for name in self.commands.gaits.split(","))

    @property
    def segments(self) -> int:
        """How many there are, one at least."""
        return max(round(self.duration / self.segment), 1)
