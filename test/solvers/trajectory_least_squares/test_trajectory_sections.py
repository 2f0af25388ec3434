# SPDX-License-Identifier: Apache-2.0
"""Sections of a trajectory laid end to end."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.solvers.trajectory_least_squares import Blocks, Layout, assemble, posterior
from sysid_nodes.solvers.trajectory_least_squares.sections import Sections, cut_sections

Array = npt.NDArray[np.float64]

LAYOUT = Layout(stages=25, size=2, parameters=1, local=1)
PERIOD, LENGTH = 10, 5


def groups() -> list[Blocks]:
    """Windows of three stages with local variables of the middle one, readings of some stages, a first place."""
    rng = np.random.default_rng(1)
    first, some = np.arange(23), np.array([0, 1, 4, 5, 12, 13, 20, 24])

    def draw(*shape: int) -> Array:
        return rng.standard_normal(shape)

    return [
        Blocks(first, draw(23, 4), draw(23, 4, 6), draw(23, 4, 1), draw(23, 4, 1), first + 1),
        Blocks(some, draw(8, 1), draw(8, 1, 2)),
        Blocks(np.zeros(1, dtype=np.intp), draw(1, 2), np.eye(2)[None], draw(1, 2, 1)),
    ]


def cut() -> Sections:
    return cut_sections(groups(), LAYOUT, PERIOD, LENGTH, anchored=2)


def test_blocks_within_sections_are_taken_where_they_are() -> None:
    parts = cut()
    assert parts.layout == Layout(stages=15, size=2, parameters=1, local=1)
    np.testing.assert_array_equal(parts.taken[0], [0, 1, 2, 10, 11, 12, 20, 21, 22])
    np.testing.assert_array_equal(parts.groups[0].first, [0, 1, 2, 5, 6, 7, 10, 11, 12])
    np.testing.assert_array_equal(parts.groups[0].local, parts.groups[0].first + 1)
    np.testing.assert_array_equal(parts.groups[1].first, [0, 1, 4, 7, 8, 10, 14])
    np.testing.assert_array_equal(parts.groups[1].residual, groups()[1].residual[[0, 1, 2, 4, 5, 6, 7]])
    np.testing.assert_array_equal(np.flatnonzero(parts.inside), [1, 2, 3, 11, 12, 13, 21, 22, 23])


def test_only_parameters_and_the_anchor_are_shared() -> None:
    """With the parameters fixed, a section's covariances are those of its blocks alone, held at its beginning."""
    parts, given = cut(), groups()
    fixed = Blocks(np.zeros(1, dtype=np.intp), np.zeros((1, 1)), np.zeros((1, 1, 2)), np.full((1, 1, 1), 1e6))
    found = posterior(assemble([*parts.groups, fixed], parts.layout))
    middle = slice(10, 13)
    alone = [
        Blocks(
            np.arange(3),
            given[0].residual[middle],
            given[0].jacobian[middle],
            given[0].parameter_jacobian[middle],  # type: ignore[index]
            given[0].local_jacobian[middle],  # type: ignore[index]
            np.arange(1, 4),
        ),
        Blocks(np.array([2, 3]), given[1].residual[4:6], given[1].jacobian[4:6]),
        Blocks(np.zeros(1, dtype=np.intp), np.zeros((1, 2)), np.eye(2)[None]),
        fixed,
    ]
    wanted = posterior(assemble(alone, Layout(LENGTH, 2, 1, 1)))
    assert found is not None and wanted is not None
    # Rounding alone: all are of the order of one.
    np.testing.assert_allclose(found.stage[5:10], wanted.stage, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.local[6:9], wanted.local[1:4], rtol=1e-9, atol=1e-12)


def test_values_are_laid_back_at_the_places_of_their_blocks() -> None:
    parts, given = cut(), groups()
    shapes = [group.residual.shape for group in given]
    back = parts.lay_back([group.residual for group in parts.groups], shapes)
    for own, group, taken in zip(back, given, parts.taken, strict=True):
        np.testing.assert_array_equal(own[taken], group.residual[taken])
        assert np.isnan(np.delete(own, taken, axis=0)).all()
