# SPDX-License-Identifier: Apache-2.0
"""The PRIME benchmarks run from end to end at a tiny size; what their peers compute is checked where it can be."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from shared.benchmark_report import only_report
from shared.log_barrier import barrier_impulse

from benchmarks import prime_coverage, prime_peers, prime_scaling, prime_smoothing
from benchmarks.peers import fddp
from benchmarks.peers.contact_step import solve_contacts
from benchmarks.peers.paper_dynamics import PaperDynamics
from benchmarks.prime_log import SCENARIOS, Scenario, simulated_config
from benchmarks.prime_scaling import Lap, growth
from benchmarks.prime_world import draw
from benchmarks.prime_world_trial import World, described, judge, walk
from benchmarks.prime_world_untold import UNTOLD, Untold, disturb, spoil, untold
from sysid_nodes.robots import load_robot
from sysid_nodes.simulation.legged import ImuReading, JointReading, LeggedRobotSim, LeggedSimulationConfig, PoseReading
from sysid_nodes.simulation.legged.programme import standing_configuration
from sysid_nodes.systems.prime import build_model


def test_peers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCENARIOS, "go2_3kg", _short("go2_3kg"))
    records = tmp_path / "records.jsonl"
    arguments = ["--scenarios", "go2_3kg", "--methods", "ours", "flags", "momentum", "--steps", "30"]
    arguments += ["--records", str(records), "--out", str(tmp_path)]
    assert prime_peers.main(arguments) == 0
    assert "| momentum |" in only_report(tmp_path)
    before = records.read_text(encoding="utf-8")
    assert prime_peers.main(arguments) == 0
    assert records.read_text(encoding="utf-8") == before, "what is on record must not run again"


def test_scaling(tmp_path: Path) -> None:
    arguments = ["--steps", "15", "30", "--runs", "1", "--compared", "0", "--out", str(tmp_path)]
    assert prime_scaling.main(arguments) == 0
    assert "15 to 30 steps" in only_report(tmp_path)


def test_growth_is_an_exponent() -> None:
    assert growth([Lap(n, 1.0, 3e-6 * n**2, 3, converged=True) for n in (10, 30, 70)]) == pytest.approx(2.0)


def test_smoothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCENARIOS, "go2_3kg", _short("go2_3kg"))
    arguments = ["--kappas", "100", "1000", "--go2", "20", "--g1", "0", "--out", str(tmp_path)]
    assert prime_smoothing.main(arguments) == 0
    assert "| default |" in only_report(tmp_path)


@pytest.mark.slow
def test_coverage(tmp_path: Path) -> None:
    records = tmp_path / "records.jsonl"
    arguments = ["--seeds", "2", "--duration", "0.3", "--skip", "0.2", "--jobs", "1"]
    arguments += ["--records", str(records), "--out", str(tmp_path)]
    assert prime_coverage.main(arguments) == 0
    assert "2 runs of the go2" in only_report(tmp_path)
    assert len(records.read_text(encoding="utf-8").splitlines()) == 2


def test_a_drawn_world_is_what_the_description_is_not() -> None:
    """Links lighter and rotors as drawn, the torso's own mass as it was; corners of one foot are off together."""
    world, true = draw(3, "g1"), load_robot("g1")
    told, body = described(true, world), true.body_index()
    ratio = true.inertial_parameters()[:, 0] / told.inertial_parameters()[:, 0]
    assert ratio[body] == 1.0
    np.testing.assert_allclose(np.delete(ratio, body), world.links)
    np.testing.assert_allclose(told.motor.armature * world.rotors, true.motor.armature)
    off = np.array([a.position - b.position for a, b in zip(true.contacts, told.contacts, strict=True)])
    np.testing.assert_allclose(off, world.feet, atol=1e-12)
    left = [point.joint == true.contacts[0].joint for point in true.contacts]
    assert np.ptp(off[:, 0]) > 0
    np.testing.assert_allclose(np.ptp(off[left], axis=0), 0.0, atol=1e-12)


def _short(name: str) -> Scenario:
    scenario = SCENARIOS[name]
    return Scenario(scenario.title, scenario.config, 0.5)


@pytest.mark.parametrize("contacts", [1, 4])
def test_contact_step_solves_the_papers_barrier(contacts: int) -> None:
    """Stationarity of eq. (17): V_free + W lambda = V, lambda the log-barrier's impulse at V (eqs. 18-20)."""
    rng = np.random.default_rng(contacts)
    friction, stiffness = 0.7, 500.0
    scale = np.tile([1.0 / friction, 1.0, 1.0], contacts)
    jacobian = rng.normal(size=(3 * contacts, 18)) * scale[:, None]
    a, b = 0.1 * jacobian @ jacobian.T, jacobian @ rng.normal(size=18)
    found = solve_contacts(a, b, 2.0 / stiffness, np.zeros((contacts, 3)))
    z = (a @ found.impulse.ravel() + b).reshape(contacts, 3)
    impulse = np.array([barrier_impulse(velocity, friction, stiffness) for velocity in z * [friction, 1.0, 1.0]])
    np.testing.assert_allclose(found.impulse / [friction, 1.0, 1.0], impulse, rtol=1e-6)


@pytest.mark.parametrize("name", ["go2", "g1"])
def test_derivatives_of_the_papers_dynamics(name: str) -> None:
    robot = load_robot(name)
    model = build_model(robot, simulated_config())
    dynamics = PaperDynamics(model, 500.0)
    rng, nv = np.random.default_rng(1), dynamics.nv
    x = np.concatenate(
        [dynamics.coordinates(standing_configuration(robot)), np.zeros(nv), model.parameters.mean[:10], np.zeros(3)]
    )
    x[3:nv] += 0.1 * rng.normal(size=nv - 3)
    x[nv : 2 * nv] = 0.5 * rng.normal(size=nv)
    torque, none = rng.normal(size=nv), np.zeros((len(robot.contacts), 3))

    def step(x: np.ndarray, torque: np.ndarray) -> np.ndarray:
        return dynamics.advance(x, dynamics.step(x, torque, none).velocity)

    found = dynamics.step(x, torque, none)
    by_state, by_force = dynamics.derivatives(x[None], found.velocity[None], found.w[None])
    h, columns = 1e-6, (0, 2, 4, 8, nv + 1, nv + 4, nv + 9, 2 * nv, 2 * nv + 5, 2 * nv + 9)
    for column in columns:
        move = h * np.eye(len(x))[column]
        expected = (step(x + move, torque) - step(x - move, torque)) / (2.0 * h)
        # Of a difference over 1e-6 of steps that are exact to 1e-10.
        np.testing.assert_allclose(by_state[0, :, column], expected, rtol=1e-5, atol=1e-4 * np.abs(expected).max())
    for column in (0, 4, 9):
        move = 1e-4 * np.eye(nv)[column]
        expected = (step(x, torque + move) - step(x, torque - move)) / 2e-4
        np.testing.assert_allclose(by_force[0, :, column], expected, rtol=1e-5, atol=1e-4 * np.abs(expected).max())


@pytest.mark.slow
@pytest.mark.skipif(not fddp.AVAILABLE, reason="crocoddyl is not installed")
def test_fddp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCENARIOS, "go2_3kg", _short("go2_3kg"))
    arguments = [
        "--scenarios",
        "go2_3kg",
        "--methods",
        "fddp",
        "--steps",
        "20",
        "--limit",
        "20",
        "--out",
        str(tmp_path),
    ]
    assert prime_peers.main(arguments) == 0
    assert "Where FDDP's time goes" in only_report(tmp_path)


def test_untold_effects_of_a_short_run() -> None:
    """Forces act on the base; readings are spoilt where they are said to be, and only there."""
    config = LeggedSimulationConfig(motion="sway")
    plain, held = (LeggedRobotSim(config, np.random.default_rng(1)) for _ in range(2))
    disturb(held, Untold(side=(0.0, 20.0, 0.0), swing=1.0), config.tick)
    readings = list(plain.run(1.3))
    for _ in held.run(1.3):
        pass
    assert held.last.other_mean[1] > 15.0 > abs(plain.last.other_mean[1])
    effects = Untold(lag=0.01, gyroscope=0.1, markers=(0.01, 0.0, 0.0))
    pairs = list(zip(readings, spoil(readings, effects), strict=True))
    joints = [(old, new) for old, new in pairs if isinstance(old, JointReading) and isinstance(new, JointReading)]
    np.testing.assert_allclose(joints[100][1].effort, joints[105][0].effort, atol=1e-9)  # 2 ms apart
    np.testing.assert_array_equal(joints[100][1].position, joints[100][0].position)
    imu = [(old, new) for old, new in pairs if isinstance(old, ImuReading) and isinstance(new, ImuReading)]
    np.testing.assert_allclose(imu[7][1].gyro, 1.1 * imu[7][0].gyro)
    poses = [(old, new) for old, new in pairs if isinstance(old, PoseReading) and isinstance(new, PoseReading)]
    np.testing.assert_array_equal(poses[0][0].position, poses[0][1].position)
    assert np.linalg.norm(poses[-1][1].position - poses[-1][0].position) == pytest.approx(0.01)


def test_untold_effects_are_drawn() -> None:
    for effect in UNTOLD:
        assert untold(effect, 3) == untold(effect, 3) != Untold()
        assert untold(effect, 3) != untold(effect, 4)


@pytest.mark.parametrize(
    ("effect", "named"),
    [
        (Untold(cable=(50.0, 50.0)), r"a cable or a spring from outside: (4\d|5\d) "),
        (Untold(swing=1.0), r"a load that swings: (0\.[6-9]\d*|1\.[0-4]\d*|1) "),
    ],
)
def test_untold_effect_is_named_with_its_size(effect: Untold, named: str) -> None:
    """A fifth of a spring's stiffness, two fifths of a mass, whose rate is one of six, are other unknowns' share."""
    world = World(untold=effect, duration=3.0)
    found = judge(world, walk(world, 11), 11, "batch")
    assert found["status"] == "DOUBTFUL"
    assert re.search(named, found["message"]), found["message"]
