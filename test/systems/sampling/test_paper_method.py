# SPDX-License-Identifier: Apache-2.0
"""The paper's method on few and short clips: its cost, and what it says of errors."""

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.results.sampling import SamplingStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.sampling import SamplingConfig, identify
from sysid_nodes.systems.sampling.paper import PaperCost

FEW = {
    "method": "paper",
    "paper.shortest": 0.03,
    "paper.longest": 0.05,
    "paper.clips": 6,
    "paper.iterations": 2,
    "paper.population": 4,
    "verdict.shown": 0.1,
    "threads": 1,
}


@pytest.fixture
def cost(walk):
    log, own = walk.log, walk.setting
    first = np.array([100, 300, 500])
    velocity = np.gradient(log.position, log.step, axis=0)
    steps = np.array([10, 15, 20])
    return PaperCost(log, own.unknowns, own.simulator, own.drive, first, steps, own.guess.at(first), velocity)


def test_the_true_robot_costs_less_than_the_nominal_one(walk, cost):
    terms = cost.terms(np.array([walk.setting.unknowns.column("guess"), walk.truth]))
    assert set(terms) == {"position", "velocity", "orientation", "turning", "joints", "rates", "torque"}
    for name in ("joints", "turning"):
        assert terms[name][1] < terms[name][0], name


def test_a_clip_counts_only_as_long_as_it_is(walk, cost):
    vector = walk.setting.unknowns.column("guess")[None]
    each = [replace(cost, first=cost.first[[k]], steps=cost.steps[[k]], start=cost.start[[k]]) for k in range(3)]
    parts = [one.terms(vector)["joints"][0] for one in each]
    assert cost.terms(vector)["joints"][0] == pytest.approx(np.average(parts, weights=cost.steps))


def test_the_regularisation_is_nothing_at_the_nominal_robot(walk, cost):
    assert cost.regularisation(np.array([walk.setting.unknowns.column("guess")])) == pytest.approx([0.0])
    assert cost.regularisation(walk.truth[None])[0] > 0.01 * 4.0**2


def test_it_gives_values_and_says_nothing_of_errors(walk):
    result = identify(walk.log, load_robot("go2"), from_flat(SamplingConfig, FEW))
    assert result.status is SamplingStatus.POINT
    rows = {row.name: row for row in result.parameters}
    assert rows["mass"].estimate is not None
    assert rows["mass"].sigma is rows["mass"].lower is None
