# SPDX-License-Identifier: Apache-2.0
"""A moving window that nothing has seen the place of: in the air at first, or all along."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.data.config import from_flat
from sysid_nodes.results.prime import EstimateStatus, PrimeEstimate
from sysid_nodes.signals.samples import AlignedSteps, Samples
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.systems.prime import MovingHorizon, build_model
from sysid_nodes.systems.prime import moving_horizon as tested

HOP = 4


def follow(log: LeggedLog, seen: np.ndarray, tilt_sigma: float = 0.0) -> Iterator[tuple[int, PrimeEstimate]]:
    """Estimates of a log, every few steps, with the newest stage's number; `seen` says where the mocap has readings."""
    config = simulated_config()
    config = replace(config, contact=replace(config.contact, tilt_sigma=tilt_sigma))
    horizon = MovingHorizon(build_model(log.robot, config))
    mocap = log.steps.samples["mocap_pose"]
    kept = seen[mocap.steps]
    samples = {**log.steps.samples, "mocap_pose": Samples(mocap.steps[kept], mocap.values[kept], mocap.weights[kept])}
    for first in range(0, len(log.q), HOP):
        stop = min(first + HOP, len(log.q))
        part = {name: entry.between(first, stop) for name, entry in samples.items()}
        horizon.push(AlignedSteps(0, first, log.steps.times[first:stop], part))
        if (estimate := horizon.step()) is not None:
            yield stop - 1, estimate


def newest(log: LeggedLog, k: int, estimate: PrimeEstimate, axis: int) -> tuple[float, float]:
    """Error of the base's place at the newest stage along an axis of the world, and its standard deviation [m].

    The base hardly leans or turns: its axes are the world's.
    """
    return float(estimate.q[-1, axis] - log.q[k, axis]), float(np.sqrt(estimate.q_covariance[-1, axis, axis]))


def fall(seed: int) -> LeggedLog:
    """One of 64 mm; feet touch at stage 13."""
    flat = {"motion": "stand", "drop": 0.064, "load.mass": 3.0}
    return simulate(from_flat(LeggedSimulationConfig, flat), 0.6, seed=seed)


@pytest.fixture(scope="module")
def drop() -> LeggedLog:
    return fall(1)


@pytest.mark.parametrize("first", [13, 1000], ids=["seen from touchdown on", "never seen"])
def test_a_robot_in_the_air_is_waited_for(drop: LeggedLog, first: int) -> None:
    """Nothing tells how high it is before it has landed; put on the ground in the air it was 60 mm off, at 6 sigma."""
    found = list(follow(drop, np.arange(len(drop.q)) >= first))
    touch = int(np.argmax(drop.force[..., 2].sum(axis=1) > 5.0))
    assert found[0][0] >= touch + HOP
    for k, estimate in found:
        wrong, sigma = newest(drop, k, estimate, 2)
        assert estimate.status is not EstimateStatus.FAILED
        assert abs(wrong) < 4.0 * sigma
        assert abs(wrong) < 0.025  # the prior of the ground's height, 10 mm, and what a fall of 12 stages adds to it


def test_a_fall_is_followed_to_the_ground_that_no_pose_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seen to begin, not to end: the base seemed to stop in the air, on ground 50 mm too high, from there on."""
    drop = fall(2)

    def worst() -> float:
        stages = np.arange(len(drop.q))
        found = follow(drop, (stages < 6) | (stages > 40))
        return max(abs(newest(drop, k, estimate, 2)[0]) for k, estimate in found)

    assert worst() < 0.025  # of this one 12 mm
    for name in ("_ELSEWHERE", "_UNLIKELY"):  # either alone finds it
        monkeypatch.setattr(tested, name, np.inf)
    assert worst() > 0.05


def test_a_place_that_nothing_sees_stays_where_it_was_and_is_uncertain() -> None:
    """The world is where it began, to its prior's metre; feet carry it on, and poses move it when they come.

    Free in the windows the place went off by 0.35 m within a second, and its sigma fell to a fifth. A heading is not
    seen either: what counts is how far it has gone.
    """
    log = simulate(from_flat(LeggedSimulationConfig, {"motion": "trot", "load.mass": 3.0}), 1.8, seed=3, skip=0.5)
    since = 140
    found = list(follow(log, np.arange(len(log.q)) >= since, tilt_sigma=0.05))
    unseen = [(k, estimate) for k, estimate in found if k < since]
    first, begun = unseen[0][0], unseen[0][1].q[-1, :2]
    for k, estimate in unseen:
        way = np.linalg.norm(log.q[k, :2] - log.q[first, :2])
        assert abs(np.linalg.norm(estimate.q[-1, :2] - begun) - way) < 0.002 + 0.03 * way  # the drift's 2 %, and noise
        assert min(newest(log, k, estimate, axis)[1] for axis in (0, 1)) > 0.9
    for k, estimate in found:
        for axis in (0, 1) if k > since + 10 else ():
            wrong, sigma = newest(log, k, estimate, axis)
            assert sigma < 0.003
            assert abs(wrong) < 4.0 * sigma


def test_a_motion_begins_where_the_base_is_seen(drop: LeggedLog) -> None:
    """Encoders alone in the air: the base was 30 mm off, at 12 sigma, until IMU and poses came with the touchdown."""
    streams = ("gyroscope", "accelerometer", "imu_orientation", "mocap_pose")
    late = {name: drop.steps.samples[name] for name in streams}
    kept = {name: entry.steps >= 14 for name, entry in late.items()}
    cut = {name: Samples(s.steps[kept[name]], s.values[kept[name]], s.weights[kept[name]]) for name, s in late.items()}
    log = replace(drop, steps=replace(drop.steps, samples={**drop.steps.samples, **cut}))
    found = list(follow(log, np.ones(len(drop.q), dtype=bool)))
    assert found[0][1].t[0] >= drop.steps.times[14]
    for k, estimate in found:
        wrong, sigma = newest(drop, k, estimate, 2)
        assert abs(wrong) < 4.0 * sigma
