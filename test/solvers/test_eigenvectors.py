# SPDX-License-Identifier: Apache-2.0
"""Eigenvectors where LAPACK's first way fails, as it has in a demo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from sysid_nodes.solvers.block_jackknife import jackknife
from sysid_nodes.solvers.eigenvectors import eigenvectors

SIZE = 30


def diverge(matrix: Any) -> Any:
    raise np.linalg.LinAlgError("Eigenvalues did not converge")


def say_nothing(matrix: Any) -> Any:
    return np.full(len(matrix), np.nan), np.full(matrix.shape, np.nan)


@pytest.mark.parametrize("failure", [diverge, say_nothing])
def test_a_second_iteration_takes_over(failure: Callable[[Any], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    root = np.random.default_rng(0).normal(size=(SIZE, SIZE))
    matrix = root @ root.T
    monkeypatch.setattr(np.linalg, "eigh", failure)
    values, vectors = eigenvectors(matrix)
    np.testing.assert_allclose((vectors * values) @ vectors.T, matrix, atol=1e-10)


@pytest.mark.parametrize("size", [3, SIZE])
def test_without_numbers_there_are_none(size: int) -> None:
    values, vectors = eigenvectors(np.full((size, size), np.nan))
    assert np.isnan(values).all()
    assert np.isnan(vectors).all()


def test_a_covariance_without_numbers_says_so() -> None:
    found = jackknife(np.full((7, 3, 3), np.nan), np.zeros((7, 3)), np.eye(3))
    assert np.isnan(found.matrix).all()
