# SPDX-License-Identifier: Apache-2.0
"""Policies from ONNX files: what they observe, what becomes of their actions, and what is refused."""

import sys

import numpy as np
import pytest
from shared.linear_policy import JOINTS, OBSERVATIONS, leaning_policy, write_policy
from shared.robot_rollouts import DRIVE, ROBOT, build, start

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.rollouts import Command, Simulations, Variants, WalkingConfig, commanded_policy, walk
from sysid_nodes.rollouts.network_policy import NetworkPolicy
from sysid_nodes.rollouts.rotations import matrix
from sysid_nodes.simulation.legged import LeggedRobotSim, LeggedSimulationConfig

pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

ORDER = [ROBOT.joint_names.index(name) for name in JOINTS]
DEFAULT = np.array(list(JOINTS.values()))


def commands(rng, count):
    return Command(
        rng.standard_normal((count, 3)), rng.standard_normal((count, 2)), rng.uniform(0.25, 0.3, count),
        np.arange(count) % 5, rng.uniform(2.0, 3.0, count),
    )  # fmt: skip


@pytest.mark.parametrize("rows", ["robots", 1])
def test_observations_are_those_of_the_layout_and_actions_move_the_joints_that_it_names(tmp_path, rows):
    rng = np.random.default_rng(0)
    weights = 0.1 * rng.standard_normal((45, 12))
    policy = NetworkPolicy(ROBOT, write_policy(tmp_path / "walk.onnx", weights, rows=rows))
    last = np.zeros((3, 12))
    for _ in range(2):
        state, command = start(rng, 3), commands(rng, 3)
        turn, q, v = matrix(state[:, 3:7]), state[:, 7:19], state[:, 19:]
        seen = np.column_stack([
            0.25 * v[:, 3:6], -turn[:, 2], command.velocity * [2.0, 2.0, 0.25],
            q[:, ORDER] - DEFAULT, 0.05 * v[:, 6:][:, ORDER], last,
        ])  # fmt: skip
        last = seen @ weights
        expected = np.empty((3, 12))
        expected[:, ORDER] = DEFAULT + 0.25 * last
        np.testing.assert_allclose(policy.set_points(state, command), expected, atol=1e-6)  # single precision
    assert not policy.memory.fallen.any()


@pytest.mark.parametrize("order", ["observation", "instant"])
def test_a_network_sees_the_last_instants_in_the_order_of_its_layout(tmp_path, order):
    """The first instant counts for those before it, and robots that are taken out keep theirs."""
    rng = np.random.default_rng(3)
    layout = {"observations": {"height": 1.0, "attitude": 1.0}, "history": 3, "history_by": order, "action_scale": 1.0}
    weights = rng.standard_normal((9, 12))
    policy = NetworkPolicy(ROBOT, write_policy(tmp_path / "x.onnx", weights, **layout))
    given = [commands(rng, 2) for _ in range(4)]
    frames = [np.column_stack([one.height, one.attitude]) for one in (*given[:1] * 2, *given)]
    for k, command in enumerate(given):
        if k == 3:
            policy.memory = policy.memory.take(np.array([1, 0]))
            frames = [frame[[1, 0]] for frame in frames[:-1]] + frames[-1:]
        targets = policy.set_points(start(rng, 2), command)
        last = np.stack(frames[k : k + 3], axis=1)  # (2, 3, 3)
        seen = last.reshape(2, 9)
        if order == "observation":
            seen = np.column_stack([last[:, :, 0], last[:, :, 1:].reshape(2, 6)])
        np.testing.assert_allclose(targets[:, ORDER], DEFAULT + seen @ weights, atol=1e-5)


def test_every_observation_that_there_is(tmp_path):
    rng = np.random.default_rng(1)
    names = ["linear_velocity", "attitude", "height", "gait", "frequency", "phase"]
    layout = {"observations": dict.fromkeys(names, 1.0), "joints": dict(list(JOINTS.items())[:3]), "action_scale": 1.0}
    weights = rng.standard_normal((14, 3))
    policy = NetworkPolicy(ROBOT, write_policy(tmp_path / "x.onnx", weights, **layout))
    state, command = start(rng, 5), commands(rng, 5)
    policy.set_points(state, command)
    angle = 2.0 * np.pi * 0.02 * command.frequency * (command.gait > 0)  # one period on; who stands has none
    along = np.einsum("bji,bj->bi", matrix(state[:, 3:7]), state[:, 19:22])
    seen = np.column_stack([
        along, command.attitude, command.height, np.eye(5)[command.gait], command.frequency,
        np.sin(angle), np.cos(angle),
    ])  # fmt: skip
    expected = np.zeros((5, 12))  # joints of other legs are held at zero
    expected[:, ORDER[:3]] = DEFAULT[:3] + seen @ weights
    np.testing.assert_allclose(policy.set_points(state, command), expected, atol=1e-5)


def test_a_robot_stands_and_leans_under_a_linear_policy_and_one_that_fell_is_let_go(tmp_path):
    policy = commanded_policy(ROBOT, DRIVE, WalkingConfig(policy=str(leaning_policy(tmp_path / "lean.onnx"))))
    bodies, one = ROBOT.model.inertias.tolist()[1:], np.ones((1, 12))
    theta = bodies[0].toDynamicParameters()[None, None]
    variants = Variants((0,), theta, one, 0 * one, 0 * one, 0 * one, 0 * one, np.full(1, 0.8), np.full(1, 0.01))
    begin = np.zeros((3, 37))
    begin[:, 2], begin[:, 3], begin[:, 7:19] = policy.standing_height, 1.0, policy.posture
    begin[2, 3:5] = 0.0, 1.0  # on its back
    lean = Command.standing(3)
    lean.attitude[:] = [[0.15, 0.0], [0.0, 0.15], [0.0, 0.0]]
    simulations = Simulations(build(bodies), DRIVE, threads=1, capacity=3)
    made = walk(simulations, policy, variants, np.zeros(3, dtype=int), begin, lambda _: lean, 1.0)
    assert made.fallen.tolist() == [False, False, True]
    roll, pitch = 2.0 * made.states[0, -1, 4], 2.0 * made.states[1, -1, 5]
    assert roll > 0.05
    assert pitch > 0.05
    np.testing.assert_array_equal(made.targets[2, 0], begin[2, 7:19])
    kept = made.memory.take(np.array([2, 0]))
    assert type(kept).join([kept, made.memory]).fallen.tolist() == [True, False, False, False, True]


def test_a_policy_is_known_by_what_is_in_its_files_wherever_they_are(tmp_path):
    def named(name, weights, **layout):
        file = write_policy(tmp_path / name, weights, **layout)
        return commanded_policy(ROBOT, DRIVE, WalkingConfig(policy=str(file))).id

    still, other = np.zeros((45, 12)), np.zeros((45, 12))
    other[0, 0] = 1e-3
    first = named("still.onnx", still)
    assert named("copy.onnx", still) == first
    assert named("other.onnx", other) != first
    assert named("slow.onnx", still, period=0.04) != first, "its layout counts as well"
    assert first != commanded_policy(ROBOT, DRIVE, WalkingConfig()).id


def test_a_simulated_robot_obeys_it_at_its_own_period(tmp_path):
    file = write_policy(tmp_path / "still.onnx", np.zeros((45, 12)))
    options = {"motion": "commanded", "drive.enabled": True, "walking.policy": str(file)}
    sim = LeggedRobotSim(from_flat(LeggedSimulationConfig, options), np.random.default_rng(0))
    for _ in sim.run(0.1):
        pass
    stamps, targets = zip(*sim.set_points, strict=True)
    np.testing.assert_allclose(np.diff(stamps), 0.02)
    np.testing.assert_allclose(targets[-1][ORDER], DEFAULT)


def test_layout_network_and_robot_must_fit(tmp_path):
    good, zeros = {"path": tmp_path / "p.onnx", "weights": np.zeros((45, 12))}, np.zeros((45, 11))
    for change, words in (
        ({"weights": zeros}, r"gives actions of shape \(1, 11\) for 12 joints"),
        ({"weights": np.zeros((48, 12))}, "takes 48 observations, its layout has 45"),
        ({"period": 0.0}, "'period' must be positive, got 0"),
        ({"period": "fast"}, "'period' must be a number, got 'fast'"),
        ({"action_scale": float("nan")}, "'action_scale' must be a number, got nan"),
        ({"joints": {"arm": 0.0}}, "robot 'go2' has no joint 'arm'"),
        ({"joints": []}, "'joints' must be a list of names with a number each"),
        ({"observations": {"smell": 1.0}}, "there is no observation 'smell', only angular_velocity"),
        ({"observations": OBSERVATIONS | {"command": [1.0, 2.0]}}, "'command' has 2 scales for 3 numbers"),
        ({"history": 0}, "'history' must be a number of instants, 1 or more, got 0"),
        ({"history": 2}, "takes 45 observations, its layout has 90"),
        ({"history_by": "row"}, "'history_by' must be observation or instant, got 'row'"),
        (
            {"extra": 1},
            "has the keys period, action_scale, joints, observations, perhaps history, history_by, and no others",
        ),
    ):
        with pytest.raises(ConfigError, match=words):
            NetworkPolicy(ROBOT, write_policy(**(good | change)))


def test_what_cannot_be_read_is_one_line(tmp_path, monkeypatch):
    file = write_policy(tmp_path / "p.onnx", np.zeros((45, 12)))
    file.write_bytes(b"nonsense")
    with pytest.raises(ConfigError, match=r"p\.onnx: is no network that onnxruntime reads: .*$"):
        NetworkPolicy(ROBOT, file)
    file.unlink()
    with pytest.raises(ConfigError, match=r"p\.onnx: no such file of a policy"):
        NetworkPolicy(ROBOT, file)
    write_policy(file, np.zeros((45, 12)))
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ConfigError, match=r"'walking\.policy' needs onnxruntime; pip install 'sysid-nodes\[policy\]'"):
        NetworkPolicy(ROBOT, file)
