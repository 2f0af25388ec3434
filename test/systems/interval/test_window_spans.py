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
from sysid_nodes.signals.windows import cut
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, SetMembershipConfig, WindowConfig
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.window_spans import WindowSpans

KNOWN = KnownRobotConfig()
SPANS = SetMembershipConfig(spans=3)


def numbered(count: int, start: float = 0.0) -> JointSamples:
    values = start + np.arange(count, dtype=np.float64)
    return JointSamples(("a",), values, values[:, None], values[:, None], values[:, None])


def stamps(found: tuple[JointSamples, np.ndarray, np.ndarray]) -> list[tuple[float, float, int]]:
    samples, spans, owner = found
    return [(float(samples.t[a]), float(samples.t[b]), int(k)) for (a, b), k in zip(spans.tolist(), owner, strict=True)]


def test_stretches_end_with_each_window_and_do_not_cross_gaps() -> None:
    edges = np.array([[0, 2], [2, 4], [4, 6], [6, 8], [9, 11], [11, 13]])
    found = stamps(WindowSpans(3).ending_with(numbered(14), edges))
    assert found == [(0, 4, 1), (2, 6, 2), (0, 6, 2), (4, 8, 3), (2, 8, 3), (9, 13, 5)]
    assert stamps(WindowSpans(1).ending_with(numbered(14), edges)) == []


@given(st.lists(st.integers(1, 4), min_size=1, max_size=6), st.integers(1, 4), st.integers(0, 23))
def test_a_stream_has_the_stretches_of_a_block(sizes: list[int], most: int, lost: int) -> None:
    """However many windows come at a time, and also after one that was not used."""
    windows = [k for k in range(sum(sizes)) if k != lost]
    all_edges = np.array([[2 * k, 2 * k + 2] for k in windows], dtype=np.intp).reshape(-1, 2)
    samples = numbered(2 * sum(sizes) + 1)
    whole = {span[:2] for span in stamps(WindowSpans(most).ending_with(samples, all_edges))}
    spans, seen, begin = WindowSpans(most), set[tuple[float, float]](), 0
    for size in sizes:
        part = samples.slice(2 * begin, 2 * (begin + size) + 1)
        own = [[2 * (k - begin), 2 * (k - begin) + 2] for k in windows if begin <= k < begin + size]
        edges = np.array(own, dtype=np.intp).reshape(-1, 2)
        seen |= {span[:2] for span in stamps(spans.ending_with(part, edges))}
        spans.keep(part, edges)
        begin += size
    assert seen == whole


def test_nothing_is_joined_over_a_gap_or_after_other_bounds() -> None:
    edge = np.array([[0, 2]])
    for start, forget, count in ((2.0, False, 1), (2.5, False, 0), (2.0, True, 0)):
        spans = WindowSpans(2)
        spans.keep(numbered(3), edge)
        if forget:
            spans.forget()
        assert len(stamps(spans.ending_with(numbered(3, start), edge))) == count


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
    alone = IntervalPipeline(found.robot, config).identify(samples)
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
    assert len(at_once) == 3 * len({end for _, end in at_once}) - 3
    assert at_once.keys() == one_by_one.keys()
    for t, row in at_once.items():
        np.testing.assert_allclose(one_by_one[t], row, rtol=0.0, atol=1e-9)  # sums start elsewhere


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_stretches_hold_the_truth_at_the_edge_of_the_stated_errors(seed: int) -> None:
    found, config, samples = make(seed, Errors(), duration=0.8)
    config = replace(config, window=WindowConfig(duration=0.05), set_membership=SetMembershipConfig(spans=4))
    result = IntervalPipeline(found.robot, config).identify(samples)
    assert result.status in (Status.PROVEN, Status.NOT_EXCITED)
    assert (result.lower <= found.theta).all() and (found.theta <= result.upper).all()


def test_what_only_a_stretch_contradicts_costs_its_last_window(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A velocity that is off by little adds up to what an encoder shows over several windows alone."""
    found, config, samples = setting
    pipeline = IntervalPipeline(found.robot, replace(config, set_membership=SPANS))
    whole = RowBuilder.violations

    def violations(self: RowBuilder, samples: JointSamples, edges: np.ndarray) -> dict[str, np.ndarray]:
        result = dict(whole(self, samples, edges))
        if self is pipeline._span_builder:
            result["velocity at odds with position"] = samples.t[edges[:, 1]] == samples.t[edges[0, 1]]
        return result

    monkeypatch.setattr(RowBuilder, "violations", violations)
    result = pipeline.identify(samples)
    edges, _ = cut(samples, config.window.duration, config.window.max_gap)
    assert result.samples_rejected["velocity at odds with position"] == edges[1, 1] - edges[1, 0]
    assert result.samples_used + sum(result.samples_rejected.values()) == len(samples)


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
