# SPDX-License-Identifier: Apache-2.0
"""Calibration of a bare robot: its parameters with their uncertainty, from runs without payload or with a known one.

Three steps, all on the momentum rows of the identifier:

1. physically consistent least squares of every parameter of the robot, inside the box of `known_robot`;
2. what fits of the other parts of a run leave over in a window, times a margin, becomes the bound on the torque error
   that later rows carry;
3. with that bound, linear programs give each parameter the interval of all values the data allow. The rows themselves
   are kept as well: single parameters of a robot are mostly blind, only their combinations are known.

Step 2 is where the guarantee rests on experience: no proof says that a later run meets no larger torque error than the
margin allows. Everything after it is a theorem about that bound and the stated box.

A run with a payload of known mass makes the torque gain known: unloaded, gain and inertia scale together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.exceptions import ConfigError, ExcitationError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import known_box, per_joint
from sysid_nodes.robots.robot import Robot
from sysid_nodes.signals.windows import cut
from sysid_nodes.solvers.polytope import Polytope
from sysid_nodes.systems.interval.calibration_file import Calibration, joint_placements
from sysid_nodes.systems.interval.calibration_fit import estimate, excess, held_out_excess, partial_fits
from sysid_nodes.systems.interval.calibration_system import CalibrationSystem
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig
from sysid_nodes.systems.interval.estimate.robot_belief import Bare, predicting_point, statistical_belief
from sysid_nodes.systems.interval.missing_samples import MissingSamples
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.noise import Noise, unread_joints
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.torque_models import plain_least_squares
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque
from sysid_nodes.systems.interval.unknowns import Unknowns, identify_payload, prismatic_travel
from sysid_nodes.systems.interval.window_sums import LEAST_SUMS, LENGTHS, neighbours

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

MARGIN = 1.5
"""Factor on the largest residual of windows that a fit has not seen. It is empirical, without a proof.

One set of parameters explains a UR10e's calibration run and 18 others of the same robot, other motions on other days
and a known load included, with a factor of 1.0; calibrated on half of that run it takes up to 1.37, on a quarter 1.42.
A Panda calibrated on 5 to 10 s takes 0.7 for the rest of its run.
"""

_LEAST_WINDOWS = 20
_LEAST_MOVING = 10
_ROUNDING = 1e-12
_SHOWN = 0.7
"""Share of the readings' spread that a fit must not leave, or they show nothing; then half of their square is told."""


@dataclass(frozen=True)
class Run:
    """One log. Attributes: samples; mass of the known payload [kg] (0: none); name for reports."""

    samples: JointSamples
    mass: float
    name: str


def calibrate(
    robot: Robot,
    config: IntervalIdentifierConfig,
    runs: Sequence[Run],
    *,
    max_rows: int = 240,
    margin: float = MARGIN,
    progress: Progress | None = None,
    coupling: Array | None = None,
) -> Calibration:
    """Identifies a robot.

    Args:
        robot: nominal robot.
        config: `known_robot` is the box all parameters are sure to lie in, `noise` and `window` as in identification
            (torque_absolute is found with noise model window, and added to with itemised; where what is stated covers
            a joint's limit it stays), `prior` bounds the known payload's moments.
        runs: at least one run without payload.
        max_rows: rows kept in the result.
        margin: factor on the largest residual.
        progress: called with (stage, done, total).
        coupling: (n, n) motors turn by it times joints; None: each with its own joint alone.

    Raises:
        ConfigError: gears couple joints, and errors are itemised.
        ExcitationError: no unloaded run, too few windows, or a joint that hardly moves.
    """
    if not any(run.mass == 0.0 for run in runs):
        raise ExcitationError("calibration needs a run without payload")
    show: Progress = progress or _no_progress
    n, body, (centre, radius) = robot.n, robot.body_index(config.body), calibrated_box(robot, config)
    loads = [_load(config, run) for run in runs]
    rows = _rows_of_all(robot, config, runs, loads, centre, radius, coupling)
    _check_motion(robot, rows)
    show("fit", 0, 1)
    bare = Bare(n, body, centre, radius, config.prior.bounds, unread_joints(robot, config.noise.torque_absolute))
    belief, _ = statistical_belief(bare, rows, loads)
    unloaded = [own for own, run in zip(rows, runs, strict=True) if not run.mass]
    power = per_joint(config.known_robot.viscous_power, n, "known_robot.viscous_power")
    share = per_joint(config.known_robot.load_friction, n, "known_robot.load_friction")
    transmitted = None
    if share.any():  # not negative: friction takes energy
        transmitted = _transmitted_torque(robot, config, unloaded, centre, radius, power)
        centre, radius = np.concatenate([centre, 0.5 * share]), np.concatenate([radius, 0.5 * share])
        rows = _rows_of_all(robot, config, runs, loads, centre, radius, coupling, transmitted)
    system = _system(robot, config, loads, rows, centre, radius)
    xi = estimate(system)
    show("fit", 1, 1)
    torque_absolute, shares = _torque_error(robot, config.noise, system, xi, runs, rows, margin, partial(show, "judge"))
    rms = np.sqrt((system.residual(xi) ** 2).mean(axis=0))
    system = _add_torque_error(system, rows, torque_absolute, shares)
    lower, upper, kept = _bound_and_keep(system, max_rows, partial(show, "bounds"))
    return Calibration(
        robot=robot.name,
        joints=robot.joint_names,
        placements=joint_placements(robot),
        estimate=np.clip(system.parameters(xi), lower, upper),
        lower=lower,
        upper=upper,
        rows=system.physical[kept],
        rows_radius=system.radius[kept],
        belief=belief,
        prediction=predicting_point(bare, belief, rows, loads),
        transmitted=transmitted,
        least_squares=plain_least_squares(unloaded, centre[14 * n : 15 * n]),
        viscous_power=power,
        torque_absolute=torque_absolute,
        margin=margin,
        residual_rms=rms,
        window=config.window.duration,
        noise_model=config.noise.model,
        source=tuple(run.name for run in runs),
        coupling=coupling,
        sum_shares=shares,
        unshown=_unshown(robot, config.noise, rows, rms),
        speed=_largest_speed(runs),
    )


def _largest_speed(runs: Sequence[Run]) -> Array:
    """(n,) of the unloaded runs [rad/s or m/s]."""
    return np.asarray(np.max([np.abs(run.samples.qd).max(axis=0) for run in runs if run.mass == 0.0], axis=0))


def calibrated_box(robot: Robot, config: IntervalIdentifierConfig) -> tuple[Array, Array]:
    """As stated, and where nothing is stated of gains, what a calibration assumes of them.

    One that is off scales every link, and then a load, unnoticed. Where errors are itemised, those of readings are
    stated.
    """
    centre, radius = known_box(robot, config.known_robot)
    if config.noise.model == "window":
        gain = slice(14 * robot.n, 15 * robot.n)
        assumed = per_joint(config.known_robot.calibration_gain, robot.n, "known_robot.calibration_gain")
        radius[gain] = np.where(radius[gain] > 0.0, radius[gain], assumed * centre[gain])
    return centre, radius


def _rows_of_all(
    robot: Robot,
    config: IntervalIdentifierConfig,
    runs: Sequence[Run],
    loads: Sequence[Bounds],
    centre: Array,
    radius: Array,
    coupling: Array | None,
    transmitted: TransmittedTorque | None = None,
) -> list[MomentumRows]:
    """Rows of each run, by the box of the robot's parameters and that of the run's payload."""
    body, rows = robot.body_index(config.body), []
    for run, load in zip(runs, loads, strict=True):
        unknowns = identify_payload(robot.n, body, centre, radius, load)
        rows.append(run_rows(robot, config, run, unknowns, transmitted=transmitted, coupling=coupling))
    return rows


def _transmitted_torque(
    robot: Robot,
    config: IntervalIdentifierConfig,
    unloaded: Sequence[MomentumRows],
    centre: Array,
    radius: Array,
    power: Array,
) -> TransmittedTorque:
    """Torque that drives transmit, by the unloaded runs alone, so that a run with a known mass only adds rows."""
    unread = unread_joints(robot, config.noise.torque_absolute)
    bare = Bare(robot.n, robot.body_index(config.body), centre, radius, config.prior.bounds, unread)
    return TransmittedTorque.of_point(statistical_belief(bare, unloaded)[0].point, power)


def _system(
    robot: Robot,
    config: IntervalIdentifierConfig,
    loads: Sequence[Bounds],
    rows: Sequence[MomentumRows],
    centre: Array,
    radius: Array,
) -> CalibrationSystem:
    """All rows; without a loaded run the very system by which a run with a known mass would be judged."""
    system = CalibrationSystem.assemble(robot.n, robot.body_index(config.body), centre, radius, loads, rows)
    return system.of_unloaded() if system.unloaded.all() else system


def _unshown(robot: Robot, noise: NoiseConfig, rows: Sequence[MomentumRows], rms: Array) -> tuple[str, ...]:
    """Joints whose mean readings the fit, which leaves rms (n,), hardly explains; not those that are stated as unread.

    A joint that needs next to no torque without a load may be unread, and nothing in such runs tells: with a load its
    reading would still be taken for its torque.
    """
    joints, n = np.arange(robot.n), robot.n
    gain = np.concatenate([run.coefficients[:, joints, 14 * n + joints] for run in rows])
    length = np.concatenate([run.t[:, 1] - run.t[:, 0] for run in rows])
    spread = (gain / length[:, None]).std(axis=0)
    bad = (rms >= _SHOWN * spread) & ~unread_joints(robot, noise.torque_absolute)
    return tuple(robot.joint_names[k] for k in np.flatnonzero(bad))


def _add_torque_error(
    system: CalibrationSystem, rows: Sequence[MomentumRows], torque_absolute: Array, shares: Mapping[int, Array]
) -> CalibrationSystem:
    """The rows with their bound on the torque error (n,), and sums over neighbouring windows with its share of each."""
    stamps = np.concatenate([run.t for run in rows])
    widened = system.add_torque_error(torque_absolute)
    for length, share in shares.items():
        sums = system.sum_up(neighbours(stamps, length)[0])
        widened = widened.join(sums.add_torque_error(share * torque_absolute))
    return widened


def _bound_and_keep(
    system: CalibrationSystem, max_rows: int, progress: Callable[[int, int], None]
) -> tuple[Array, Array, npt.NDArray[np.intp]]:
    """Intervals' ends by all runs, and the rows to keep; what those without payload say stays: others only narrow."""
    poly, kept = _bound(system, max_rows, progress)
    lower, upper = _intervals(system, poly)
    if not system.unloaded.all():
        bare = system.of_unloaded()
        poly, alone = _bound(bare, max_rows, progress)
        low, high = _intervals(bare, poly)
        lower, upper = np.maximum(lower, low), np.minimum(upper, high)
        kept = np.union1d(kept, np.flatnonzero(system.unloaded)[alone])
    return lower, upper, kept


def _intervals(system: CalibrationSystem, poly: Polytope) -> tuple[Array, Array]:
    """Ends of the intervals of all parameters; of those that the polytope does not bound, the middles twice."""
    k, columns = system.robot_size, system.robot_columns
    lower, upper = system.centre.copy(), system.centre.copy()
    lower[columns] += system.scale[:k] * poly.lower[:k]
    upper[columns] += system.scale[:k] * poly.upper[:k]
    slack = _ROUNDING * (np.abs(system.centre[columns]) + system.scale[:k])
    lower[columns] -= slack
    upper[columns] += slack
    return lower, upper


def _bound(
    system: CalibrationSystem, max_rows: int, progress: Callable[[int, int], None]
) -> tuple[Polytope, npt.NDArray[np.intp]]:
    """Intervals of the robot's unknowns, and the rows without payload that carry them most."""
    poly = Polytope(-np.ones(system.size), np.ones(system.size), system.robot_size)
    used = poly.add(system.rows, -system.radius - system.offset, system.radius - system.offset)
    for done in range(0, 2 * poly.k, 4):
        progress(done, 2 * poly.k)
        poly.tighten(4)
    progress(2 * poly.k, 2 * poly.k)
    useful = np.zeros(len(system.rows))
    useful[used] = poly.usefulness()
    free = np.flatnonzero(system.unloaded)
    return poly, np.sort(free[np.argsort(-useful[free], kind="stable")][:max_rows])


def _torque_error(
    robot: Robot,
    noise: NoiseConfig,
    system: CalibrationSystem,
    xi: Array,
    runs: Sequence[Run],
    rows: Sequence[MomentumRows],
    margin: float,
    progress: Callable[[int, int], None],
) -> tuple[Array, dict[int, Array]]:
    """(n,) bound on the error of a window's mean torque: what the unloaded runs leave over, times the margin.

    And shares (n,) of it that bound the mean over several windows in a row, for those lengths of which the runs have
    enough: found in the same way, but no less than the mean of independent errors would be.

    A run with a known mass is to narrow, not to widen: it counts where it refutes a bound, and without margin. Where
    the stated error covers whatever a joint can exert it stays: unloaded runs say nothing of what is not read.
    """
    least = np.where(unread_joints(robot, noise.torque_absolute), noise.torque_absolute, 0.0)
    windows = run_windows(rows)
    own = [k for k, run in enumerate(runs) if run.mass == 0.0]
    bare = system if len(own) == len(runs) else system.of_unloaded()
    fit = xi if bare is system else estimate(bare)
    ends = np.cumsum([0, *(len(windows[k]) for k in own)])
    parts = [np.arange(a, b) for a, b in pairwise(ends)]
    fits = partial_fits(bare, fit, parts, progress)
    loaded = [k for k in range(len(runs)) if k not in own]
    stamps = [np.concatenate([rows[k].t for k in some]) if some else np.zeros((0, 2)) for some in (own, loaded)]
    foreign = np.concatenate([windows[k] for k in loaded]) if loaded else np.zeros(0, dtype=np.intp)

    bounds: dict[int, Array] = {}
    for length in (1, *(LENGTHS if noise.model == "window" else ())):
        if length > 1 and len(neighbours(stamps[0], length)[0]) < LEAST_SUMS:
            continue
        bare_blocks, loaded_blocks = (neighbours(t, length, overlapping=True)[0] for t in stamps)
        largest = margin * held_out_excess(bare, fit, fits, bare_blocks).max(axis=0)
        largest = np.maximum(largest, bounds[1] / np.sqrt(length) if length > 1 else 0.0)
        if len(loaded_blocks):
            refuting = excess(system.sum_up(foreign[loaded_blocks]), xi).max(axis=0)
            largest = np.maximum(largest, refuting)
        bounds[length] = np.maximum(largest, least)
    single = bounds.pop(1)
    known = np.maximum(single, _ROUNDING)
    return single, {length: np.minimum(bound / known, 1.0) for length, bound in bounds.items()}


def _no_progress(stage: str, done: int, total: int) -> None:
    """Shows no progress."""


def _check_motion(robot: Robot, rows: Sequence[MomentumRows]) -> None:
    """Every joint has to move: at rest it shows neither its friction nor the torque errors that later runs rely on."""
    n = robot.n
    direction = np.concatenate([run.coefficients[:, np.arange(n), 10 * n + np.arange(n)] for run in rows])
    moving = (direction != 0.0).sum(axis=0)
    if still := [f"{robot.joint_names[k]} ({moving[k]})" for k in np.flatnonzero(moving < _LEAST_MOVING)]:
        raise ExcitationError(
            f"calibration needs {_LEAST_MOVING} windows in which a joint surely moves, of every joint; "
            f"too few of {', '.join(still)}"
        )


def _load(config: IntervalIdentifierConfig, run: Run) -> Bounds:
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
