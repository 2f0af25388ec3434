# SPDX-License-Identifier: Apache-2.0
"""Configuration of the planner: the only place its defaults live."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option, section
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.known_robot import Numbers


@dataclass(frozen=True)
class ProposalConfig:
    """Effort of the search for a displacement, and what it keeps free before any certificate has told it better."""

    samples: int = option(24, "instants at which torques and distances of a proposal are looked at", minimum=4)
    draws: int = option(32, "random displacements among which a search looks for where to start", minimum=1)
    starts: int = option(2, "draws that are improved a little before the best is followed to the end", minimum=1)
    rounds: int = option(5, "times limits are linearised in a search", minimum=1, maximum=50)
    steps: int = option(20, "steps of the optimiser between two of them", minimum=1, maximum=200)
    distance_gap: float = option(0.02, "distance kept free beyond the certifier's own margin", unit="m", minimum=0.0)
    torque_gap: float = option(
        1.3, "torque kept for the robust input, in units of what the model's uncertainty can do", unit="1", minimum=1.0
    )
    doubt: float = option(
        7.8,
        "most that the model's uncertainty may do for tracking errors to stay bounded; norm of the inverse armature",
        unit="N m/(kg m2)^0.5",
        minimum=1e-3,
    )
    velocity_gap: float = option(0.15, "speed kept below the limits", unit="rad/s", minimum=0.0)
    position_gap: float = option(0.03, "way kept from the position limits", unit="rad or m", minimum=0.0)


@dataclass(frozen=True)
class ExciteConfig:
    """Conditions that make a motion worth executing for an identifier.

    Raises:
        ConfigError: the drives are to be learned by the condition number, which knows the body alone.
    """

    subject: str = option(
        "body",
        "what to learn: the body's ten parameters, or drives: friction and armature of all joints",
        choices=("body", "drives"),
    )
    objective: str = option(
        "widths",
        "widths, log_det, trace: of the parameters' remaining uncertainty under the torque errors below; "
        "condition: condition number of the body's regressor",
        choices=("widths", "log_det", "trace", "condition"),
    )
    torque_relative: float = option(0.025, "torque error relative to the torque", unit="1", minimum=0.0)
    torque_absolute: float = option(
        0.05,
        "further error of a joint's balance over a tenth of a second, from encoders and velocities",
        unit="N m",
        minimum=1e-4,
    )
    duration: float = option(
        1.5,
        "length of an exciting trajectory, braking included, where planner.duration is not less: of motions as fast, "
        "short ones accelerate more",
        unit="s",
        minimum=0.1,
    )
    replan: float = option(
        1.0,
        "when the next trajectory takes over from an exciting one, where planner.replan is not sooner",
        unit="s",
        minimum=0.05,
    )
    late: float = option(0.2, "what readings count after the next plan takes over", unit="1", minimum=0.0, maximum=1.0)
    samples: int = option(24, "instants at which a plan is judged", minimum=4)

    def __post_init__(self) -> None:
        if self.subject == "drives" and self.objective == "condition":
            raise ConfigError("'planner.excite.objective' condition is of the body: the drives need another")


@dataclass(frozen=True)
class GuideConfig:
    """Search for a way around obstacles in the space of the joints."""

    nodes: int = option(3000, "postures looked at before giving up", minimum=10)
    step: float = option(0.3, "longest step of the tree, Euclidean over the joints", unit="rad", minimum=0.01)
    check: float = option(0.05, "spacing of the postures that are checked along a step", unit="rad", minimum=1e-3)
    margin: float = option(0.035, "distance kept from obstacles and from itself", unit="m", minimum=0.0)
    shortcuts: int = option(60, "attempts to shorten the way", minimum=0)


@dataclass(frozen=True)
class StopRuleConfig:
    """When there is nothing more to learn."""

    shrink: float = option(
        0.02, "a plan that narrows no interval by this share has taught nothing", unit="1", minimum=0.0, maximum=1.0
    )
    plans: int = option(2, "such plans in a row that end the phase", minimum=1)


@dataclass(frozen=True)
class PlannerConfig:
    """Receding horizon, range of the displacements and effort.

    Raises:
        ConfigError: t_p is longer than t_f, of all trajectories or of exciting ones.
    """

    duration: float = option(3.0, "t_f: length of a trajectory, braking included", unit="s", minimum=0.1)
    briefest: float = option(
        0.0,
        "least length of a trajectory to a goal that is near, which then takes less than t_f; 0: all take t_f",
        unit="s",
        minimum=0.0,
    )
    replan: float = option(1.5, "t_p: when the next trajectory takes over", unit="s", minimum=0.05)
    k_range: Numbers = option(
        (1.5,),
        "largest displacement a plan may ask for; limits and certificates reduce it",
        unit="rad or m",
        minimum=0.0,
    )
    certificates: int = option(3, "certificates a planning step may cost", minimum=1, maximum=100)
    improvements: int = option(
        0, "further searches after a certified plan, one certificate each, while time is left", minimum=0, maximum=100
    )
    certificate_time: float = option(
        0.4, "time a certificate is taken to need until one was measured", unit="s", minimum=0.0
    )
    reserve: float = option(0.1, "time left over before the deadline", unit="s", minimum=0.0)
    near: float = option(0.05, "a joint goal counts as reached within this, every joint", unit="rad or m", minimum=1e-6)
    escape: Numbers = option(
        (0.4, 0.6, 0.8, 1.2, 2.0, 3.0), "durations tried for a stop in a changed scene", unit="s", minimum=0.05
    )
    proposal: ProposalConfig = section(ProposalConfig, "search")
    excite: ExciteConfig = section(ExciteConfig, "learning")
    guide: GuideConfig = section(GuideConfig, "way around obstacles")
    stop_rule: StopRuleConfig = section(StopRuleConfig, "end of the identification")

    def __post_init__(self) -> None:
        if self.replan > self.duration:
            raise ConfigError(
                f"'planner.replan' (t_p = {self.replan:g} s) must not exceed 'planner.duration' "
                f"(t_f = {self.duration:g} s)"
            )
        if self.excite.replan > self.excite.duration:
            raise ConfigError(
                f"'planner.excite.replan' ({self.excite.replan:g} s) must not exceed 'planner.excite.duration' "
                f"({self.excite.duration:g} s)"
            )
        if not self.escape:
            raise ConfigError("'planner.escape' needs at least one duration")

    @property
    def exciting(self) -> tuple[float, float]:
        """Length of an exciting trajectory, and when the next takes over from it [s]."""
        duration = min(self.excite.duration, self.duration)
        return duration, min(self.excite.replan, self.replan, duration)

    def takeover(self, duration: float) -> float:
        """Time into a trajectory of that duration after which its successor is missing [s]."""
        exciting, replan = self.exciting
        return replan if duration <= exciting else self.replan
