# SPDX-License-Identifier: Apache-2.0
"""The compiled normal equations against NumPy's."""

from __future__ import annotations

import platform
import resource
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sysid_nodes.kernel.normal_equations import compiled_normal_equations
from sysid_nodes.solvers.trajectory_least_squares import Blocks, Layout, assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.solvers.trajectory_least_squares.influence import leverages, parameter_gains
from sysid_nodes.solvers.trajectory_least_squares.posterior import covariances
from sysid_nodes.solvers.trajectory_least_squares.scaled_rows import assemble_scaled
from sysid_nodes.solvers.trajectory_least_squares.windows import windows

pytestmark = pytest.mark.skipif(compiled_normal_equations() is None, reason="the kernel is not compiled here")


def random_groups(layout: Layout, rng: np.random.Generator) -> list[Blocks]:
    """Groups with and without parameters and local variables, repeated windows, zeros, and views of larger arrays."""
    n, p, own = layout.size, layout.parameters, layout.local
    groups = []
    for width, local in ((1, False), (2, True), (3, True), (3, False)):
        count, m = int(rng.integers(0, 9)), int(rng.integers(1, 7))
        first = rng.integers(0, layout.stages - 2, size=count)
        jacobian = rng.normal(size=(count, m + 2, width * n))[:, 1:-1]
        jacobian[rng.random(jacobian.shape) < 0.5] = 0.0
        parameter = rng.normal(size=(count, m, p)) if width > 1 else None
        by_local = rng.normal(size=(count, m, own)) if local and own else None
        groups.append(
            Blocks(
                first,
                rng.normal(size=(count, m)),
                jacobian,
                parameter,
                by_local,
                None if by_local is None else first + 1,
            )
        )
    sure = np.arange(layout.stages)
    groups.append(Blocks(sure, rng.normal(size=(sure.size, n)), np.broadcast_to(np.eye(n), (sure.size, n, n))))
    groups.append(Blocks(sure[:1], np.zeros((1, p)), np.zeros((1, p, n)), np.eye(p)[None]))
    return groups


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 7), st.sampled_from([0, 1, 6]))
def test_same_equations_and_factor(seed: int, size: int, parameters: int, local: int) -> None:
    layout = Layout(7, size, parameters, local)
    groups = random_groups(layout, np.random.default_rng(seed))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SYSID_KERNEL", "compiled")
        ours = assemble(groups, layout)
        our_factor = factorise(ours, 1e-3)
        assert our_factor is not None
        our_posterior = covariances(our_factor)
        our_leverages = leverages(groups, our_factor, our_posterior) if our_posterior is not None else []
        patch.setenv("SYSID_KERNEL", "reference")
        theirs = assemble(groups, layout)
        their_factor = factorise(theirs, 1e-3)
        assert their_factor is not None
        their_posterior = covariances(their_factor)
        their_leverages = leverages(groups, their_factor, their_posterior) if their_posterior is not None else []
    for equations in (ours, theirs):
        equations.band.clear_upper()
    near = {"rtol": 1e-12, "atol": 1e-12}
    np.testing.assert_allclose(ours.band.columns, theirs.band.columns, **near)
    for name in ("border", "corner", "gradient", "parameter_gradient"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), **near)
    assert (ours.local is None) == (theirs.local is None)
    if ours.local is not None and theirs.local is not None:
        for name in ("hessian", "stage", "parameter", "gradient"):
            np.testing.assert_allclose(getattr(ours.local, name), getattr(theirs.local, name), **near)
    one, other = our_factor.step(), their_factor.step()
    for name in ("stage", "parameter", "local"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, atol=1e-8)
    assert our_posterior is not None
    assert their_posterior is not None
    for name in ("parameter", "stage", "stage_parameter", "neighbour", "second", "local"):
        found, wanted = getattr(our_posterior, name), getattr(their_posterior, name)
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8 * np.nanmax(np.abs(wanted), initial=1.0))
    for found, wanted in zip(our_leverages, their_leverages, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.integers(0, 7), st.sampled_from([0, 1, 6]))
def test_same_gains(seed: int, size: int, parameters: int, local: int) -> None:
    """To rounding, of rows with local variables and without."""
    layout = Layout(7, size, parameters, local)
    groups = [blocks for blocks in random_groups(layout, np.random.default_rng(seed)) if blocks.residual.size]
    found = []
    with pytest.MonkeyPatch.context() as patch:
        for kernel in ("compiled", "reference"):
            patch.setenv("SYSID_KERNEL", kernel)
            factor = factorise(assemble(groups, layout), 1e-3)
            assert factor is not None
            known = covariances(factor)
            assert known is not None
            found.append(parameter_gains(groups, factor, known))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max(initial=1.0))


@pytest.mark.parametrize("stage", [0, 3, 6])
def test_covariances_with_a_stage(stage: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel begins at that stage and never writes beyond the last one."""
    layout, found = Layout(7, 3, 2, 4), []
    groups = random_groups(layout, np.random.default_rng(0))
    for kernel in ("compiled", "reference"):
        monkeypatch.setenv("SYSID_KERNEL", kernel)
        factor = factorise(assemble(groups, layout), 0.0)
        assert factor is not None
        found.append(factor.covariances_with(stage))
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-8, atol=1e-8 * np.abs(theirs).max())


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other libraries manage their memory as they like")
def test_memory_is_kept() -> None:
    """What was used once costs no page faults again."""

    def use() -> int:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        for array in [np.empty(2**17) for _ in range(120)]:  # a megabyte each, more than glibc keeps by itself
            array.fill(0.0)
        return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

    use()
    assert use() < 120 * 256 // 4  # pages of four kilobytes; a few are the interpreter's


@pytest.mark.parametrize("kernel", ["compiled", "reference"])
def test_rows_are_scaled(kernel: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if they came with their factors, to rounding; some factors are zero, and the memory held others before."""
    monkeypatch.setenv("SYSID_KERNEL", kernel)
    layout, rng = Layout(7, 3, 2, 4), np.random.default_rng(0)
    groups = random_groups(layout, rng)
    factors = [rng.integers(0, 3, size=blocks.residual.shape).astype(float) for blocks in groups]
    room = assemble(groups, layout)
    found = assemble_scaled(groups, factors, windows(groups, layout), layout, room=room)
    wanted = assemble([scale(blocks, rows) for blocks, rows in zip(groups, factors, strict=True)], layout)
    for equations in (found, wanted):
        equations.band.clear_upper()
    assert found.local is not None
    assert wanted.local is not None
    for name in ("border", "corner", "gradient", "parameter_gradient"):
        np.testing.assert_allclose(getattr(found, name), getattr(wanted, name), rtol=1e-12, atol=1e-12)
    for name in ("hessian", "stage", "parameter", "gradient"):
        np.testing.assert_allclose(getattr(found.local, name), getattr(wanted.local, name), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.band.columns, wanted.band.columns, rtol=1e-12, atol=1e-12)


def test_columns_that_only_later_blocks_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which columns rows have is looked for in the first blocks; others must be found when they come."""
    layout, rng = Layout(20, 3, 2), np.random.default_rng(0)
    jacobian, parameter = rng.normal(size=(20, 4, 3)), rng.normal(size=(20, 4, 2))
    jacobian[:15, :, 1:] = parameter[:15, :, 0] = 0.0
    blocks, found = Blocks(np.arange(20), rng.normal(size=(20, 4)), jacobian, parameter), []
    for kernel in ("compiled", "reference"):
        monkeypatch.setenv("SYSID_KERNEL", kernel)
        found.append(assemble([blocks], layout))
        found[-1].band.clear_upper()
    ours, theirs = found
    for name in ("border", "corner", "gradient", "parameter_gradient"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(ours.band.columns, theirs.band.columns, rtol=1e-12, atol=1e-12)


def scale(blocks: Blocks, rows: np.ndarray) -> Blocks:
    """Blocks with their rows times factors."""
    own = rows[:, :, None]
    parameter, local = blocks.parameter_jacobian, blocks.local_jacobian
    return replace(
        blocks,
        residual=blocks.residual * rows,
        jacobian=blocks.jacobian * own,
        parameter_jacobian=None if parameter is None else parameter * own,
        local_jacobian=None if local is None else local * own,
    )


def test_a_matrix_that_is_not_positive_definite() -> None:
    layout = Layout(3, 2)
    jacobian = np.array([[[1.0, 1.0]]])
    equations = assemble([Blocks(np.zeros(1, dtype=np.intp), np.ones((1, 1)), jacobian)], layout)
    assert factorise(equations, 0.0) is None


def test_not_a_number_is_seen() -> None:
    """A derivative that is not finite must not be taken for a zero that can be left out."""
    layout = Layout(3, 2)
    jacobian = np.zeros((1, 1, 2))
    jacobian[0, 0, 1] = np.nan
    equations = assemble([Blocks(np.zeros(1, dtype=np.intp), np.ones((1, 1)), jacobian)], layout)
    assert np.isnan(equations.diagonals()[0]).any()
