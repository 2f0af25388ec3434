# SPDX-License-Identifier: Apache-2.0
"""What is kept of robot and ground as constants have them is that of these constants and of no others."""

from __future__ import annotations

import numpy as np

from sysid_nodes.robots import load_robot
from sysid_nodes.systems.prime import PrimeConfig, build_model
from sysid_nodes.systems.prime.surroundings import contact_law_with, robot_with


def test_robot_and_ground_are_kept_by_the_constants_they_were_moved_by() -> None:
    model = build_model(load_robot("go2"), PrimeConfig())
    layout, theta = model.parameters, model.parameters.mean
    for move, thing in ((robot_with, model.base), (contact_law_with, model.law)):
        kept = move(thing, layout, theta)
        assert move(thing, layout, theta.copy()) is kept
        assert move(thing, layout.hold_constants(), theta) is not kept
        assert move(thing, layout, theta + 1e-3) is not kept
    moved = theta.copy()
    moved[layout.tilt] = 0.02, -0.01
    assert contact_law_with(model.law, layout, moved).tilt == (0.02, -0.01)
    for k in range(9):  # more than are kept
        moved[layout.tilt] = 0.01 * k
        assert contact_law_with(model.law, layout, moved).tilt == (0.01 * k, 0.01 * k)
    np.testing.assert_array_equal(theta, model.parameters.mean)
