# SPDX-License-Identifier: Apache-2.0
"""Verdicts on walks that are made up: robot by robot, in the segment and in the stop after it."""

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import GAITS, Walks
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves, CurveSpace
from sysid_nodes.systems.sampling.exploration.vetting import together, vet

ROBOT = load_robot("go2")
SEGMENT = CurveSpace(np.ones(5), (1,), 3).stop_segment(np.zeros(5), 1.0, 0.29)
AREA = 3.0


def walks(**changed):
    """Of three robots that stand well."""
    states = np.zeros((3, 2, 37))
    states[..., 2], states[..., 3], states[..., 7:19] = 0.29, 1.0, np.tile([0.0, 0.8, -1.6], 4)
    own = Walks(states, np.zeros((3, 1, 12)), np.zeros((3, 12)), np.zeros((3, 12)), np.zeros(3, dtype=bool), None)
    return replace(own, **changed)


class MadeUp:
    """A crowd whose segment and stop are given."""

    def __init__(self, segment, stop):
        self._walks, self.durations = [segment, stop], []

    def __len__(self):
        return 3

    def follow(self, _which, _places, _curves, duration, **_):
        self.durations.append(duration)
        return self._walks[len(self.durations) - 1]


def found(segment, stop):
    crowd = MadeUp(segment, stop)
    vetted = vet(crowd, None, SEGMENT, ROBOT, AREA, 0.5)
    assert crowd.durations == [1.0, 0.5]
    return vetted


def moved(part, robot, value):
    own = {name: getattr(walks(), name).copy() for name in ("states", "torque", "rate", "fallen")}
    if part == "place":
        own["states"][robot, -1, 0] = value
    elif part == "joint":
        own["states"][robot, -1, 7] = value
    else:
        own[part][robot] = value
    return walks(**own)


def test_robots_that_stand_well_are_not_harmed():
    vetted = found(walks(), walks())
    assert not vetted.harmed.any()
    assert not vetted.vetting.faults
    assert vetted.vetting.draws == 2, "the first is the estimated one"


@pytest.mark.parametrize(
    ("part", "value", "fault"),
    [
        ("fallen", True, "1 of 3 robots that the estimate allows fall"),
        ("place", 3.5, "goes 3.5 m from its start, 3.0 m are free"),
        ("joint", 3.0, "rad into its stop"),
        ("rate", 40.0, "faster than it may"),
        ("torque", 50.0, "N m more than it may"),
    ],
)
def test_harm_in_the_segment_or_in_the_stop_is_seen_and_named(part, value, fault):
    bad = moved(part, 1, value)
    for vetted in (found(bad, walks()), found(walks(), bad)):
        assert vetted.harmed.tolist() == [False, True, False]
        assert fault in vetted.vetting.faults[0]


def test_a_plan_is_as_good_as_its_worst_segment():
    far, fine = (found(walks(), stop).vetting for stop in (moved("place", 2, 2.5), walks()))
    both = together([far, fine])
    assert both.reach == pytest.approx(2.5)
    assert not both.faults
    assert together([fine, found(walks(), moved("fallen", 0, True)).vetting]).faults


def test_who_stands_has_no_commands():
    standing = CommandCurves.standing(2, 0.29)
    assert standing.duration == 0.0
    assert (standing.at(0.3).gait == GAITS.index("stand")).all()
    assert not SEGMENT.at(0.5).velocity.any()
