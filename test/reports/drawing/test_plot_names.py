# SPDX-License-Identifier: Apache-2.0
"""Where a plot has several lines, the values under the cursor have names."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from sysid_nodes.reports.actuators import plots as actuators
from sysid_nodes.reports.bayesian import plots as bayesian
from sysid_nodes.reports.certified import plots as certified
from sysid_nodes.reports.drawing import plots
from sysid_nodes.reports.prime import plots as prime
from sysid_nodes.reports.sampling import plots as sampling

T = np.linspace(0.0, 2.0, 60)
X = np.sin(3.0 * T)
FORCE = np.column_stack([X, X, 40.0 + X])
SIGMA = np.ones((60, 3))
HELD_OUT = dict.fromkeys(("measured", "nominal", "identified"), FORCE)
EDGES, PROMISED = np.linspace(0.0, 2.0, 12), np.linspace(1.0, 2.0, 11)
CLIPS = T[None], X[None], X[None], X[None]

PAGES = {
    "interval": lambda: plots.interval_plot(T, X - 1, X + 1, X, truth=0.1, label="m", withdrawn=False),
    "interval's torque": lambda: plots.torque_plot(T, X, X, SIGMA[:, 0], label="torque", points=50),
    "force": lambda: prime.force_plot(T, FORCE, SIGMA, FORCE + 0.1, colour="#0072b2", label="foot"),
    "parameter": lambda: prime.parameter_plot(T, X, SIGMA[:, 0], 0.2, label="m"),
    "fit": lambda: prime.fit_plot(T, {"joint_velocities": X + 2, "torques": X + 2}, 3.0, label="fit"),
    "overlay": lambda: actuators.overlay_plot(T, X, X, X, label="joint"),
    "drive's friction": lambda: actuators.friction_plot((0.1, 0.2, 0.3), None, label="f", truth=(0.2, 0.0)),
    "drive's torque": lambda: actuators.torque_plot(T, X, SIGMA[:, 0], X, label="torque"),
    "held out": lambda: bayesian.torque_plot(T, HELD_OUT, ("hip", "knee", "foot"), label="held out"),
    "commands": lambda: certified.limit_plot(T, X, EDGES, PROMISED, 3.0, None, label="joint"),
    "usage": lambda: certified.usage_plot(T, X + 2.0, 1.0, label="usage"),
    "margin": lambda: certified.margin_plot(T, X + 2.0, EDGES, PROMISED, 1.0, label="margin", ceiling=4.0),
    "clips": lambda: sampling.clips_plot(*CLIPS, label="clips", unit="m"),
}


def axes_of(page: str) -> list[dict[str, Any]]:
    found = re.search(r'class="plot-data">(.*?)</script>', page)
    assert found is not None
    axes: list[dict[str, Any]] = json.loads(found[1])["axes"]
    return axes


@pytest.mark.parametrize("name", PAGES)
def test_every_line_of_several_has_a_name(name: str) -> None:
    shown = [[line["name"] for line in axes["lines"]] for axes in axes_of(PAGES[name]())]
    several = [names for names in shown if len(names) > 1]
    assert several
    assert all(len(set(names)) == len(names) and all(names) for names in several), shown


def test_a_band_that_is_wide_in_the_beginning_does_not_set_the_scale_of_a_force() -> None:
    sigma = SIGMA.copy()
    sigma[0] = 500.0
    truth = FORCE + 0.1
    truth[1, 2] = 90.0  # what was really there is shown
    top, _ = axes_of(prime.force_plot(T, FORCE, sigma, truth, colour="#0072b2", label="foot"))
    low, high = top["ylim"]
    assert 20.0 < low < FORCE[:, 2].min() - 1.0
    assert 90.0 < high < 110.0
