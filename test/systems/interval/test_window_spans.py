# SPDX-License-Identifier: Apache-2.0
"""Stretches of windows: the right ones, the same from a stream as from a block, true, and worth their time."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from shared.noisy_payload import Errors, configuration, measure, problem
from shared.payload_problem import Problem

from sysid_nodes.data import JointSamples
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.results import Status
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, SetMembershipConfig, WindowConfig
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.window_spans import WindowSpans

KNOWN = KnownRobotConfig()
ALONE, SPANS = SetMembershipConfig(spans=1), SetMembershipConfig(spans=4)


def numbered(count: int, start: float = 0.0) -> JointSamples:
    values = start + np.arange(count, dtype=np.float64)
    return JointSamples(("a",), values, values[:, None], values[:, None], values[:, None])


def test_rows_are_over_one_window_and_its_doubles() -> None:
    assert [WindowSpans(most).lengths for most in (1, 2, 3, 4, 8)] == [(1,), (1, 2), (1, 2), (1, 2, 4), (1, 2, 4, 8)]


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(2, 8), st.integers(0, 23))
def test_a_stream_has_the_windows_before_it_that_a_block_has(sizes: list[int], most: int, lost: int) -> None:
    """However many windows come at a time, and also after one that was not used."""
    samples, begin = numbered(2 * sum(sizes) + 1), 0
    spans = WindowSpans(most)
    for size in sizes:
        part = samples.slice(2 * begin, 2 * (begin + size) + 1)
        new = [k for k in range(begin, begin + size) if k != lost]
        edges = np.array([[2 * (k - begin), 2 * (k - begin) + 2] for k in new], dtype=np.intp).reshape(-1, 2)
        joined, found, before = spans.join(part, edges)
        spans.keep(joined, found)
        stamps = joined.t[found].tolist()
        assert stamps[before:] == [[2.0 * k, 2.0 * k + 2.0] for k in new]
        if new and new[0] > 0 and new[0] - 1 != lost:
            first = max(new[0] - spans.lengths[-1] + 1, 0)
            needed = [k for k in range(first, new[0]) if not first <= lost < new[0] or k > lost]
            assert stamps[before - len(needed) : before] == [[2.0 * k, 2.0 * k + 2.0] for k in needed]
        else:
            assert before == 0
        begin += size


def test_nothing_is_joined_over_a_gap_or_after_other_bounds() -> None:
    edge = np.array([[0, 2]])
    for start, forget, count in ((2.0, False, 1), (2.5, False, 0), (2.0, True, 0)):
        spans = WindowSpans(2)
        spans.keep(numbered(3), edge)
        if forget:
            spans.forget()
        assert spans.join(numbered(3, start), edge)[2] == count


Setting = tuple[Problem, IntervalIdentifierConfig, JointSamples]


def make(seed: int, errors: Errors, duration: float = 2.0) -> Setting:
    rng = np.random.default_rng(seed)
    found = problem(rng, KNOWN)
    return found, configuration(found, KNOWN, errors), measure(found, rng, errors, duration=duration)


@pytest.fixture(scope="module")
def setting() -> Setting:
    return make(0, Errors())


def test_rows_over_stretches_narrow_and_hold_the_truth() -> None:
    found, config, samples = make(0, Errors(velocity=1e-4))
    config = replace(config, window=WindowConfig(duration=0.05))
    alone = IntervalPipeline(found.robot, replace(config, set_membership=ALONE)).identify(samples)
    spans = IntervalPipeline(found.robot, replace(config, set_membership=SPANS)).identify(samples)
    assert alone.status is spans.status is Status.PROVEN
    narrower = (spans.upper - spans.lower) / (alone.upper - alone.lower)
    assert np.exp(np.log(narrower).mean()) < 0.97
    assert (spans.lower <= found.theta).all() and (found.theta <= spans.upper).all()
    assert (spans.window, spans.samples_used) == (alone.window, alone.samples_used)
    assert spans.samples_rejected == alone.samples_rejected


def test_a_stream_takes_the_rows_of_a_block(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    found, config, samples = setting
    config = replace(config, set_membership=SPANS)
    taken: list[MomentumRows] = []
    block, stream = (IntervalPipeline(found.robot, config) for _ in range(2))
    for pipeline in (block, stream):
        step = pipeline._method.step
        monkeypatch.setattr(
            pipeline._method, "step", lambda rows, *rest, _step=step: taken.append(rows) or _step(rows, *rest)
        )
    block.identify(samples)
    for k in range(len(samples)):
        stream.push(samples.names, samples.t[k], samples.q[k], samples.qd[k], samples.tau[k])
    at_once = {tuple(t): row for t, row in zip(taken[0].t.tolist(), taken[0].coefficients, strict=True)}
    one_by_one = {
        tuple(t): row for rows in taken[1:] for t, row in zip(rows.t.tolist(), rows.coefficients, strict=True)
    }
    assert len(at_once) == 3 * len({end for _, end in at_once}) - 4  # over 1, 2 and 4 windows
    assert at_once.keys() == one_by_one.keys()
    for t, row in at_once.items():
        np.testing.assert_allclose(one_by_one[t], row, rtol=0.0, atol=1e-9)  # sums start elsewhere


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_stretches_hold_the_truth_at_the_edge_of_the_stated_errors(seed: int) -> None:
    found, config, samples = make(seed, Errors(), duration=0.8)
    config = replace(config, window=WindowConfig(duration=0.05), set_membership=SetMembershipConfig(spans=8))
    result = IntervalPipeline(found.robot, config).identify(samples)
    assert result.status in (Status.PROVEN, Status.NOT_EXCITED)
    assert (result.lower <= found.theta).all() and (found.theta <= result.upper).all()


def test_bounds_changed_live_hold_for_no_sample_before(setting: Setting) -> None:
    found, config, samples = setting
    config = replace(config, set_membership=SPANS)
    pipeline = IntervalPipeline(found.robot, config)
    half = len(samples) // 2
    for k in range(len(samples)):
        if k == half:
            assert pipeline._spans._tail is not None
            pipeline.reconfigure(replace(config, noise=replace(config.noise, torque_absolute=(1.0,))))
            assert pipeline._spans._tail is None
        pipeline.push(samples.names, samples.t[k], samples.q[k], samples.qd[k], samples.tau[k])
    result = pipeline.finish()
    assert (result.lower <= found.theta).all() and (found.theta <= result.upper).all()
