# SPDX-License-Identifier: Apache-2.0
"""What acts on a robot, or is wrong with its sensors, is named with its size, though every residual is as its noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.models.rotations import quaternion_exp, quaternion_matrix, quaternion_product
from sysid_nodes.results.prime import PrimeEstimate, UntoldEffect
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.prime.config import TrustConfig
from sysid_nodes.sessions.prime.trust import UNTOLD, Trust
from sysid_nodes.signals.samples import Samples
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.scenario import PushConfig
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime import build_model, estimate_motion, untold
from sysid_nodes.systems.prime.directions import Direction, directions
from sysid_nodes.systems.prime.problem import build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory
from sysid_nodes.systems.prime.untold import untold_effect

Array = npt.NDArray[np.float64]
Spoil = Callable[[Samples], Array]

FORCE = (4.0, -5.0, 0.0)
"""From before the log until after its end [N]."""

TILT = np.array([0.02, -0.03, 0.0])
"""Of the IMU on its link [rad]."""


@cache
def log(*, pushed: bool = False) -> LeggedLog:
    push = PushConfig(start=0.5, duration=10.0, force=FORCE) if pushed else PushConfig()
    return simulate(LeggedSimulationConfig(push=push), 2.5, seed=41, skip=1.5)


def found(one: LeggedLog, spoilt: dict[str, Spoil] | None = None, **process: float) -> PrimeEstimate:
    """Estimate from a log with streams' readings replaced."""
    config = simulated_config()
    config = replace(config, process=replace(config.process, **process))
    samples = dict(one.steps.samples)
    for name, spoil in (spoilt or {}).items():
        samples[name] = replace(samples[name], values=spoil(samples[name]))
    return estimate_motion(build_model(one.robot, config), one.steps.times, samples)


def effect(estimate: PrimeEstimate) -> UntoldEffect:
    assert estimate.untold is not None
    return estimate.untold


def test_nothing() -> None:
    assert found(log()).untold is None


def test_steady_force() -> None:
    """Within a fifth of its larger part: mass and lean take a share."""
    one = effect(found(log(pushed=True)))
    assert (one.name, one.unit) == ("a steady force from outside", "N")
    assert one.size == pytest.approx(5.0, abs=1.0)


def test_force_that_turns_with_the_base() -> None:
    """Its columns are the base's axes at any heading, but for its lean; those of a steady force are the world's."""
    one = log()
    model = build_model(one.robot, simulated_config())
    q = one.q.copy()
    turn = quaternion_exp(np.linspace(0.0, 3.0, len(q))[:, None] * np.array([0.0, 0.0, 1.0]))
    q[:, 3:7] = quaternion_product(turn, q[:, 3:7])
    problem = build_problem(model, one.steps.samples, len(q), first_arrival(model, q[0]))
    point = Trajectory(q, np.zeros((len(q), len(one.robot.contacts), 3)), model.parameters.mean)
    found = {effect.name: effect.columns for effect in directions(problem, point)}
    with_base = found["a force from outside that turns with the base"]["dynamics"]
    lean = np.abs(with_base[:, :3] / with_base[:, :3].max() - np.eye(3)[:, :2]).max()
    assert lean < 0.3
    steady = found["a steady force from outside"]["dynamics"]
    assert np.abs(steady[:, 0, 0]).min() < 0.1 * np.abs(steady[:, 0, 0]).max()


def test_force_that_is_asked_for() -> None:
    """It is an unknown then, and nothing is left out."""
    assert found(log(pushed=True), outside_force=20.0, outside_moment=2.0).untold is None


def _turned(samples: Samples) -> Array:
    return np.asarray(samples.values @ quaternion_matrix(quaternion_exp(TILT[None]))[0])


def _tilted(samples: Samples) -> Array:
    turn = quaternion_exp(TILT[None])
    return np.asarray(quaternion_product(samples.values, np.broadcast_to(turn, samples.values.shape)))


def _moved(samples: Samples) -> Array:
    """Markers 15 mm to the left from the middle on."""
    out = samples.values.copy()
    after = samples.steps > samples.steps[-1] / 2
    out[after, :3] += 0.015 * quaternion_matrix(out[after, 3:])[:, :, 1]
    return out


def _beside(samples: Samples) -> Array:
    """Markers 15 mm ahead of where they are described."""
    out = samples.values.copy()
    out[:, :3] += 0.015 * quaternion_matrix(out[:, 3:])[:, :, 0]
    return out


def _leaning(samples: Samples) -> Array:
    """The motion capture's axes against gravity's."""
    turn, out = quaternion_exp(TILT[None]), samples.values.copy()
    out[:, :3] = out[:, :3] @ quaternion_matrix(turn)[0].T
    out[:, 3:] = quaternion_product(np.broadcast_to(turn, (len(out), 4)), out[:, 3:])
    return out


def _late(samples: Samples) -> Array:
    """What is read comes a step, 10 ms, before it acts."""
    return np.concatenate([samples.values[1:], samples.values[-1:]])


SPOILT: dict[str, tuple[dict[str, Spoil], str, float]] = {
    "gyroscope": ({"gyroscope": lambda one: 1.05 * one.values}, "a scale of the gyroscope", 0.05),
    "accelerometer": ({"accelerometer": lambda one: 0.95 * one.values}, "a scale of the accelerometer", 0.05),
    "mount": (
        {"gyroscope": _turned, "accelerometer": _turned, "imu_orientation": _tilted},
        "an IMU that is turned on its link",
        0.03,
    ),
    "vertical": ({"mocap_pose": _leaning}, "a motion capture whose vertical is not gravity's", 0.03),
    "markers": ({"mocap_pose": _moved}, "markers that moved on the robot", 0.015),
    "beside": ({"mocap_pose": _beside}, "markers beside where they are described", 0.015),
    "lag": ({"joint_torque": _late}, "drives that lag the torque that is read", 0.01),
}
"""Readings, what they are to be named, and its size."""


@pytest.mark.parametrize("case", SPOILT)
def test_spoilt_readings(case: str) -> None:
    """Sizes to a third: unknowns near the effect have taken a part of it, the nearer the shorter the log."""
    spoilt, name, size = SPOILT[case]
    one = effect(found(log(), spoilt))
    assert one.name == name
    assert one.size == pytest.approx(size, rel=0.35)


def test_doubtful_by_name() -> None:
    estimate = replace(found(log()), untold=UntoldEffect("a load that swings", 0.7, 0.05, "kg"))
    steps = log().steps
    trust = Trust(tuple(steps.samples), TrustConfig(lasting=0.0), 0.3)
    trust.note_used(steps)
    judged = trust.judge(estimate, [], "", float(steps.times[-1]))
    assert judged.status is PrimeStatus.DOUBTFUL
    assert [finding.kind for finding in judged.findings] == [UNTOLD]
    assert "a load that swings: 0.7 +- 0.05 kg" in judged.sentence


def verdict(monkeypatch: pytest.MonkeyPatch, size: float, sigma: float, square: float = 1.0) -> UntoldEffect | None:
    """Of one effect with a harmless size of 0.001, beside 100 residuals of a square each."""
    one = Direction("an effect", "s", 1e-3, {})
    sizes = [(one, np.array([size]), np.array([[sigma**2]]))]
    monkeypatch.setattr(untold, "effect_sizes", lambda *_: sizes)
    rows = Blocks(np.zeros(100, dtype=np.intp), np.full((100, 1), np.sqrt(square)), np.zeros((100, 1, 1)))
    problem: Any = None
    point: Any = None
    monkeypatch.setattr(untold, "directions", lambda *_: ())
    return untold_effect(problem, [rows], point)


def test_what_honest_logs_show_is_harmless(monkeypatch: pytest.MonkeyPatch) -> None:
    """However well it is known: two harmless sizes are none, five are."""
    assert verdict(monkeypatch, 2e-3, 1e-5) is None
    named = verdict(monkeypatch, -5e-3, 1e-5)
    assert named is not None and (named.name, named.size, named.unit) == ("an effect", 5e-3, "s")
    assert named.sigma == pytest.approx(np.hypot(1e-3, 0.25 * 5e-3), rel=1e-3)


def test_an_effect_that_explains_little_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten sigma are 100 of what 100 residuals have too many; 100 of 9900 are a trifle."""
    assert verdict(monkeypatch, 1e-2, 1e-3) is not None
    assert verdict(monkeypatch, 1e-2, 1e-3, square=100.0) is None


def test_robot_at_rest() -> None:
    """Its readings are noise, which a scale of the readings, not of what is predicted, would explain."""
    still = simulate(LeggedSimulationConfig(motion="stand"), 1.5, seed=42, skip=1.0)
    assert found(still).untold is None
