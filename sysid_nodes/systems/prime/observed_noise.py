# SPDX-License-Identifier: Apache-2.0
"""Covariances for the noise observed in the residuals instead of the stated one.

The stated noise weighs the residuals; their size after the fit shows the true one. Rows of one kind (a component
of a sensor, an equation of a joint) share a variance, one about changes of contact, where the model is worse, and one
elsewhere, with their like of the same second. It is the sum of their squares over their redundancy,

    s^2 = sum r_i^2 / sum (1 - P_ii),

the almost unbiased estimate of a variance component (Foerstner 1979; Rao and Kleffe, Estimation of variance components,
1988), P_ii being a row's leverage. The estimate stays as it is; its covariance becomes that for such noise
(solvers/trajectory_least_squares/sandwich.py). Not everything is white noise:

- A mean over a triangle about a stage has readings in common with the next stage's. That matters to the parameters
  and to the base's place, which add up what the stages say.
- Feet sink into the ground for as long as they stand, and together: the variance of gaps counts as often as stages and
  feet repeat one another. For a moving window's pose, so does that of sliding.
- A landing is known to a stage, and so is the height of the ground then (landings.py).
- A light contact tells the friction no better than its force is known (light_forces.py).
- The weak prior on forces is not a measurement. It always pulls in the same direction, so that its pull on the
  parameters counts in full, as an error.
- The parameters' own prior and the arrival keep the variance that they state.
- A solution that was not reached is off by the step that is left.

What errs the same way throughout a log (a wrong length, a clock that is late by half a millisecond) leaves no trace in
residuals and is not in these covariances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from sysid_nodes.sensors import sensor_configs
from sysid_nodes.signals.channel_config import Window
from sysid_nodes.solvers.trajectory_least_squares import Blocks, Posterior, assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import Factor, Step, factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import gains, leverages
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.solvers.trajectory_least_squares.sandwich import sandwich
from sysid_nodes.systems.prime.landings import landing_variances, with_landings
from sysid_nodes.systems.prime.light_forces import friction_errors
from sysid_nodes.systems.prime.noise_variances import (
    motion_rows,
    near_contact_change,
    noisy_rows,
    observed_variances,
    stage_of,
)
from sysid_nodes.systems.prime.parameters import TORQUE
from sysid_nodes.systems.prime.problem import PrimeProblem
from sysid_nodes.systems.prime.trajectory import Trajectory

Array = npt.NDArray[np.float64]

TRIANGLE = 0.25
"""Correlation of means of white noise over triangles that overlap by half: 1/6 over 2/3."""


def observed_covariances(
    problem: PrimeProblem,
    blocks: Sequence[Blocks],
    point: Trajectory,
    *,
    factor: Factor | None = None,
    rest: Step | None = None,
) -> Posterior | None:
    """Covariances at a solution, or None where the data leave a coordinate undetermined.

    Args:
        problem: at its last smoothing.
        blocks: its residuals with derivatives at the point.
        point: the solution.
        factor: undamped, of their normal equations; made anew where there is none.
        rest: by which the solution is off its minimum; the linear model's step if None.
    """
    factor = factor or factorise(assemble(blocks, problem.layout), 0.0)
    plain = None if factor is None else covariances(factor)
    if factor is None or plain is None:
        return None
    changing = near_contact_change(problem, point)
    variances = observed_variances(
        problem, blocks, leverages(blocks, factor, plain, noisy_rows(problem, blocks)), changing
    )
    variances = with_landings(variances, blocks, problem.layout.size, landing_variances(problem, point))
    spread = sandwich(blocks, factor, plain, variances)
    if spread is None:
        return None
    asked = np.linspace(0, len(plain.stage) - 1, _ASKED + 2).round().astype(int)[1:-1].tolist()
    pairs = zip((plain.stage_parameter, plain.parameter), factor.covariances_with(*asked), strict=True)
    known = tuple(np.concatenate(pair, axis=-1) for pair in pairs)
    parameter, place = noisy_covariance(problem, blocks, point, factor, known, variances, whole=len(plain.parameter))
    white = np.diagonal(spread.stage[asked], axis1=1, axis2=2)
    spread = _with_common_noise(spread, place.reshape(white.shape) / white)
    return _add_remaining_step(replace(spread, parameter=parameter), rest or factor.step())


def _with_common_noise(found: Posterior, ratios: Array) -> Posterior:
    """Covariances of the stages by noise that neighbours have in common, which makes variances at some of them (s, n)
    so many times as large.

    The place of the base is twice an integral of accelerations, so that it errs by a fifth more than by white noise.
    """
    root = np.sqrt(np.maximum(np.mean(ratios, axis=0), 1.0))
    both = root[:, None] * root
    return replace(found, stage=found.stage * both, neighbour=found.neighbour * both, second=found.second * both)


_ASKED = 3
"""Stages of a log at which the noise in common is looked at."""


def _add_remaining_step(found: Posterior, rest: Step) -> Posterior:
    """Covariances with the step that is left as an error of its own.

    An iteration that ends because the cost hardly falls any more can be some sigmas from the minimum where a damped
    step is short. The undamped step says how far; forces, which it overshoots, are left as they are.
    """
    x, theta = rest.stage, rest.parameter

    def outer(first: Array, second: Array) -> Array:
        return np.asarray(first[:, :, None] * second[:, None, :])

    return replace(
        found,
        parameter=found.parameter + np.outer(theta, theta),
        stage=found.stage + outer(x, x),
        neighbour=found.neighbour + outer(x[:-1], x[1:]),
        second=found.second + outer(x[:-2], x[2:]),
    )


def noisy_covariance(
    problem: PrimeProblem,
    blocks: Sequence[Blocks],
    point: Trajectory,
    factor: Factor,
    known: tuple[Array, ...],
    variances: Sequence[Array],
    *,
    whole: int,
    lasting: Sequence[Array] | None = None,
) -> tuple[Array, Array]:
    """(w, w) covariance of the first of some unknowns and (c - w,) variances of the others: the sum over all rows of
    gain times noise times gain.

    Neighbours' noise is correlated where windows overlap.

    Args:
        problem: of a window or of a whole log.
        blocks: its residuals with derivatives at the point.
        point: of linearisation.
        factor: undamped, of their normal equations.
        known: (N, nv, c) covariances of the stages with the unknowns, (p, c) of the parameters, as stated.
        variances: (B, m) of each group's noise.
        whole: w.
        lasting: (B, m) for the others, if they have variances of their own.
    """
    by_stage, by_parameter = known
    (arrived,) = gains([problem.arrival_unknowns(point)], factor, by_stage, by_parameter)
    score = problem.arrival.score.change_unknowns(arrived[0])
    pull, total = score.pull, [score.covariance[:whole, :whole], np.diag(score.covariance)[whole:]]

    def add(first: Array, second: Array, times: float) -> None:
        """So many times the products of rows, both ways."""
        a, b = (gain.reshape(-1, gain.shape[-1]) for gain in (first, second))
        product = a[:, :whole].T @ b[:, :whole]
        total[0] = total[0] + times * (product + product.T)
        total[1] = total[1] + 2.0 * times * np.einsum("kc,kc->c", a[:, whole:], b[:, whole:])

    for name, group, gain, variance, other in zip(
        problem.groups,
        blocks,
        gains(blocks, factor, by_stage, by_parameter),
        variances,
        lasting or variances,
        strict=True,
    ):
        if name == "arrival":
            continue
        if name == "contact":
            light = friction_errors(problem, group, gain, point)
            add(light, light, 0.5)
        gain[:, :, :whole] *= np.sqrt(variance)[:, :, None]
        gain[:, :, whole:] *= np.sqrt(other)[:, :, None]
        if name == "contact":
            split = motion_rows(blocks)
            pull = pull + np.einsum("bm,bmp->p", group.residual[:, split:], gain[:, split:])
            gain = np.ascontiguousarray(gain[:, :split])
        add(gain, gain, 0.5)
        if name == "dynamics":
            # The joints' rows hold the torque sensor's readings, the base's none.
            gain = gain[:, 6:]
        if overlaps(problem, name):
            gain, follows = np.ascontiguousarray(gain), np.diff(stage_of(group, problem.layout.size)) == 1
            before, after = gain[:-1], gain[1:]
            if not follows.all():
                before, after = before[follows], after[follows]
            add(before, after, TRIANGLE)
    return np.asarray(total[0] + np.outer(pull[:whole], pull[:whole])), np.asarray(total[1] + pull[whole:] ** 2)


def overlaps(problem: PrimeProblem, name: str) -> bool:
    """Whether a group's readings have noise in common with the next stage's."""
    channel = sensor_configs(problem.model.config.sensors).get(TORQUE if name == "dynamics" else name)
    return channel is not None and channel.window == Window.AROUND.value
