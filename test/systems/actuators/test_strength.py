# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
from shared.actuator_stand import chirp_log, leg

from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.preparation import prepare
from sysid_nodes.systems.actuators.strength import count_strength, fit_with_gain


def test_a_strength_in_doubt_widens_an_estimate_by_the_way_that_it_moves_it() -> None:
    """Of the covariance and of its part that is doubt, by which a value is called doubtful rather than noisy."""
    config = ActuatorConfig()
    fit = fit_joint(prepare(chirp_log()[1], leg(), config)[1], known_law(config, 1), config, config.fitted.names)
    gained = fit_with_gain(fit, config)
    found = count_strength(fit, gained)
    names = gained.problem.names
    moved = np.array([gained.parameters[names.index(name)] for name in fit.problem.names]) - fit.parameters
    assert np.abs(moved).max() > 0.0
    for wider, before in ((found.covariance.matrix, fit.covariance.matrix), (found.doubt, fit.doubt)):
        np.testing.assert_allclose(wider - before, np.outer(moved, moved), rtol=1e-9, atol=1e-12 * np.abs(before).max())
    np.testing.assert_array_equal(found.parameters, fit.parameters)
