# SPDX-License-Identifier: Apache-2.0
"""Findings of the comparison, case by case."""

from __future__ import annotations

from dataclasses import dataclass, field

from benchmarks.comparison_learning import Learned
from benchmarks.comparison_task import Facts, Task
from benchmarks.comparison_trial import Outcome


@dataclass(frozen=True)
class Case:
    """One method with one dumbbell in one experiment.

    Attributes:
        experiment, method, pounds: which.
        certified: whether the motion was certified beforehand; None for a controller without bounds.
        binding: what a certificate says is nearest to its limit, or why there is none.
        fastest: shortest duration that is certified [s]; NaN where it was not asked for.
        outcome: of the execution; None where there was nothing to execute it with.
        mass: of gripper and dumbbell in the model at the end [kg]; NaN without an execution.
        trouble: what went wrong before the execution.
    """

    experiment: str
    method: str
    pounds: float
    certified: bool | None
    binding: str
    fastest: float
    outcome: Outcome | None
    mass: float = float("nan")
    trouble: tuple[str, ...] = ()


@dataclass(frozen=True)
class Found:
    """Everything a report is made of; ``learned`` by dumbbell and motion, ``variants`` by the setting's title."""

    tasks: dict[str, tuple[Task, Facts]]
    learned: dict[float, dict[str, Learned | None]]
    cases: list[Case]
    masses: dict[float, float]
    variants: dict[str, list[Case]] = field(default_factory=dict)
