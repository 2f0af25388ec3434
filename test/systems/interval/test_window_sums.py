# SPDX-License-Identifier: Apache-2.0
"""Rows over several windows: those of one window that is so much longer, and the same for a stream as for a block."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.bare_arm import UR10, bare_arm, unloaded_run

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.systems.interval.calibration_runs import run_rows
from sysid_nodes.systems.interval.momentum_rows import CAUSES, TORQUE_ABSOLUTE, MomentumRows, join, select
from sysid_nodes.systems.interval.unknowns import identify_payload
from sysid_nodes.systems.interval.window_sums import WindowSums, neighbours, sum_up

SHARE = np.linspace(0.4, 0.9, 6)


@pytest.fixture(scope="module")
def rows() -> tuple[MomentumRows, MomentumRows]:
    """Of 64 windows of a quarter of a second, and of a second each."""
    arm = bare_arm(np.random.default_rng(0), UR10)
    run = unloaded_run(arm, np.random.default_rng(1))
    centre, radius = known_box(arm.robot, UR10.known_robot)
    unknowns = identify_payload(6, 5, centre, radius, Bounds(np.zeros(10), np.zeros(10)))
    longer = replace(UR10, window=replace(UR10.window, duration=1.0))
    return (run_rows(arm.robot, UR10, run, unknowns), run_rows(arm.robot, longer, run, unknowns, least=1))


def test_a_sum_is_the_row_of_a_longer_window(rows: tuple[MomentumRows, MomentumRows]) -> None:
    short, long = rows
    sums = sum_up(short, neighbours(short.t, 4)[0], np.ones(6))
    np.testing.assert_allclose(sums.t, long.t[: len(sums.t)], atol=1e-9)
    np.testing.assert_allclose(sums.coefficients, long.coefficients[: len(sums.t)], rtol=1e-6, atol=1e-9)


def test_only_the_absolute_torque_error_averages_out(rows: tuple[MomentumRows, MomentumRows]) -> None:
    short, _ = rows
    own = CAUSES.index(TORQUE_ABSOLUTE)
    noisy = join(short, short).radius  # a copy
    noisy[:, :, own] = 0.7
    short = MomentumRows(short.t, short.coefficients, noisy[: len(short.t)], short.body_radius, short.about)
    sums = sum_up(short, np.array([[2, 3, 4, 5]]), SHARE)
    np.testing.assert_allclose(sums.radius[0, :, own], 4 * 0.7 * SHARE)
    other = np.arange(len(CAUSES)) != own
    np.testing.assert_allclose(sums.radius[0][:, other], short.radius[2:6].sum(axis=0)[:, other])
    assert short.radius[:, :, other].max() > 0.0


def test_windows_on_both_sides_of_a_gap_are_no_neighbours() -> None:
    t = np.array([[0.0, 1.0], [1.0, 2.0], [2.0, 3.0], [3.5, 4.5], [4.5, 5.5], [5.5, 6.5], [6.5, 7.5]])
    blocks, rest = neighbours(t, 2)
    assert blocks.tolist() == [[0, 1], [3, 4], [5, 6]]
    assert rest == 7
    blocks, rest = neighbours(t, 3, overlapping=True)
    assert blocks.tolist() == [[0, 1, 2], [3, 4, 5], [4, 5, 6]]
    assert rest == 5


def test_a_stream_makes_the_sums_of_a_block(rows: tuple[MomentumRows, MomentumRows]) -> None:
    short = select(rows[0], np.r_[0:9, 10:30])  # a window is missing
    ids = np.arange(len(short.t), dtype=np.int64) + 7
    block, names = WindowSums({4: SHARE, 8: 0.5 * SHARE}).step(short, ids)
    assert len(block.t) == len(short.t) + (2 + 5) + (1 + 2)
    assert (np.diff(block.t[:, 1]) >= 0.0).all()
    stream = WindowSums({4: SHARE, 8: 0.5 * SHARE})
    parts = [stream.step(select(short, slice(k, k + 1)), ids[k : k + 1]) for k in range(len(short.t))]
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), names)
    for name in ("t", "coefficients", "radius"):
        np.testing.assert_array_equal(np.concatenate([getattr(part[0], name) for part in parts]), getattr(block, name))
    last = {float(end): k for end, k in zip(short.t[:, 1], ids, strict=True)}
    assert [last[float(end)] for end in block.t[:, 1]] == names.tolist()
