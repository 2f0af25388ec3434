# SPDX-License-Identifier: Apache-2.0
"""Samples that are lost: a window whose errors do not stand for it is left out, and no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from shared.recorded import problem

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.signals.windows import INCOMPLETE
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig
from sysid_nodes.systems.interval.missing_samples import MISSING, RESTAMPED, MissingSamples
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

ONE = np.ones(1)
PROBLEM = problem()


def noise(**fields: object) -> Noise:
    return Noise.from_config(NoiseConfig(**fields), 1, ONE)  # type: ignore[arg-type]


def left_out(t: np.ndarray, stated: Noise, count: int = 4) -> list[bool]:
    """Of windows of equal numbers of steps, whether they come at once, as in a block, or one by one, as from a node."""
    column = np.zeros((len(t), 1))
    ends = np.linspace(0, len(t) - 1, count + 1).astype(np.intp)
    edges = np.stack([ends[:-1], ends[1:]], axis=1)
    samples, none = JointSamples(("a",), t, column, column, column), np.zeros(count, dtype=bool)
    at_once = MissingSamples().violations(samples, edges, stated).get(MISSING, none)
    live = MissingSamples()
    one_by_one = [live.violations(samples, edge, stated).get(MISSING, none)[0] for edge in edges[:, None]]
    assert list(at_once) == one_by_one
    return one_by_one


@pytest.mark.parametrize(
    ("stated", "one", "two"),
    [
        (noise(), False, False),
        (noise(torque_interpolation="hold"), True, True),
        (noise(torque_interpolation="until"), True, True),
        (noise(jerk=(20.0,)), True, True),
        (noise(torque_curvature=(1e3,)), True, True),
        (noise(model="window"), False, True),
    ],
    ids=["linear", "hold", "until", "jerk", "curvature", "window"],
)
def test_a_window_that_lacks_samples_is_left_out_where_its_errors_do_not_stand_for_it(
    stated: Noise, one: bool, two: bool
) -> None:
    t = 0.002 * np.arange(203)
    assert left_out(np.delete(t, 60), stated) == [False, one, False, False]
    assert left_out(np.delete(t, [60, 61]), stated) == [False, two, False, False]


def test_every_second_sample_missing_shows_against_the_windows_before() -> None:
    t = 0.002 * np.concatenate([np.arange(51), 52 + 2 * np.arange(50)])
    assert left_out(t, noise(torque_interpolation="until"), 2) == [False, True]


def test_stamps_that_jitter_by_a_quarter_of_a_period_cost_nothing() -> None:
    rng = np.random.default_rng(3)
    t = 0.002 * (np.arange(401) + rng.uniform(-0.25, 0.25, 401))
    assert not any(left_out(t, noise(torque_interpolation="until")))


@pytest.mark.parametrize("lost", [[120], [120, 121, 122]], ids=["one", "three"])
@pytest.mark.parametrize("interpolation", ["hold", "until"])
def test_live_and_replay_leave_out_the_same_window(interpolation: str, lost: list[int]) -> None:
    config = replace(IntervalIdentifierConfig(), noise=NoiseConfig(torque_interpolation=interpolation))
    samples = PROBLEM.samples(10.0 + np.arange(226) / 500.0)
    live, replayed = (IntervalPipeline(PROBLEM.robot, config) for _ in range(2))
    kept = np.delete(np.arange(226), lost)
    for k in kept:
        live.push(samples.names, float(samples.t[k]), samples.q[k], samples.qd[k], samples.tau[k])
    whole = JointSamples(samples.names, *(column[kept] for column in (samples.t, samples.q, samples.qd, samples.tau)))
    replayed.identify(whole)
    expected = {MISSING: 50 - len(lost), INCOMPLETE: 25}
    assert live.finish().samples_rejected == replayed.samples_rejected == expected
    assert live.result.samples_used == replayed.result.samples_used == 151


@pytest.mark.parametrize(
    ("fields", "rejected"),
    [
        ({}, {}),
        ({"model": "window"}, {MISSING: 29}),
        ({"torque_interpolation": "until"}, {MISSING: 29}),
    ],
)
def test_a_loss_that_was_reported_ends_the_window_in_progress(fields: dict[str, str], rejected: dict[str, int]) -> None:
    config = replace(IntervalIdentifierConfig(), noise=NoiseConfig(**fields))  # type: ignore[arg-type]
    samples = PROBLEM.samples(10.0 + np.arange(226) / 500.0)
    pipeline = IntervalPipeline(PROBLEM.robot, config)
    push = partial(pipeline.push, samples.names)
    for k in range(226):
        if k == 80:
            pipeline.interrupt()
        push(float(samples.t[k]), samples.q[k], samples.qd[k], samples.tau[k])
    assert pipeline.samples_rejected == rejected


@pytest.mark.parametrize(
    ("fields", "used"), [({}, 4), ({"torque_interpolation": "until"}, 3), ({"model": "window"}, 4)]
)
def test_nor_does_a_calibration_take_it_for_granted(fields: dict[str, str], used: int) -> None:
    """With model window it does: what a step too long adds is part of the residuals."""
    config = IntervalIdentifierConfig(noise=NoiseConfig(**fields))  # type: ignore[arg-type]
    whole, kept = PROBLEM.samples(10.0 + np.arange(226) / 500.0), np.delete(np.arange(226), [120, 121, 122])
    columns = (column[kept] for column in (whole.t, whole.q, whole.qd, whole.tau))
    unknowns = IntervalPipeline(PROBLEM.robot, config).unknowns
    rows = run_rows(PROBLEM.robot, config, Run(JointSamples(whole.names, *columns), 0.0, "run"), unknowns, least=1)
    assert len(rows.coefficients) == used


def restamped_windows(change: Callable[[JointSamples], JointSamples]) -> list[bool]:
    """Of four windows of .1 s of an arm in motion, as they come live; their errors are bounded together."""
    samples = change(PROBLEM.samples(10.0 + np.arange(204) / 500.0))
    ends = np.linspace(0, 200, 5).astype(np.intp)
    live, stated = MissingSamples(), noise(model="window")
    edges = np.stack([ends[:-1], ends[1:]], axis=1)
    return [bool(live.violations(samples, edge, stated)[RESTAMPED][0]) for edge in edges[:, None]]


def without(samples: JointSamples, lost: list[int], *, even: bool = True) -> JointSamples:
    """Without some samples, and stamps as if there had been none."""
    kept = np.delete(np.arange(len(samples)), lost)
    t = samples.t[: len(kept)] if even else samples.t[kept]
    return JointSamples(samples.names, t, samples.q[kept], samples.qd[kept], samples.tau[kept])


@pytest.mark.parametrize("lost", [[75], [75, 76, 77]], ids=["one", "three"])
def test_samples_that_are_lost_under_even_stamps_show_in_how_far_joints_went(lost: list[int]) -> None:
    assert restamped_windows(lambda samples: without(samples, lost)) == [False, True, False, False]


def late_stamp(samples: JointSamples) -> JointSamples:
    """One stamp that is three quarters of a step late, as of a driver that was held up."""
    return replace(samples, t=samples.t + np.where(np.arange(len(samples)) == 75, -0.0015, 0.0))


def loose_velocities(samples: JointSamples) -> JointSamples:
    """Velocities that are off by up to two thirds, as of a coarse encoder: then single steps tell nothing."""
    return replace(samples, qd=samples.qd * np.random.default_rng(4).uniform(0.33, 1.0, (len(samples), 1)))


@pytest.mark.parametrize(
    "change",
    [lambda samples: samples, lambda samples: without(samples, [75], even=False), late_stamp, loose_velocities],
    ids=["whole", "stamped", "late", "loose"],
)
def test_what_only_looks_like_it_is_not_taken_for_it(change: Callable[[JointSamples], JointSamples]) -> None:
    assert not any(restamped_windows(change))
