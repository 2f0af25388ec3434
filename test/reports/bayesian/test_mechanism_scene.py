# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.reports.bayesian.scene import mechanism_scene
from sysid_nodes.results.bayesian import BayesianSeries
from sysid_nodes.robots import load_robot


def test_a_link_has_its_centre_of_mass_and_a_constant_of_ones_own_that_is_named_like_one_has_none() -> None:
    robot = load_robot("fourbar_leg")
    t = np.arange(3.0)
    series = BayesianSeries(t, np.zeros((3, robot.n)), np.zeros(3), np.zeros((3, 3)))
    named = zip(PARAMETER_NAMES[:4], (2.0, 0.2, 0.4, 0.6), strict=True)
    link = {"group": "inertia", "truth": None}
    rows = [link | {"name": f"{robot.body}.{name}", "mean": mean} for name, mean in named]
    rows.append({"name": "tip.m", "group": "user", "mean": 1.0, "truth": 1.0})
    scene = mechanism_scene(robot, series, rows)
    (dot,) = [body for body in scene.bodies if body.group.startswith("centres of mass")]
    assert dot.parts[0]["ball"] == [0.1, 0.2, 0.3]
