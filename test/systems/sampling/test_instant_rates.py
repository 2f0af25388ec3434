# SPDX-License-Identifier: Apache-2.0
import numpy as np

from sysid_nodes.systems.sampling.residuals import instant_rates


def test_velocities_of_steps_become_those_of_instants():
    """Semi-implicit Euler of a body at constant acceleration: q_k = q_(k-1) + h v_k."""
    h, acceleration = 0.01, 5.0
    t = h * np.arange(6)
    stepped = acceleration * (t - 0.5 * h)
    found = instant_rates(np.stack([stepped, 2.0 * stepped], axis=-1))
    np.testing.assert_allclose(found, np.stack([acceleration * t, 2.0 * acceleration * t], axis=-1), atol=1e-12)
