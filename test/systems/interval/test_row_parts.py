# SPDX-License-Identifier: Apache-2.0
"""Rows over several windows in a row, against sums in plain loops, and against the truth."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.row_scene import random_tree, scene, silent

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import momentum_regressors
from sysid_nodes.systems.interval.error_radius import POSITION, VELOCITY
from sysid_nodes.systems.interval.momentum_rows import CAUSES
from sysid_nodes.systems.interval.row_parts import ALONE, BETWEEN, FIRST, LAST, RowParts, by_place

Array = np.ndarray

W, N, COLUMNS = 7, 2, 25
RNG = np.random.default_rng(1)
MEETS = np.array([True, True, True, False, True, True])


def parts() -> RowParts:
    wide = [RNG.uniform(0.1, 1.0, (4, W, N, k)) for k in (len(CAUSES), 3, 3, 3)]
    return RowParts(
        t=np.column_stack([np.arange(W), np.arange(W) + 1.0]),
        meets=MEETS,
        coefficients=RNG.uniform(-1.0, 1.0, (W, N, COLUMNS)),
        jump=RNG.uniform(-1.0, 1.0, (W - 1, N, 10 * N)),
        radius=wide[0],
        nominal=wide[1],
        norms=wide[2],
        spread=wide[3],
        body=RNG.uniform(0.1, 1.0, (4, W, N, 3, 3)),
        causes=(1, 3, 4),
        about=RNG.uniform(0.1, 1.0, 10),
    )


@pytest.mark.parametrize("lengths", [(1,), (1, 2), (1, 2, 4), (1, 3)])
def test_rows_are_sums_of_what_windows_add_at_their_places(lengths: tuple[int, ...]) -> None:
    given = parts()
    rows, last = given.add_up(lengths)
    expected = [
        (end - length + 1, end)
        for length in lengths
        for end in range(length - 1, W)
        if MEETS[end - length + 1 : end].all()
    ]
    assert last.tolist() == [end for _, end in expected]
    for k, (begin, end) in enumerate(expected):
        inner = range(begin, end + 1)
        places = [FIRST, *[BETWEEN] * (end - begin - 1), LAST] if end > begin else [ALONE]

        def total(each: Array, inner: range = inner, places: list[int] = places) -> Array:
            return np.asarray(sum(each[place, w] for w, place in zip(inner, places, strict=True)))

        row = given.coefficients[begin : end + 1].sum(axis=0)
        row[:, : 10 * N] += given.jump[begin:end].sum(axis=0)
        np.testing.assert_allclose(rows.coefficients[k], row, rtol=1e-12, atol=1e-12)
        nominal, norms, radius = total(given.nominal), total(given.norms), total(given.radius)
        for joint in range(N):
            lesser = min(nominal[joint], norms[joint], key=sum)
            radius[joint, list(given.causes)] += lesser + total(given.spread)[joint]
        np.testing.assert_allclose(rows.radius[k], radius, rtol=1e-12)
        np.testing.assert_allclose(rows.body_radius[k], total(given.body), rtol=1e-12)
        assert rows.t[k].tolist() == [given.t[begin, 0], given.t[end, 1]]
    assert rows.about is given.about


def test_an_edge_counts_for_the_windows_that_begin_or_end_a_row() -> None:
    assert by_place(np.array([4.0, 1.0])).tolist() == [5.0, 3.0, 1.0, 3.0]


def test_no_row_is_longer_than_there_are_windows() -> None:
    given = parts()
    few = replace(
        given,
        t=given.t[:2],
        meets=given.meets[:1],
        coefficients=given.coefficients[:2],
        jump=given.jump[:1],
        **{name: getattr(given, name)[:, :2] for name in ("radius", "nominal", "norms", "spread", "body")},
    )
    assert few.add_up((1, 2, 4, 8))[1].tolist() == [0, 1, 1]


@pytest.mark.parametrize("pattern", ["apart", "together", "random"])
def test_the_momentum_at_edges_within_is_that_of_neither_window(pattern: str) -> None:
    """Positions of neighbours differ at their edge: with theirs at both ends, and the truth within the radius."""
    rng = np.random.default_rng(5)
    arm = random_tree(rng, 3)
    found = scene(arm, rng, acceleration=3.0, speed=2.0, dt=0.002, duration=0.1)
    edges, middle = found.edges, int(found.edges[0, 1])
    q, qd = found.readings()
    size = {"position": 2e-3, "velocity": 2e-3}
    late = np.arange(len(q))[:, None] > middle
    sign = {"apart": np.where(late, -1.0, 1.0), "together": 1.0, "random": rng.choice([-1.0, 1.0], q.shape)}[pattern]
    noise = replace(
        silent(arm.n),
        acceleration=np.abs(found.motion.acceleration).max(axis=0),
        **{name: np.full(arm.n, value) for name, value in size.items()},
    )
    builder = found.builder(noise)
    samples = found.samples(q + size["position"] * sign, qd + size["velocity"] * rng.choice([-1.0, 1.0], qd.shape))
    draft = builder.draft(samples, edges)
    rows, last = builder.rows_over(draft, found.body.lower, (1, 2), 0)
    assert last.tolist() == [0, 1, 1]
    place = draft.positions
    at = place.edges.ravel()
    momentum = momentum_regressors(Chain.from_robot(arm), place.q[at], samples.qd[place.index[at]])[0]
    np.testing.assert_allclose(draft.jump[0], momentum[2] - momentum[1], rtol=1e-9, atol=1e-12)
    both = rows.coefficients[0] + rows.coefficients[1]
    both[:, : 10 * arm.n] -= momentum[1] - momentum[2]
    np.testing.assert_allclose(rows.coefficients[2], both, rtol=1e-9, atol=1e-12)
    error = np.abs(rows.coefficients[2] @ found.p - found.impulse.sum(axis=0))
    allowed = rows.total_radius(found.body)[2]
    assert (error <= allowed).all()
    for cause in (POSITION, VELOCITY):  # what neither window's row could save
        k = CAUSES.index(cause)
        assert (rows.radius[2, :, k] < rows.radius[:2, :, k].sum(axis=0)).all()
