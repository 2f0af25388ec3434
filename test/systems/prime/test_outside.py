# SPDX-License-Identifier: Apache-2.0
"""A push on the base is found with its size, direction and sigma, as a whole log and by the moving horizon."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.models.rotations import quaternion_matrix
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.scenario import PushConfig
from sysid_nodes.systems.prime import HorizonConfig, MovingHorizon, PrimeConfig, build_model, estimate_motion

Array = npt.NDArray[np.float64]

PUSH = PushConfig(start=0.75, duration=0.3, force=(25.0, -40.0, 0.0))
"""Which a standing Go2 of 15 kg withstands."""


@pytest.fixture(scope="module")
def pushed() -> LeggedLog:
    return simulate(LeggedSimulationConfig(motion="stand", push=PUSH), 0.8, seed=2, skip=0.5)


def asking(force: float = 40.0) -> PrimeConfig:
    config = simulated_config()
    return replace(config, process=replace(config.process, outside_force=force, outside_moment=4.0))


def test_whole_log(pushed: LeggedLog) -> None:
    """Along the ground within a newton or two of the push while it lasts and of nothing before and after.

    Upwards it and the robot's weight are one unknown but for the prior, which the sigma knows.
    """
    found = estimate_motion(build_model(pushed.robot, asking()), pushed.steps.times, pushed.steps.samples)
    assert found.outside is not None
    assert np.isnan(found.outside.wrench[[0, -1]]).all()
    inner = slice(3, -3)
    force, off = world(found)[inner], error(found, pushed)[inner]
    during = true_push(pushed)[inner, 1] == PUSH.force[1]
    assert during.sum() > 20
    sigma = found.outside.sigma[inner, :3]
    assert force[during, :2].mean(axis=0) == pytest.approx(PUSH.force[:2], abs=2.0)
    assert np.abs(force[during, 2].mean()) < 2.0 * sigma[during, 2].mean()
    # By the stated noise, of which this simulation has less.
    assert 0.2 < np.sqrt(np.mean((off / sigma)[:, :2] ** 2)) < 1.5
    assert np.median(sigma[:, :2]) < 6.0
    assert np.mean(np.abs(found.outside.wrench[inner, 3:]) < 3.0 * found.outside.sigma[inner, 3:]) > 0.95


def test_moving_horizon(pushed: LeggedLog) -> None:
    horizon = MovingHorizon(build_model(pushed.robot, asking()), HorizonConfig(window=12))
    during = []
    for k in range(len(pushed.q)):
        samples = {name: entry.between(k, k + 1) for name, entry in pushed.steps.samples.items()}
        horizon.push(AlignedSteps(0, k, pushed.steps.times[k : k + 1], samples))
        estimate = horizon.step()
        if estimate is None:
            continue
        assert estimate.outside is not None
        if k > 20 and true_push(pushed)[k - 2, 1] == PUSH.force[1]:
            during.append((world(estimate)[-3], estimate.outside.sigma[-3, :3]))
    force, sigma = np.array(during).swapaxes(0, 1)
    assert force[:, :2].mean(axis=0) == pytest.approx(PUSH.force[:2], abs=3.0)
    assert np.all(np.isfinite(sigma))
    assert np.sqrt(np.mean(((force - PUSH.force) / sigma) ** 2)) < 2.0


def test_nobody_asked(pushed: LeggedLog) -> None:
    """And then a push is taken for something else, which the residuals of the dynamics show."""
    found = estimate_motion(build_model(pushed.robot, simulated_config()), pushed.steps.times, pushed.steps.samples)
    assert found.outside is None
    assert found.fit["dynamics"].rms > 2.0


def world(found: PrimeEstimate) -> Array:
    """(N, 3) force along the world's axes."""
    assert found.outside is not None
    return np.einsum("nij,nj->ni", quaternion_matrix(found.q[:, 3:7]), found.outside.wrench[:, :3])


def true_push(log: LeggedLog) -> Array:
    """(N, 3) the push at each stage, NaN near its ends."""
    t = log.steps.times - log.steps.times[0] + 0.5
    on = (t > PUSH.start + 0.01) & (t < PUSH.start + PUSH.duration - 0.01)
    off = (t < PUSH.start - 0.01) | (t > PUSH.start + PUSH.duration + 0.01)
    return np.where(on[:, None], PUSH.force, np.where(off[:, None], 0.0, np.nan))


def error(found: PrimeEstimate, log: LeggedLog) -> Array:
    """(N, 3) along the base's axes, at stages at which the push is known."""
    assert found.outside is not None
    truth = np.einsum("nji,nj->ni", quaternion_matrix(found.q[:, 3:7]), np.nan_to_num(true_push(log)))
    known = np.isfinite(true_push(log))
    return np.where(known, found.outside.wrench[:, :3] - truth, 0.0)
