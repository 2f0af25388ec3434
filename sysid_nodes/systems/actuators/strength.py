# SPDX-License-Identifier: Apache-2.0
"""Drives that seem stronger or weaker than their stated gains: all of a robot together, and what that leaves in doubt.

A fit holds a drive's gain at one. Where a free gain follows the motion better, either the stated gains are wrong or the
law lacks friction that a weaker drive feigns; one joint's motion cannot tell. Friction that is lacking differs from
joint to joint. A stiffness that is stated wrongly is wrong by one factor for all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.models.actuator import PARAMETERS
from sysid_nodes.solvers.shooting import bounded_interval, combine_runs
from sysid_nodes.systems.actuators.config import ActuatorConfig
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint


def fit_with_gain(fit: JointFit, config: ActuatorConfig, *, anew: bool = False) -> JointFit:
    """The fit with a free gain, from where the one without has ended; `anew`: from short segments on."""
    names = tuple(p.name for p in PARAMETERS if p.name in (*fit.problem.names, "gain"))
    if anew:
        return fit_joint(fit.problem.motion, fit.problem.law, config, names)
    longest = replace(config.shooting, horizons=config.shooting.horizons[-1:])
    return fit_joint(fit.problem.motion, fit.law, replace(config, shooting=longest), names)


def surely_outside(fit: JointFit, name: str, lower: float, upper: float) -> bool:
    """Whether all of a parameter's 95 % interval is outside of a range."""
    k = fit.problem.names.index(name)
    mean, sigma, freedom = float(fit.parameters[k]), float(fit.covariance.sigma[k]), float(fit.covariance.freedom[k])
    low, high = bounded_interval(mean, sigma, freedom, -np.inf, np.inf)
    return high < lower or low > upper


def describe_common_strength(gained: Sequence[JointFit], config: ActuatorConfig) -> tuple[str, bool]:
    """A sentence if all drives together are surely (95 %) not as strong as stated, and whether that refutes the gains.

    It does where they are surely beyond `verdict.gain_factor`.

    Args:
        gained: fits with a free gain, of two joints or more.
        config: what counts as a contradiction.
    """
    told = [(fit.parameters[k], fit.covariance.sigma[k]) for fit in gained for k in [fit.problem.names.index("gain")]]
    known = [(mean, sigma) for mean, sigma in told if np.isfinite(sigma) and sigma > 0.0]
    if len(known) < 2:
        return "", False
    means, sigmas = np.array(known).T[:, :, None]
    found = combine_runs(means, sigmas)
    mean, sigma = float(found.mean[0]), float(found.sigma[0])
    low, high = bounded_interval(mean, sigma, found.freedom, -np.inf, np.inf)
    if low <= 1.0 <= high:
        return "", False
    factor = config.verdict.gain_factor
    strong = f"{mean:.3g} ± {0.5 * (high - low):.2g} times as strong as"
    if high < 1.0 / factor or low > factor:
        return f"{len(known)} drives together move as if they were {strong} their stated gains; are these right?", True
    other = "friction that the law lacks would look the same, and values take the stated gains for right"
    return f"{len(known)} drives together seem {strong} stated; {other}", False


def count_strength(fit: JointFit, gained: JointFit) -> JointFit:
    """The fit, its covariance wider by what the parameters would be with the drive's strength free.

    Args:
        fit: with the stated gains.
        gained: with a free gain, of the same joint and the same parameters besides.
    """
    kept = [gained.problem.names.index(name) for name in fit.problem.names]
    shift = gained.parameters[kept] - fit.parameters
    wider = np.outer(shift, shift)
    covariance = replace(fit.covariance, matrix=fit.covariance.matrix + wider)
    return replace(fit, covariance=covariance, doubt=fit.doubt + wider)


def describe_doubt(fit: JointFit, gained: JointFit) -> str:
    """A sentence on a strength other than stated that intervals count."""
    gain = float(gained.parameters[gained.problem.names.index("gain")])
    return (
        f"'{fit.problem.motion.name}' moves as if its drive were {gain:.3g} times as strong as its stated gains; "
        "friction that the law lacks looks alike, and its intervals hold both"
    )
