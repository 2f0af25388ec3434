# SPDX-License-Identifier: Apache-2.0
"""A calibration from a posterior of the arm, and where a posterior and a calibration exclude each other.

The posterior's ellipsoid becomes a box and rows, each as wide as all of them together need to hold the truth with the
stated probability (Bonferroni). What rests on it is probable, not proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from sysid_nodes.data.bounds import PARAMETER_NAMES, PARAMETER_UNITS, Bounds
from sysid_nodes.data.joint_vector import per_joint
from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.results.arm_constants import ArmConstants
from sysid_nodes.robots.robot import Robot
from sysid_nodes.solvers.eigenvectors import eigenvectors
from sysid_nodes.systems.interval.calibration import MARGIN
from sysid_nodes.systems.interval.calibration_file import BAYESIAN, BOTH, Calibration, joint_placements
from sysid_nodes.systems.interval.calibration_fit import held_out_excess, partial_fits
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows, run_windows
from sysid_nodes.systems.interval.calibration_system import CalibrationSystem
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.estimator import LOAD_FRICTION
from sysid_nodes.systems.interval.torque_models import plain_least_squares
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque
from sysid_nodes.systems.interval.unknowns import MOTOR_TERMS, identify_payload

Array = npt.NDArray[np.float64]

LEVEL = 0.95
"""Probability of all intervals of a posterior together."""

_NARROWER = 0.5  # of the box along a direction, from which on a row says more than the box
_SHARPEST = 1e-12  # variance along the best known direction, of the worst known one's: below is rounding
_MOTOR_UNITS = ("N m", "N m s/rad", "kg m2", "N m", "", "")


@dataclass(frozen=True)
class Exclusion:
    """Attributes: name of what two calibrations exclude each other on; unit; (2,) interval of each."""

    name: str
    unit: str
    interval: Array
    posterior: Array

    def __str__(self) -> str:
        ends = (f"[{lower:.4g}, {upper:.4g}]" for lower, upper in (self.interval, self.posterior))
        return "{}: the data leave {} {unit}, the posterior {} {unit}".format(self.name, *ends, unit=self.unit)


def calibration_of(
    robot: Robot,
    config: IntervalIdentifierConfig,
    runs: Sequence[Run],
    constants: ArmConstants,
    *,
    max_rows: int = 120,
    margin: float = MARGIN,
) -> Calibration:
    """A calibration that holds the arm's constants with probability `LEVEL`.

    Args:
        robot: nominal.
        config: `noise`, `window` and `known_robot.load_friction` as in identification.
        runs: without a payload, those of the posterior; the bound on the torque error is of their windows.
        max_rows: rows kept.
        margin: factor on the largest residual.

    Raises:
        ExcitationError: a run has too few windows, or the posterior is not made of numbers.
    """
    belief = belief_of(constants)
    n, loaded = robot.n, any(np.atleast_1d(config.known_robot.load_friction))
    size = (16 if loaded else 15) * n
    mean, covariance, sigma = constants.mean[:size], constants.covariance[:size, :size], constants.sigma[:size]
    free = np.flatnonzero(sigma > 0.0)
    reach = _reach(2 * free.size)
    lower, upper = mean - reach * sigma, mean + reach * sigma
    positive = np.r_[10 * n : 13 * n, 15 * n : size]
    lower[positive] = np.maximum(lower[positive], 0.0)
    power = per_joint(config.known_robot.viscous_power, n, "known_robot.viscous_power")
    nothing = Bounds(np.zeros(10), np.zeros(10))
    centre, radius, body = 0.5 * (lower + upper), 0.5 * (upper - lower), robot.body_index(config.body)
    unknowns = identify_payload(n, body, centre, radius, nothing)
    transmitted = TransmittedTorque.of_point(constants.mean, power) if loaded else None
    coupling = constants.coupling
    rows = [run_rows(robot, config, run, unknowns, transmitted=transmitted, coupling=coupling) for run in runs]
    system = CalibrationSystem.assemble(n, body, centre, radius, [nothing] * len(runs), rows)
    at = np.zeros(system.size)
    at[: free.size] = (mean - centre)[free] / radius[free]
    fits = partial_fits(system, at, run_windows(rows), lambda _done, _most: None)
    kept, width = _rows(mean, covariance, radius, free, n, max_rows)
    return Calibration(
        robot=robot.name,
        joints=robot.joint_names,
        placements=joint_placements(robot),
        estimate=mean,
        lower=lower,
        upper=upper,
        rows=kept,
        rows_radius=reach * width,
        belief=belief,
        prediction=belief.point,
        transmitted=transmitted,
        viscous_power=power,
        least_squares=plain_least_squares(rows, centre[14 * n : 15 * n]),
        torque_absolute=margin * held_out_excess(system, at, fits, np.arange(system.windows)[:, None]).max(axis=0),
        margin=margin,
        residual_rms=np.sqrt((system.residual(at) ** 2).mean(axis=0)),
        window=config.window.duration,
        noise_model=config.noise.model,
        source=tuple(run.name for run in runs),
        method=BAYESIAN,
        coupling=coupling,
    )


def with_estimate(calibration: Calibration, constants: ArmConstants) -> Calibration:
    """The same box and rows with a posterior's estimate, which is taken for known as well as its covariance says.

    Raises:
        ExcitationError: the posterior is not made of numbers.
    """
    estimate = np.clip(constants.mean[: len(calibration.lower)], calibration.lower, calibration.upper)
    belief = belief_of(constants)
    return replace(calibration, estimate=estimate, belief=belief, prediction=belief.point, method=BOTH)


def belief_of(constants: ArmConstants) -> Belief:
    """The same knowledge for the statistical estimate of what the arm carries.

    Load friction that the posterior takes for none is left as open as by any other calibration: it hardly shows on a
    bare arm.

    Raises:
        ExcitationError: the posterior is not made of numbers.
    """
    shares = 15 * len(constants.mean) // 16
    variance = constants.sigma**2
    variance[shares:][variance[shares:] == 0.0] = LOAD_FRICTION**2
    free = np.flatnonzero(variance)
    scale = np.sqrt(variance[free])
    information = np.zeros_like(constants.covariance)
    covariance = constants.covariance + np.diag(variance - constants.covariance.diagonal())
    correlation = covariance[np.ix_(free, free)] / np.outer(scale, scale)
    values, vectors = eigenvectors(correlation)
    inverse = (vectors / np.maximum(values, _SHARPEST * values.max())) @ vectors.T
    information[np.ix_(free, free)] = inverse / np.outer(scale, scale)
    if not all(np.isfinite(part).all() for part in (constants.mean, constants.covariance, information)):
        raise ExcitationError("the posterior holds what is not a number; record a longer or livelier motion")
    return Belief(constants.mean, information, np.zeros(len(constants.mean)), information)


def exclusions(calibration: Calibration, constants: ArmConstants) -> list[Exclusion]:
    """Where no value is within both a calibration and the posterior's intervals of probability `LEVEL`.

    Single constants are compared, and what the calibration's rows, momentum over a window, say of all of them together.
    """
    n, size = len(calibration.joints), len(calibration.lower)
    mean, sigma = constants.mean[:size], constants.sigma[:size]
    reach = _reach(size + len(calibration.rows))
    found = []
    ends = np.array([mean - reach * sigma, mean + reach * sigma]).T
    for k in np.flatnonzero((ends[:, 0] > calibration.upper) | (ends[:, 1] < calibration.lower)):
        name, unit = _name(calibration.joints, int(k))
        found.append(Exclusion(name, unit, np.array([calibration.lower[k], calibration.upper[k]]), ends[k]))
    rows, covariance = calibration.rows, constants.covariance[:size, :size]
    variance = np.maximum(np.einsum("mi,ij,mj->m", rows, covariance, rows), 0.0)
    middle, spread = rows @ mean, reach * np.sqrt(variance)
    beyond = np.abs(middle) - spread - calibration.rows_radius
    if len(beyond) and beyond.max() > 0.0:
        worst = int(np.argmax(beyond))
        joint = calibration.joints[int(np.argmax(np.abs(rows[worst, 14 * n : 15 * n])))]
        left, radius = middle[worst] + spread[worst] * np.array([-1.0, 1.0]), calibration.rows_radius[worst]
        name = f"momentum that {joint} gained in a window and no constants explain"
        found.append(Exclusion(name, "N m s", np.array([-radius, radius]), left))
    return found


def _reach(intervals: int) -> float:
    """Standard deviations within which all of so many Gaussian numbers are with probability `LEVEL`, at least."""
    return float(-ndtri(0.5 * (1.0 - LEVEL) / max(intervals, 1)))


def _rows(
    mean: Array, covariance: Array, radius: Array, free: npt.NDArray[np.intp], n: int, most: int
) -> tuple[Array, Array]:
    """(m, size) directions across the mean that are known better than the box says, and (m,) their sigmas.

    A calibration's rows are of numbers that are zero at the truth: each direction is tilted towards the gains until it
    is zero at the mean.
    """
    scale = radius[free]
    values, vectors = eigenvectors(covariance[np.ix_(free, free)] / np.outer(scale, scale))
    rows = np.zeros((len(values), len(mean)))
    rows[:, free] = vectors.T / scale
    gains = np.zeros(len(mean))
    gains[14 * n : 15 * n] = 1.0 / n
    rows -= np.outer(rows @ mean / (gains @ mean), gains)
    sigma = np.sqrt(np.maximum(np.einsum("mi,ij,mj->m", rows, covariance, rows), 0.0))
    alone = np.abs(rows) @ radius  # what the box lets the direction be
    useful = np.flatnonzero(sigma < _NARROWER * alone / _reach(2 * free.size))[:most]
    return rows[useful], sigma[useful]


def _name(joints: Sequence[str], k: int) -> tuple[str, str]:
    n = len(joints)
    if k < 10 * n:
        return f"{PARAMETER_NAMES[k % 10]} of the link that {joints[k // 10]} moves", PARAMETER_UNITS[k % 10]
    return f"{MOTOR_TERMS[k // n - 10]} of {joints[k % n]}", _MOTOR_UNITS[k // n - 10]
