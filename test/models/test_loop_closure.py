# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import mujoco
import numpy as np
import pytest

from benchmarks.bayesian_log import leg
from sysid_nodes.exceptions import RobotError
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.loop_closure import build_closures
from sysid_nodes.robots import build_robot, load_robot
from sysid_nodes.robots.fourbar_leg import LOOP
from sysid_nodes.robots.loops import HINGE, KINDS, PLANE, POINT, SLIDER, TOUCH, WELD, parse_loop
from sysid_nodes.simulation.fourbar.leg import JOINTS, LegTruth, mjcf

SPATIAL = "end_effector_link:shoulder_link"
ROWS = {TOUCH: 1, POINT: 3, HINGE: 5, WELD: 6, PLANE: 3, SLIDER: 5}


def test_gap_is_mujocos() -> None:
    robot = leg()
    closures = build_closures(robot, Chain.from_robot(robot), [parse_loop(LOOP)])
    assert closures.count == 2  # a plane's, not space's
    model = mujoco.MjModel.from_xml_string(mjcf(LegTruth.draw(np.random.default_rng(0))))
    data = mujoco.MjData(model)
    q = np.random.default_rng(1).uniform(-1.0, 1.0, (5, 4))
    gaps = closures.gaps(q)
    for row, gap in zip(q, gaps, strict=True):
        for name, angle in zip(robot.joint_names, row, strict=True):
            data.qpos[model.joint(name).qposadr[0]] = angle
        mujoco.mj_kinematics(model, data)
        own = data.site("rod_end")
        between = own.xmat.reshape(3, 3).T @ (own.xpos - data.site("lever_pin").xpos)
        np.testing.assert_allclose(gap, between, atol=1e-12)
    assert set(robot.joint_names) == set(JOINTS)


@pytest.mark.parametrize(
    ("name", "loop", "count"),
    [("fourbar_leg", LOOP, 2), *(("kinova_gen3", f"{SPATIAL}:{kind}", ROWS[kind]) for kind in KINDS)],
)
def test_derivatives(name: str, loop: str, count: int) -> None:
    robot = load_robot(name)
    closures = build_closures(robot, Chain.from_robot(robot), [parse_loop(loop)])
    assert closures.count == count
    rng = np.random.default_rng(2)
    q, force = rng.uniform(-1.0, 1.0, (3, robot.n)), rng.standard_normal((3, closures.count))
    value, jacobian = closures.linearise(q)
    np.testing.assert_allclose(value, closures.value(q), atol=1e-14)
    turned = closures.force_jacobian(q, force)
    eps = 1e-6
    for j in range(robot.n):
        step = np.zeros(robot.n)
        step[j] = eps
        by_j = (closures.value(q + step) - closures.value(q - step)) / (2 * eps)
        np.testing.assert_allclose(jacobian[:, :, j], by_j, atol=1e-8)
        forces = [np.einsum("kcn,kc->kn", closures.linearise(q + s)[1], force) for s in (step, -step)]
        np.testing.assert_allclose(turned[:, :, j], (forces[0] - forces[1]) / (2 * eps), atol=1e-7)


@pytest.mark.parametrize(
    ("loops", "message"),
    [
        (("rod_end",), "LINK:LINK"),
        (("rod_end:nowhere",), "no link 'nowhere'"),
        (("rod_end:thigh",), "stays open by 60 mm"),
    ],
)
def test_impossible_loops(loops: tuple[str, ...], message: str) -> None:
    robot = leg()
    with pytest.raises(RobotError, match=message):
        build_closures(robot, Chain.from_robot(robot), [parse_loop(loop) for loop in loops])


@pytest.mark.parametrize("kind", KINDS)
def test_frames_that_point_opposite_ways(kind: str) -> None:
    """Their axes are square to one another there, too, so that equalities do not tell."""
    robot = leg()
    closures = build_closures(robot, Chain.from_robot(robot), [parse_loop(f"{LOOP}:{kind}")])
    q = np.zeros((2, robot.n))
    assert not closures.has_turned_round(q)
    q[1, robot.joint_names.index("rod_joint")] = 2.5
    assert closures.has_turned_round(q) is (kind not in (POINT, TOUCH))


def test_loops_that_leave_nothing_to_move() -> None:
    text = leg().urdf
    for joint in ("hip", "crank_motor", "knee"):
        text = text.replace(f'<joint name="{joint}" type="continuous">', f'<joint name="{joint}" type="fixed">')
    robot = build_robot(text, name="stuck")
    with pytest.raises(RobotError, match="nothing can move"):
        build_closures(robot, Chain.from_robot(robot), [parse_loop(LOOP)])


def test_what_is_kept_is_of_the_configurations_that_are_asked_for() -> None:
    """Also where they are changed in place; and no more than a few are kept."""
    robot = leg()
    chain, loops = Chain.from_robot(robot), [parse_loop(LOOP)]
    kept, places = build_closures(robot, chain, loops), np.random.default_rng(5).uniform(-1.0, 1.0, (9, 3, robot.n))
    for q in (*places, *places[::-1], *places[:2]):
        kept.linearise(q)
        q += 0.1
        np.testing.assert_array_equal(kept.value(q), build_closures(robot, chain, loops).value(q))
    assert len(kept._kept) == 4
