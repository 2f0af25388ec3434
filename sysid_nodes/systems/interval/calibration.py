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

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.models.known_robot import known_box, per_joint
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.calibration_bounds import add_torque_error, bound_and_keep, torque_error
from sysid_nodes.systems.interval.calibration_file import Calibration, joint_placements
from sysid_nodes.systems.interval.calibration_fit import estimate
from sysid_nodes.systems.interval.calibration_runs import Run, load_box, run_rows
from sysid_nodes.systems.interval.calibration_system import CalibrationSystem
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig
from sysid_nodes.systems.interval.estimate.robot_belief import Bare, predicting_point, statistical_belief
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.noise import unread_joints
from sysid_nodes.systems.interval.torque_models import plain_least_squares
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque
from sysid_nodes.systems.interval.unknowns import identify_payload

Array = npt.NDArray[np.float64]
Progress = Callable[[str, int, int], None]

MARGIN = 1.5
"""Factor on the largest residual of windows that a fit has not seen. It is empirical, without a proof.

One set of parameters explains a UR10e's calibration run and 18 others of the same robot, other motions on other days
and a known load included, with a factor of 1.0; calibrated on half of that run it takes up to 1.37, on a quarter 1.42.
A Panda calibrated on 5 to 10 s takes 0.7 for the rest of its run.
"""

_LEAST_MOVING = 10
_SHOWN = 0.7
"""Share of the readings' spread that a fit must not leave, or they show nothing; then half of their square is told."""


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
    loads = [load_box(config, run) for run in runs]
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
    torque_absolute, shares = torque_error(robot, config.noise, system, xi, runs, rows, margin, partial(show, "judge"))
    rms = np.sqrt((system.residual(xi) ** 2).mean(axis=0))
    system = add_torque_error(system, rows, torque_absolute, shares)
    lower, upper, kept = bound_and_keep(system, max_rows, partial(show, "bounds"))
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
