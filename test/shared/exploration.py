# SPDX-License-Identifier: Apache-2.0
"""An estimate of a loaded Go2, and options of a plan that takes a second or two."""

import numpy as np

from sysid_nodes.results.exploration import Posterior

PLAN_OPTIONS = {
    "duration": 1.0,
    "segment": 1.0,
    "degree": 3,
    "settling": 0.3,
    "search.iterations": 1,
    "search.population": 4,
    "search.clips": 1,
    "search.draws": 1,
    "search.random": 0,
    "vetting.draws": 4,
    "vetting.attempts": 2,
    "vetting.stop": 0.3,
    "commands.gaits": "trot,stand",
}


def posterior_of(unknowns):
    """4.3 kg more than nominal, somewhat behind; known about as well as from a first motion."""
    values, count = unknowns.column("guess"), len(unknowns)
    values[unknowns.index["alpha:0"]] = 0.5 * np.log(11.6)
    values[unknowns.index["t1:0"]] -= 0.05
    sigma = np.full(count, 0.008)
    sigma[1:7], sigma[7:10], sigma[10:13] = 0.05, 0.003, 0.05
    information = np.diag(sigma**-2.0)
    prior = unknowns.column("sigma") ** -2.0
    return Posterior(tuple(unknowns.index), values, np.diag(sigma**2), information + np.diag(prior), prior, 32, 8.0)
