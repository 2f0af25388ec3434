# SPDX-License-Identifier: Apache-2.0
"""What a log shows of its readings that was not stated is named, with the option to set; nothing of honest logs."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from benchmarks.bayesian_log import CONFIG, leg, leg_log, leg_run
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.systems.bayesian import MechanismLog, conclusion, identify
from sysid_nodes.systems.bayesian.config import HUBER, SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.descent import Fitted, fit
from sysid_nodes.systems.bayesian.mechanism import build_mechanism
from sysid_nodes.systems.bayesian.suspicions import late_torques, uneven_noise

LATE = 3  # stages of 10 ms
USED = replace(CONFIG, held_out=0.0, search=SearchConfig(starts=1), verdict=VerdictConfig(samples=400))


@cache
def read(seed: int = 1) -> MechanismLog:
    return leg_log(leg_run(seed, 2.0)[1])


def late(log: MechanismLog, stages: int) -> MechanismLog:
    """With torques that come later."""
    torque = np.full_like(log.torque, np.nan)
    torque[stages:] = log.torque[: len(torque) - stages]
    return replace(log, torque=torque)


def fitted(log: MechanismLog) -> Fitted:
    return fit(build_mechanism(leg(), USED, power=True), log, USED, None)


def test_late_torques_are_named() -> None:
    """Of what is late a fit that takes it for prompt bends part into the motion: what is left is less than 30 ms."""
    assert "torques are later than positions at 'crank_motor' (" in late_torques(fitted(late(read(), LATE)))


@pytest.mark.parametrize("seed", [1, 2])
def test_prompt_torques_are_not(seed: int) -> None:
    assert late_torques(fitted(read(seed))) == ""


def with_bad_positions(size: float) -> MechanismLog:
    """Of every thirtieth reading of the hip, off by so many sigmas."""
    log = read()
    position = log.position.copy()
    position[7::30, 0] += size * log.jitter[0]
    return replace(log, position=position)


@pytest.mark.parametrize(
    ("size", "loss", "said"), [(100.0, "gaussian", True), (0.0, "gaussian", False), (100.0, HUBER, False)]
)
def test_positions_that_are_off_by_more_than_most_are_named(size: float, loss: str, said: bool) -> None:
    one = fitted(read())
    one = replace(one, problem=replace(one.problem, log=with_bad_positions(size)))
    words = uneven_noise(one, replace(USED, noise=replace(USED.noise, loss=loss)))
    assert ("off by far more than most at 'hip'" in words) is said


def test_a_contradiction_says_what_may_be_behind_it() -> None:
    """In its first line; a torque turned round contradicts whatever positions are like."""
    log = with_bad_positions(100.0)
    result = identify(replace(log, torque=log.torque * [1.0, -1.0]), leg(), USED)
    assert result.status is BayesianStatus.CONTRADICTED
    assert "bayesian.noise.loss huber" in result.message


def test_a_search_that_ends_nowhere_is_no_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    """Constants are the prior's then, which explain next to nothing of a torque that is turned round."""
    exact = conclusion.linear_model
    monkeypatch.setattr(conclusion, "linear_model", lambda problem, at: replace(exact(problem, at), factor=None))
    result = identify(replace(read(), torque=read().torque * [1.0, -1.0]), leg(), USED)
    assert result.status is BayesianStatus.STALLED
    assert "try another bayesian.step" in result.message
