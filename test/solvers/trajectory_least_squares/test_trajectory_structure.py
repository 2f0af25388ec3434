# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.linear_trajectory import dense, random_blocks, random_groups
from shared.trajectory_smoother import smooth

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.solvers.trajectory_least_squares.band import Band
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.normal_equations import assemble
from sysid_nodes.solvers.trajectory_least_squares.posterior import posterior
from sysid_nodes.solvers.trajectory_least_squares.problem import Blocks, Layout
from sysid_nodes.solvers.trajectory_least_squares.windows import windows

LAYOUT = Layout(6, 2, 3, 2)


def test_the_band_is_lapacks() -> None:
    layout = Layout(5, 3)
    groups = random_groups(np.random.default_rng(0), layout, 2)
    band = assemble(groups, layout).band.copy()
    band.clear_upper()
    rows, _ = dense(groups, layout)
    hessian = rows.T @ rows
    lower = band.lapack
    assert lower.flags.f_contiguous
    for offset in range(lower.shape[0]):
        for j in range(15):
            expected = hessian[j + offset, j] if j + offset < 15 else 0.0
            assert lower[offset, j] == pytest.approx(expected, abs=1e-12)


def test_the_band_does_not_grow_with_the_trajectory() -> None:
    """Work of the factorisation is N (W n)^2, storage N (W n + 1): linear in the number of stages."""
    sizes = []
    for stages in (10, 20, 40):
        layout = Layout(stages, 3, 2, 2)
        factor = factorise(assemble(random_groups(np.random.default_rng(0), layout, 3), layout), 0.0)
        assert factor is not None
        assert factor.band.reach == 9
        sizes.append(factor.band.storage.size + factor.border.size)
    assert sizes[1] == 2 * sizes[0]
    assert sizes[2] == 2 * sizes[1]


@pytest.mark.parametrize("part", ["step", "posterior", "smooth"])
def test_memory_is_linear_in_the_trajectory(part: str) -> None:
    peaks = []
    for stages in (100, 200, 300):
        layout = Layout(stages, 4, 3, 2)
        groups = random_groups(np.random.default_rng(0), layout, 3)
        tracemalloc.start()
        if part == "smooth":
            assert smooth(groups, layout) is not None
        else:
            equations = assemble(groups, layout)
            factor = factorise(equations, 0.0)
            assert factor is not None
            factor.step()
            if part == "posterior":
                assert posterior(equations) is not None
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Affine but for the allocator's and the products' fixed pieces; a quadratic term would show as a ratio of 5 / 3.
    assert (peaks[2] - peaks[1]) / (peaks[1] - peaks[0]) == pytest.approx(1.0, abs=0.3)


def test_local_variables_widen_the_window_to_all_that_their_owner_touches() -> None:
    rng = np.random.default_rng(0)
    groups = [
        random_blocks(rng, LAYOUT, [1], 1, 2, local=[2]),
        random_blocks(rng, LAYOUT, [3], 1, 1, local=[2]),
        random_blocks(rng, LAYOUT, [5], 1, 1, local=[4]),
    ]
    structure = windows(groups, LAYOUT)
    assert structure.width == 3
    assert structure.local_used.tolist() == [False, False, True, False, True, False]
    assert structure.local_first[[2, 4]].tolist() == [1, 3]  # the last window ends with the trajectory


def test_groups_on_the_same_windows_give_what_they_give_apart() -> None:
    rng = np.random.default_rng(0)
    groups = [random_blocks(rng, LAYOUT, np.arange(5), m, 2, local=np.arange(5)) for m in (1, 3, 2)]
    groups.append(random_blocks(rng, LAYOUT, np.arange(5), 2, 2, local=np.arange(5), theta=False))
    rows, residual = dense(groups, LAYOUT)
    equations = assemble(groups, LAYOUT)
    assert equations.local is not None
    assert equations.corner == pytest.approx((rows.T @ rows)[12:15, 12:15])
    assert equations.local.hessian[3] == pytest.approx((rows.T @ rows)[21:23, 21:23])
    assert equations.gradient.ravel() == pytest.approx((rows.T @ residual)[:12])
    assert equations.local.gradient.ravel() == pytest.approx((rows.T @ residual)[15:])


def test_empty_groups_are_fine() -> None:
    groups = random_groups(np.random.default_rng(0), LAYOUT, 2)
    empty = [
        random_blocks(np.random.default_rng(0), LAYOUT, [], 3, 2),
        random_blocks(np.random.default_rng(0), LAYOUT, np.arange(3), 0, 2),
    ]
    assert np.array_equal(assemble([*empty, *groups], LAYOUT).band.storage, assemble(groups, LAYOUT).band.storage)


def good() -> Blocks:
    return random_blocks(np.random.default_rng(0), LAYOUT, [0, 3], 2, 2, local=[1, 3])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"residual": np.zeros(2)},
            r"block group 0: residual must be \(B, m\) with first \(B,\), got \(2,\) and \(2,\)",
        ),
        (
            {"first": np.zeros(3, dtype=np.intp)},
            r"residual must be \(B, m\) with first \(B,\), got \(2, 2\) and \(3,\)",
        ),
        ({"jacobian": np.zeros((2, 2, 3))}, r"jacobian must be \(2, 2, width \* 2\), got \(2, 2, 3\)"),
        ({"jacobian": np.zeros((2, 1, 4))}, r"jacobian must be \(2, 2, width \* 2\), got \(2, 1, 4\)"),
        ({"first": np.array([0, 5])}, "windows of 2 stages do not lie within the 6 stages"),
        ({"first": np.array([-1, 3])}, "windows of 2 stages do not lie within the 6 stages"),
        ({"jacobian": np.zeros((2, 2, 0))}, "windows of 0 stages do not lie within the 6 stages"),
        ({"parameter_jacobian": np.zeros((2, 2, 2))}, r"parameter_jacobian must be \(2, 2, 3\), got \(2, 2, 2\)"),
        ({"local": None}, "local_jacobian and local go together"),
        ({"local_jacobian": None}, "local_jacobian and local go together"),
        (
            {"local_jacobian": np.zeros((2, 2, 1))},
            r"local_jacobian must be \(2, 2, 2\) with local \(2,\), got \(2, 2, 1\)",
        ),
        ({"local": np.array([0, 6])}, "owners of local variables must lie within the 6 stages"),
    ],
)
def test_bad_blocks_are_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(SamplesError, match=message):
        assemble([replace(good(), **change)], LAYOUT)


def test_a_layout_needs_stages() -> None:
    with pytest.raises(SamplesError, match="at least one stage"):
        Layout(0, 3)


def test_the_spare_diagonal_takes_no_entry_of_the_lower_half() -> None:
    band = Band.zeros(4, 2, 2)
    band.columns[...] = 1.0
    band.clear_upper()
    assert np.all(band.lapack[band.reach] == 0.0)
