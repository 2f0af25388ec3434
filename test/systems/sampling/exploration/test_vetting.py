# SPDX-License-Identifier: Apache-2.0
"""Verdicts on walks that are made up: robot by robot, in the segment and in the stop after it."""

from dataclasses import fields, replace

import numpy as np
import pytest

from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import GAITS, GroundConfig, Walks, build_legged_mujoco
from sysid_nodes.rollouts.policy import Memory
from sysid_nodes.rollouts.shells import Shell, shell
from sysid_nodes.systems.sampling.exploration.crowd import Places
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves, CurveSpace
from sysid_nodes.systems.sampling.exploration.vetting import Conditions, together, vet

ROBOT = load_robot("go2")
MODEL = build_legged_mujoco(ROBOT, ROBOT.model.inertias.tolist()[1:], shell(ROBOT), GroundConfig(), timestep=0.002)
SEGMENT = CurveSpace(np.ones(5), (1,), 3).stop_segment(np.zeros(5), 1.0, 0.29)
CONDITIONS = Conditions(ROBOT, Shell(MODEL), 3.0, 0.5)


def walks(count=3, **changed):
    """Of robots that stand well."""
    states, none = np.zeros((count, 2, 37)), np.zeros((count, 12))
    states[..., 2], states[..., 3], states[..., 7:19] = 0.29, 1.0, np.tile([0.0, 0.8, -1.6], 4)
    fallen = np.zeros(count, dtype=bool)
    return replace(Walks(states, none[:, None], none, none, fallen, Memory(fallen)), **changed)


class MadeUp:
    """A crowd whose segment and stop are given."""

    def __init__(self, segment, stop):
        self._walks, self.followed = {1.0: segment, 0.5: stop}, []

    def __len__(self):
        return len(self._walks[1.0].states)

    def follow(self, which, places, curves, duration, **_):
        assert len(which) == len(places.states) == len(curves.gaits)
        self.followed.append((len(which), duration))
        own = {f.name: getattr(self._walks[duration], f.name) for f in fields(Walks)}
        return Walks(**{name: own[name].take(which) if name == "memory" else own[name][which] for name in own})


def places(count):
    return Places(np.zeros((count, 37)), Memory(np.zeros(count, dtype=bool)))


def found(segment, stop):
    crowd = MadeUp(segment, stop)
    vetted = vet(crowd, places(3), SEGMENT, CONDITIONS, lambda _: None)
    assert crowd.followed == [(3, 1.0), (3, 0.5)]
    return vetted


def moved(part, robot, value):
    own = {name: getattr(walks(), name).copy() for name in ("states", "torque", "rate", "fallen")}
    if part == "place":
        own["states"][robot, -1, 0] = value
    elif part == "joint":
        own["states"][robot, -1, 7] = value
    elif part == "height":
        own["states"][robot, -1, 2] = value
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
        ("height", 0.16, "1 of 3 robots touch the ground with more than their feet"),  # knees are 0.15 m below the hips
    ],
)
def test_harm_in_the_segment_or_in_the_stop_is_seen_and_named(part, value, fault):
    bad = moved(part, 1, value)
    for vetted in (found(bad, walks()), found(walks(), bad)):
        assert vetted.harmed.tolist() == [False, True, False]
        assert fault in vetted.vetting.faults[0]


@pytest.mark.parametrize(("harmed", "seen"), [(3, [16]), (20, [16, 64]), (None, [16, 64, 20])])
def test_no_more_robots_follow_what_does_harm_to_those_that_go_ahead(harmed, seen):
    made = walks(100)
    if harmed is not None:
        made.fallen[harmed] = True
    crowd, told = MadeUp(made, walks(100)), []
    vetted = vet(crowd, places(100), SEGMENT, CONDITIONS, told.append)
    assert told == np.cumsum(seen).tolist()
    assert [count for count, duration in crowd.followed if duration == 1.0] == seen
    assert np.flatnonzero(vetted.harmed).tolist() == ([] if harmed is None else [harmed])
    assert vetted.vetting.draws == sum(seen) - 1
    assert len(vetted.places.states) == sum(seen)


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
