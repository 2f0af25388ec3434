# SPDX-License-Identifier: Apache-2.0
"""Runs that a robot is calibrated by, and their momentum rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import ConfigError, ExcitationError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import per_joint
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.windows import cut
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig
from sysid_nodes.systems.interval.missing_samples import MissingSamples
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque
from sysid_nodes.systems.interval.unknowns import Unknowns, prismatic_travel

Array = npt.NDArray[np.float64]

_LEAST_WINDOWS = 20


@dataclass(frozen=True)
class Run:
    """One log. Attributes: samples; mass of the known payload [kg] (0: none); name for reports."""

    samples: JointSamples
    mass: float
    name: str


def run_rows(
    robot: Robot,
    config: IntervalIdentifierConfig,
    run: Run,
    unknowns: Unknowns,
    *,
    least: int = _LEAST_WINDOWS,
    transmitted: TransmittedTorque | None = None,
    coupling: Array | None = None,
) -> MomentumRows:
    """Rows of a run's windows, their radii without what the residuals are to add; `coupling` as of `RowBuilder`.

    Raises:
        ConfigError: gears couple joints, and errors are itemised.
        ExcitationError: fewer than `least` windows.
    """
    chain = Chain.from_robot(robot)
    stated = config.noise
    if coupling is not None:
        refuse_itemised(stated)
    if stated.model == "window":  # what the residuals are to tell
        stated = replace(stated, torque_absolute=(0.0,))
    noise = Noise.from_config(stated, robot.n, robot.encoder_step)
    power = per_joint(config.known_robot.viscous_power, robot.n, "known_robot.viscous_power")
    builder = RowBuilder(chain, Reach(chain, prismatic_travel(robot)), noise, unknowns, power, transmitted, coupling)
    edges, _ = cut(run.samples, config.window.duration, config.window.max_gap)
    contradicted = ""
    if edges.size:
        violations = dict(builder.violations(run.samples, edges))
        if noise.itemised:  # with model window a step too long widens what the residuals tell
            violations |= MissingSamples().violations(run.samples, edges, noise)
        bad = np.logical_or.reduce([np.zeros(len(edges), dtype=bool), *violations.values()])
        worst = max(violations, key=lambda name: int(violations[name].sum()), default="")
        contradicted = f" ({int(bad.sum())} contradict noise, mostly: {worst})" if bad.any() else ""
        edges = edges[~bad]
    if len(edges) < least:
        raise ExcitationError(
            f"only {len(edges)} usable windows of {config.window.duration:g} s{contradicted}; it takes {least}",
            source=run.name,
        )
    return builder.build(run.samples, edges)


def run_windows(rows: Sequence[MomentumRows]) -> list[npt.NDArray[np.intp]]:
    """Indices of each run's windows among all."""
    ends = np.cumsum([0, *(len(run.t) for run in rows)])
    return [np.arange(a, b) for a, b in pairwise(ends)]


def load_box(config: IntervalIdentifierConfig, run: Run) -> Bounds:
    """Box of a run's payload: none, or of known mass with moments anywhere in the prior's reach."""
    if run.mass == 0.0:
        return Bounds(np.zeros(10), np.zeros(10))
    prior = config.prior.bounds
    size = np.maximum(np.abs(prior.lower), np.abs(prior.upper))
    size[0] = 0.0
    centre = np.zeros(10)
    centre[0] = run.mass
    return Bounds(centre - size, centre + size)


def refuse_itemised(noise: NoiseConfig) -> None:
    """Where gears couple joints.

    Raises:
        ConfigError: errors are itemised.
    """
    if noise.model != "window":
        raise ConfigError("with coupled gears 'noise.model' must be window: errors are itemised by joints, not motors")
