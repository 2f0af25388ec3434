# SPDX-License-Identifier: Apache-2.0
"""Knowledge of the constants before any reading: each one's own prior, and the weight of the whole robot."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.systems.prime.config import InertiaConfig
from sysid_nodes.systems.prime.parameters import Parameters

Array = npt.NDArray[np.float64]


def prior_residual(parameters: Parameters, config: InertiaConfig, theta: Array) -> Array:
    """(p,) whitened differences from the means; one more, of the logarithm of the mass where it was weighed."""
    own = (theta - parameters.mean) / parameters.sigma
    if config.weighed <= 0.0:
        return np.asarray(own)
    total = parameters.mass_ratio(theta) * parameters.nominal[:, 0].sum()
    return np.append(own, np.log(total / config.weighed) / config.weighed_sigma)


def prior_jacobian(parameters: Parameters, config: InertiaConfig, theta: Array) -> Array:
    """Its derivative by theta (p,)."""
    own = np.diag(1.0 / parameters.sigma)
    if config.weighed <= 0.0:
        return own
    return np.concatenate([own, parameters.mass_gradient(theta)[None] / config.weighed_sigma])
