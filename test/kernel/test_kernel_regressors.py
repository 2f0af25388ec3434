# SPDX-License-Identifier: Apache-2.0
"""The compiled kernel against its NumPy reference, and the door both stand behind."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes import kernel
from sysid_nodes.exceptions import ConfigError, SamplesError
from sysid_nodes.kernel.tree import Tree

compiled = pytest.mark.skipif(kernel._regressors is None, reason="the compiled kernel is not built here")


def random_tree(rng, n):
    axis = rng.normal(size=(n, 3))
    rotation, _ = np.linalg.qr(rng.normal(size=(n, 3, 3)))
    rotation *= np.linalg.det(rotation)[:, None, None]
    return Tree(
        parents=np.array([rng.integers(-1, i) if i else -1 for i in range(n)], dtype=np.int64),
        rotation=rotation,
        translation=rng.normal(size=(n, 3)),
        axis=axis / np.linalg.norm(axis, axis=1, keepdims=True),
        revolute=rng.random(n) < 0.7,
        gravity=rng.normal(size=3) * 6.0,
    )


def problem(seed, n=4, samples=60, windows=9):
    rng = np.random.default_rng(seed)
    q, qd = rng.normal(size=(2, samples, n))
    t = np.cumsum(rng.uniform(1e-4, 2e-3, samples))
    return random_tree(rng, n), t, q, qd, np.sort(rng.integers(0, samples, (windows, 2)), axis=1)


@compiled
@settings(max_examples=40)
@given(st.integers(0, 100_000), st.integers(1, 8), st.integers(0, 12))
def test_compiled_equals_reference(seed, n, windows):
    arguments = problem(seed, n=n, windows=windows)
    for fast, plain in zip(
        kernel.window_regressors(*arguments, kernel="compiled"),
        kernel.window_regressors(*arguments, kernel="reference"),
        strict=True,
    ):
        assert fast.shape == plain.shape == (windows, n, 10 * n)
        assert fast.dtype == np.float64
        np.testing.assert_allclose(fast, plain, rtol=0, atol=1e-12 * np.abs(plain).max(initial=0.0))


@compiled
@settings(max_examples=40)
@given(st.integers(0, 100_000), st.integers(1, 8), st.integers(0, 5))
def test_the_standard_regressor_is_the_reference_s(seed, n, samples):
    rng = np.random.default_rng(seed)
    tree, states = random_tree(rng, n), rng.normal(size=(3, samples, n))
    fast, plain = (kernel.standard_regressor(tree, *states, kernel=name) for name in ("compiled", "reference"))
    assert fast.shape == plain.shape == (samples, n, 10 * n)
    np.testing.assert_allclose(fast, plain, rtol=0, atol=1e-12 * np.abs(plain).max(initial=0.0))


@compiled
@settings(max_examples=20)
@given(st.integers(0, 100_000), st.integers(1, 8), st.integers(0, 5))
def test_joints_frames_are_the_reference_s(seed, n, samples):
    rng = np.random.default_rng(seed)
    tree, q = random_tree(rng, n), rng.normal(size=(samples, n))
    shapes = ((samples, n, 3, 3), (samples, n, 3), (samples, n, 6))
    found = (kernel.joint_frames(tree, q, kernel=name) for name in ("compiled", "reference"))
    for fast, plain, shape in zip(*found, shapes, strict=True):
        assert fast.shape == plain.shape == shape
        np.testing.assert_allclose(fast, plain, rtol=0, atol=1e-12 * max(1.0, np.abs(plain).max(initial=0.0)))


@compiled
def test_compiled_refuses_what_would_read_out_of_bounds():
    tree, t, q, qd, edges = problem(0)
    call = kernel._regressors.window_regressors
    with pytest.raises(ValueError, match="out of range"):
        call(*tree, t, q, qd, edges + 60)
    with pytest.raises(ValueError, match="differ in their samples"):
        call(*tree, t[:5], q, qd, edges)
    with pytest.raises(ValueError, match="differ in their number of joints"):
        call(*tree._replace(axis=tree.axis[:2]), t, q, qd, edges)
    with pytest.raises(ValueError, match="parents must come first"):
        call(*tree._replace(parents=np.array([1, 0, 0, 0])), t, q, qd, edges)


@pytest.mark.parametrize("name", kernel.IMPLEMENTATIONS)
def test_strided_and_frozen_arrays_are_fine_and_left_alone(name):
    if name == "compiled" and kernel._regressors is None:
        pytest.skip("the compiled kernel is not built here")
    tree, t, q, qd, edges = problem(1)
    plain = kernel.window_regressors(tree, t, q, qd, edges, kernel=name)
    for array in tree:
        array.setflags(write=False)
    strided = np.asfortranarray(q)
    before = strided.copy()
    again = kernel.window_regressors(tree, t, strided, qd, edges.astype(np.int32), kernel=name)
    np.testing.assert_array_equal(plain, again)
    np.testing.assert_array_equal(strided, before)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"t": np.zeros((60, 1))}, "must have shape"),
        ({"t": np.zeros(59)}, r"must have shape \(59, 4\)"),
        ({"q": np.zeros((60, 3))}, r"got \(60, 3\)"),
        ({"qd": np.zeros((61, 4))}, r"and \(61, 4\)"),
        ({"edges": np.zeros((3, 3), dtype=int)}, r"\(n_windows, 2\), got \(3, 3\)"),
        ({"edges": np.array([[0, 60]])}, "0 <= first <= last < 60"),
        ({"edges": np.array([[-1, 5]])}, "0 <= first <= last < 60"),
        ({"edges": np.array([[5, 4]])}, "0 <= first <= last < 60"),
    ],
)
def test_bad_input(change, message):
    tree, t, q, qd, edges = problem(2)
    with pytest.raises(SamplesError, match=message):
        kernel.window_regressors(tree, **({"t": t, "q": q, "qd": qd, "edges": edges} | change))


def test_which_kernel_runs(monkeypatch):
    monkeypatch.delenv("SYSID_KERNEL", raising=False)
    monkeypatch.setattr(kernel, "_regressors", object())
    assert kernel.implementation() == "compiled"
    monkeypatch.setenv("SYSID_KERNEL", "reference")
    assert kernel.implementation() == "reference"
    assert kernel.implementation("compiled") == "compiled"
    monkeypatch.setenv("SYSID_KERNEL", "fortran")
    with pytest.raises(ConfigError, match="unknown kernel 'fortran'; known: compiled, reference"):
        kernel.implementation()


def test_without_the_compiled_kernel(monkeypatch):
    monkeypatch.delenv("SYSID_KERNEL", raising=False)
    monkeypatch.setattr(kernel, "_regressors", None)
    assert kernel.implementation() == "reference"
    difference, integral = kernel.window_regressors(*problem(3))
    assert difference.shape == integral.shape == (9, 4, 40)
    with pytest.raises(ConfigError, match="not built"):
        kernel.implementation("compiled")
