# SPDX-License-Identifier: Apache-2.0
"""Signs that model and priors are not those of a log, or that it is too short to show them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc

from sysid_nodes.results.bayesian import PosteriorParameter
from sysid_nodes.results.quantity import with_unit
from sysid_nodes.solvers.trajectory_least_squares.parameter_posterior import ParameterPosterior
from sysid_nodes.systems.bayesian.contact_checks import impossible_contacts
from sysid_nodes.systems.bayesian.descent import Fitted
from sysid_nodes.systems.bayesian.estimate import Weights
from sysid_nodes.systems.bayesian.knowledge import TOLD, Readings
from sysid_nodes.systems.bayesian.log import LEAST_STAGES
from sysid_nodes.systems.bayesian.noise import Correlation
from sysid_nodes.systems.bayesian.parameters import MOST_SIGMA, Parameters
from sysid_nodes.systems.bayesian.suspicions import freed_constants

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]

LASTING = 3.0
"""Stages for which residuals keep, from which on the model misses something worth a line."""

_CHANCE = 1e-4  # that a robot of the prior has constants, all together, as far from it as a log's
_SCALE = 5.0  # sigmas between the scale of torque readings that a log shows and the one that is known
_ANY = 3.0  # prior sigma of that scale, which says next to nothing
_UNEXPLAINED = np.sqrt(0.5)  # of a torque's spread: then the model explains less than half of its variance
_NEGLIGIBLE = 0.05  # of the largest joint's torque: what a model misses of a small wrist's friction is no contradiction
_LOUD = 2.0  # times what readings of torque scatter by, from which on an error is the model's, and lasts
# Sigmas that positions are off the motion, root mean square: at most 0.8 of real logs, 1 if all is noise.
_STRANGE = 3.0
_FEW = 8  # stages of which no share of a torque's spread is told
_SPARE = 8.0  # independent errors that are left beyond the constants: they tell how large errors are, to a quarter
_ALONE = 6.0  # that a joint has, of which the model misses something, to tell for how long errors last


def contradictions(
    rows: Sequence[PosteriorParameter], x: Array, fitted: Fitted, kept: Correlation, read: Readings
) -> tuple[str, ...]:
    """In words.

    Args:
        rows: the posterior.
        x: (P,) its mean, lasting errors allowed for.
        fitted: the minimum.
        kept: how long its residuals keep.
        read: torques of the log and of all parts before it.
    """
    found = (
        *_strange_motion(fitted),
        *_unexplained_power(fitted, kept),
        *_wrong_scales(fitted),
        *impossible_contacts(fitted.problem, fitted.found.best.point.point),
    )
    if missed := _unexplained_joints(fitted, kept, read):
        names = ", ".join(f"'{name}'" for name in missed)
        found = (
            f"the model explains less than half of what was read at {names}: swapped, reversed or stuck?",
            *found,
        )
    if (far := _beyond_prior(rows, fitted.problem.mechanism.parameters, x)) is not None:
        mean = with_unit(f"{far.mean:.3g}", far.unit)
        within = with_unit(f"[{far.prior_lower:.3g}, {far.prior_upper:.3g}]", far.unit)
        found = (f"'{far.name}' is {mean}, before the log it was in {within}", *found)
    return found


def far_from_prior(own: Parameters, x: Array, theta: ParameterPosterior) -> str:
    """In words, where a log's constants, taken together, are not those of a robot of the prior; empty otherwise.

    Of a motion that is almost free, torques that the model misses become less with the inertia, which nothing but its
    prior keeps from nothing; and of a positive constant, nothing at all is less than two sigmas from what was expected.
    So in the coordinates in which the prior is Gaussian: where m is the posterior's mean there and V its covariance,
    both in units of the prior's, m'm is as of chi square with tr(1 - V) degrees of freedom.

    Args:
        own: with the prior.
        x: (P,) the posterior's mean, lasting errors allowed for.
        theta: posterior of the free coordinates.
    """
    off = (x - own.mean)[own.free] / own.sigma[own.free]
    told = float(np.sum(1.0 - np.clip(np.diag(theta.covariance) / own.sigma[own.free] ** 2, 0.0, 1.0)))
    square = float(off @ off)
    if told < 1.0 or chdtrc(told, square) > _CHANCE:
        return ""
    return f"constants are {np.sqrt(square / told):.2g} times as far from what was expected as one that is told may be"


def too_short(fitted: Fitted, kept: Correlation, theta: ParameterPosterior) -> str:
    """In words, where a log's torques leave next to nothing that could speak against the model; empty otherwise.

    Constants that are told take as many errors as they are to look like what was read. Of errors that last, there are
    as many as times that they last: with no more of them than constants, readings that are another joint's, or turned
    round, are explained as well as its own. Joints without a motor that no loop holds have torques, too: none.

    Args:
        fitted: the minimum.
        kept: how long its residuals keep.
        theta: posterior of the free coordinates.
    """
    mechanism, used = fitted.problem.mechanism, _used_torques(fitted).sum(axis=0)
    own = mechanism.parameters
    if not np.isfinite(fitted.problem.log.torque).any():
        return ""
    sigma = own.sigma[own.free]
    left = np.linalg.eigvalsh(theta.covariance / np.outer(sigma, sigma))
    told, errors = int(np.count_nonzero(left < 1.0 - TOLD)), used / kept.torque
    if not told:
        return ""
    idle = max(int((~own.motors).sum()) - mechanism.loops.count, 0)
    count = float(errors.sum()) + idle * len(fitted.problem.turning)
    if count - told < _SPARE:
        have = f"{count:.0f} independent errors beside {told} constants that they would tell"
        return f"too short: its torques hold {have}"
    few = (used >= _FEW) & (errors < _ALONE) & _loud(fitted)
    names = ", ".join(f"'{name}'" for name in np.array(own.joints)[own.motors][few])
    return f"too short: what the model misses lasts about as long as the log at {names}" if names else ""


def _loud(fitted: Fitted) -> BoolArray:
    """(m,) torques whose errors are more than their readings scatter by: the model's, which last."""
    noise = fitted.problem.noise.torque if fitted.shown is None else fitted.shown.torque
    return np.asarray(noise > _LOUD * fitted.problem.log.most_torque_noise)


def _used_torques(fitted: Fitted) -> BoolArray:
    """(N - 2, m) torques that were used."""
    problem = fitted.problem
    return np.asarray(problem.log.torque_stages[1:-1, None] & ~problem.uncounted)


def _unexplained_joints(fitted: Fitted, kept: Correlation, read: Readings) -> tuple[str, ...]:
    """Joints with a motor whose torques the model misses for the most part, and for some stages the same way.

    Estimated noise takes up whatever a model misses, and intervals allow for errors that last as if they had nothing to
    do with the motion: true of what a good model misses, not of readings that are another joint's. What is much more
    than readings scatter by lasts, though a short log does not show for how long; noise that has not settled is no
    better a reason to claim anything.
    """
    problem = fitted.problem
    if problem.reference is not None:  # what drives such an arm is mostly not read
        return ()
    mechanism, noise = problem.mechanism, problem.noise.torque
    lasts = (kept.torque > LASTING) | _loud(fitted)
    if fitted.shown is not None:
        lasts |= np.isfinite(fitted.shown.torque) & (not fitted.settled)
    told = _used_torques(fitted).sum(axis=0) >= _FEW
    missed = (noise > _UNEXPLAINED * read.spread) & (noise > _NEGLIGIBLE * read.size.max(initial=0.0)) & lasts & told
    names = np.array(mechanism.chain.joint_names)[mechanism.parameters.motors]
    return tuple(names[missed].tolist())


def _unexplained_power(fitted: Fitted, kept: Correlation) -> tuple[str, ...]:
    """A whole log's power of which the model misses more than half, for some stages the same way, in words.

    Its noise takes up what is turned round or another machine's, as that of torques does. A further part of a log may
    be one at rest, of which nothing but such noise is left, and half a second of two of twelve legs seemed so.
    """
    problem, read = fitted.problem, fitted.problem.log.power[np.isfinite(fitted.problem.log.power)]
    if problem.told is not None or problem.log.is_short or len(read) < LEAST_STAGES:
        return ()
    noise = problem.noise.power
    lasts = kept.power > LASTING or noise > _LOUD * problem.log.power_scatter
    if not lasts or noise < _UNEXPLAINED * float(np.std(read)):
        return ()
    return ("the model explains less than half of the power that was read: turned round, or not this robot's alone?",)


def _strange_motion(fitted: Fitted) -> tuple[str, ...]:
    """Joints whose readings are not of any motion that the mechanism may have, in words.

    Noise of positions is not taken for more than readings scatter by; a loop that is none leads the motion elsewhere.
    """
    problem = fitted.problem
    weights = (problem.weights or Weights.full(problem.log)).position
    off = weights * ((fitted.found.best.point.point.q - problem.log.position) / problem.position_noise) ** 2
    count = np.maximum(np.isfinite(off).sum(axis=0), 1)
    ratios = zip(problem.mechanism.chain.joint_names, np.sqrt(np.nansum(off, axis=0) / count), strict=True)
    return tuple(
        f"positions of '{name}' are {ratio:.2g} times their noise off any motion: is the robot as described?"
        for name, ratio in ratios
        if ratio > _STRANGE
    )


def _wrong_scales(fitted: Fitted) -> tuple[str, ...]:
    """Motors of which a log shows another scale of torque readings than the one that is known, in words.

    The scale's posterior were it not known, linearised at the minimum: one that is turned round is -1, and what links,
    rotors and a power meter cannot explain of one that is doubled shows as well. Without a power meter nothing but the
    priors tells the size of a scale, and of friction, which is never less than nothing, they would have it twice what
    it is.
    """
    problem = fitted.problem
    own = problem.mechanism.parameters
    known = own.sigma[own.joint("gain")][own.motors]
    wrong = known == 0.0
    if not wrong.any() or (freed := freed_constants(fitted, "gain", np.where(wrong, _ANY, known))) is None:
        return ()
    scale, variance = freed.value, freed.variance
    off = np.abs(scale - own.constants(fitted.found.best.point.point.x, "gain")[own.motors])
    if (wrong & (off > _SCALE * np.sqrt(variance))).any():
        variance = variance + freed.lasting()
    wrong &= off > _SCALE * np.sqrt(variance)
    if not np.isfinite(problem.log.power).any():
        wrong &= scale < 0.0
    names = np.array(problem.mechanism.chain.joint_names)[own.motors]
    return tuple(
        f"torques read at '{name}' are {value:.2g} times what the motion takes, give or take {spread:.1g}"
        for name, value, spread in zip(names[wrong], scale[wrong], np.sqrt(variance[wrong]), strict=True)
    )


def _beyond_prior(rows: Sequence[PosteriorParameter], own: Parameters, x: Array) -> PosteriorParameter | None:
    """The constant that is farthest beyond all that an honest prior allows to one; None where none is.

    A link's inertial parameters are not Gaussian in the prior, but its log-Cholesky coordinates are: of a link whose
    mass, size and centre are two sigmas off, a product of inertia may be ten of its own.
    """
    off = np.abs(x - own.mean) / np.where(own.sigma > 0.0, own.sigma, np.inf)
    links = {link for i, link in enumerate(own.links) if off[own.body(i)].max() > MOST_SIGMA}

    def beyond(row: PosteriorParameter) -> bool:
        if row.group == "inertia":
            return row.name.rpartition(".")[0] in links
        return _distance(row) > MOST_SIGMA

    return max((row for row in rows if not row.active and beyond(row)), key=_distance, default=None)


def _distance(row: PosteriorParameter) -> float:
    """Of a posterior's mean from the prior's, in prior sigmas."""
    return abs(row.mean - row.prior_mean) / row.prior_sigma
