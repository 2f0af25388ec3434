# SPDX-License-Identifier: Apache-2.0
"""When in a step a robot lands is not known, nor are its height and the feet's forces to better than that."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from shared.legged_log import LeggedLog, simulate

from sysid_nodes.data.config import from_flat
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.signals.samples import AlignedSteps, Samples
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.systems.prime import HorizonConfig, MovingHorizon, PrimeConfig, build_model, estimate_motion
from sysid_nodes.systems.prime import estimate as estimates
from sysid_nodes.systems.prime import window_covariances as windows
from sysid_nodes.systems.prime.landings import landing_variances

HOP = 8


@cache
def fall(drop: float = 0.1, seed: int = 3) -> LeggedLog:
    """One of 0.1 m onto hard ground, in a simulation of half a millisecond; feet touch at stage 14."""
    flat = {"motion": "stand", "drop": drop, "load.mass": 2.5, "ground.time_constant": 0.0075, "timestep": 5e-4}
    return simulate(from_flat(LeggedSimulationConfig, flat), 0.6, seed=seed, estimator=PrimeConfig())


def blind(log: LeggedLog, first: int) -> dict[str, Samples]:
    """Readings without motion capture from a stage on."""
    mocap = log.steps.samples["mocap_pose"]
    kept = mocap.steps < first
    return {**log.steps.samples, "mocap_pose": Samples(mocap.steps[kept], mocap.values[kept], mocap.weights[kept])}


def follow(
    log: LeggedLog, samples: dict[str, Samples], hop: int = HOP, window: int = 30
) -> tuple[MovingHorizon, list[PrimeEstimate]]:
    horizon = MovingHorizon(build_model(log.robot, PrimeConfig()), HorizonConfig(window=window, covered=hop + 2))
    found = []
    for first in range(0, len(log.q), hop):
        stop = min(first + hop, len(log.q))
        part = {name: entry.between(first, stop) for name, entry in samples.items()}
        horizon.push(AlignedSteps(0, first, log.steps.times[first:stop], part))
        if (estimate := horizon.step()) is not None:
            found.append(estimate)
    return horizon, found


def test_a_height_after_a_fall_that_no_pose_saw_the_end_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The ground seems too high by most of what the feet come down in a step, 14 mm, for as long as no pose comes."""
    log = fall()

    def worst() -> float:
        last = [estimate for estimate in follow(log, blind(log, 6))[1] if estimate.t[-1] - log.steps.times[0] > 0.25]
        at = [round((estimate.t[-2] - log.steps.times[0]) / 0.01) for estimate in last]
        pairs = zip(at, last, strict=True)
        return max(abs(e.q[-2, 2] - log.q[k, 2]) / float(np.sqrt(e.q_covariance[-2, 2, 2])) for k, e in pairs)

    assert worst() < 2.5
    monkeypatch.setattr(windows, "landing_variances", lambda _, point: np.zeros(point.w.shape[:2]))
    assert worst() > 3.0


def test_a_landing_whose_flight_has_left_the_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """With short steps of the window it leaves before the landing does, which counts as one all the same."""
    log = fall()

    def last_sigma() -> float:
        return float(np.sqrt(follow(log, blind(log, 6), hop=2, window=20)[1][-1].q_covariance[-2, 2, 2]))

    remembered = last_sigma()
    monkeypatch.setattr(windows.WindowCovariances, "_remember_landings", lambda _, landings, __: landings)
    assert last_sigma() < 0.8 * remembered


def test_what_a_foot_comes_down_in_a_step() -> None:
    """Uniform over the step, for four feet at once: n d^2 / 3; nothing where the robot stands, or hangs in the air."""
    log = fall()
    last = follow(log, dict(log.steps.samples))[0]._last
    assert last is not None
    problem, point = last.problem, last.result.point
    first = len(log.q) - len(point.q)
    found = landing_variances(problem, point)
    assert first > 14
    assert not found.any()
    (touch,) = np.flatnonzero(np.diff((log.force[..., 2] > 5.0).any(axis=1)))[:1] + 1
    q, w = np.resize(point.q, point.q.shape), point.w.copy()
    q[:] = log.q[touch - 10 : touch - 10 + len(q)]
    w[:10, :, 0], w[10:, :, 0] = 1.0, -1.0  # in the air, and on the ground
    found = landing_variances(problem, type(point)(q, w, point.theta))
    down = (q[9, 2] - q[10, 2]) / 2e-3
    np.testing.assert_allclose(found[10], 4.0 * down**2 / 3.0, rtol=0.05)  # feet go with the base but for the legs
    assert np.flatnonzero(found.any(axis=1)).tolist() == [10]


def test_force_of_a_foot_that_touches_at_the_end_of_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is up at the stage, and bears 3 N on its average: that was a hundred sigmas."""
    log = fall(0.103)

    def worst() -> float:
        found = estimate_motion(build_model(log.robot, PrimeConfig()), log.steps.times, log.steps.samples).contacts
        return float(np.nanmax(np.abs((found.force - log.force) / found.force_sigma)[3:-3]))

    assert worst() < 5.0
    monkeypatch.setattr(estimates, "touching_force", lambda *_: 0.0)
    assert worst() > 20.0


def test_more_stages_than_usual_at_once() -> None:
    """As where a stream that was waited for falls silent: all of them get covariances."""
    log = fall()
    horizon = MovingHorizon(build_model(log.robot, PrimeConfig()), HorizonConfig(covered=HOP + 2))
    for first, stop in ((0, 16), (16, 24), (24, 32), (32, 46)):
        part = {name: entry.between(first, stop) for name, entry in log.steps.samples.items()}
        horizon.push(AlignedSteps(0, first, log.steps.times[first:stop], part))
        found = horizon.step()
    assert found is not None
    assert np.isfinite(found.q_covariance[-16:]).all()
