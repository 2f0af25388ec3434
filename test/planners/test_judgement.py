"""The room that the robot's own stop takes, against postures that it could end in."""

from __future__ import annotations

import numpy as np
from shared.certified_arm import START, robot, shapes

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.self_collision import joints_of, place
from sysid_nodes.models.separation import distances
from sysid_nodes.planners.judgement import Judge

JUDGE = Judge(
    robot(), Chain.from_robot(robot()).tree, shapes(), keep=0.0, torque_margin=0.0, stop=np.ones(7), stop_travel=0.0
)
PAIRS = JUDGE._pairs


def approach(travel: np.ndarray) -> np.ndarray:
    """(P,) for one travel (7,)."""
    return JUDGE._approach(travel[None])[:, 0]


def nearness(q: np.ndarray) -> np.ndarray:
    """(N, P) distances of the pairs."""
    placed = place(robot(), shapes(), q)
    return distances(placed, placed, PAIRS, beyond=3.0).distance


def test_no_stop_brings_two_parts_nearer_than_it_says() -> None:
    rng = np.random.default_rng(5)
    travel = np.array([0.2, 0.1, 0.2, 0.1, 0.3, 0.2, 0.4])
    for middle in (START, *rng.uniform(-2.0, 2.0, (6, 7))):
        before = nearness(middle[None])[0]
        # Corners of the box of postures are where it takes most.
        after = nearness(middle + travel * rng.choice([-1.0, 1.0], (40, 7))).min(axis=0)
        assert (before - after <= approach(travel) + 1e-6).all()


def test_joints_that_move_both_do_not_count() -> None:
    joints = joints_of(robot(), shapes())[PAIRS] - 1
    for joint in range(7):
        travel = np.zeros(7)
        travel[joint] = 0.1
        moved = approach(travel) > 0.0
        np.testing.assert_array_equal(moved, (joints.min(axis=1) < joint) & (joint <= joints.max(axis=1)))


def test_a_lever_is_no_longer_than_the_arm_and_no_shorter_than_it_can_be() -> None:
    """About joint 1, of the farthest part: what it moves when the arm is stretched out."""
    travel = np.zeros(7)
    travel[1] = 1e-3
    stretched = np.array([0.0, np.pi / 2, 0.0, 0.0, 0.0, 0.0, 0.0])
    base = np.flatnonzero((joints_of(robot(), shapes())[PAIRS] == 0).any(axis=1))
    reach = place(robot(), shapes(), stretched[None])
    farthest = np.linalg.norm(reach.centre, axis=-1).max()
    assert farthest < approach(travel)[base].max() / 1e-3 < 2.0
