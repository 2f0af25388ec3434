# SPDX-License-Identifier: Apache-2.0
"""A trajectory least-squares problem: stages in a row, shared parameters, local variables, residual blocks.

    min over x_0..x_T, theta, w_0..w_T of   sum_b rho_b(|r_b(x_first..x_first+width-1, theta, w_local)|^2) / 2

Each stage x_k is a point of a manifold with an n-dimensional tangent space; theta has p coordinates and is shared by
all stages; w_k has l coordinates and occurs only in blocks that name stage k as its owner. Residuals are whitened:
each has unit variance under the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import SamplesError

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]
Point = TypeVar("Point")
At = TypeVar("At", contravariant=True)
Loss = Callable[[Array], tuple[Array, Array]]
"""(B,) squared norms s -> (B,) rho(s) and (B,) rho'(s) >= 0; rho(s) <= s near 0 with rho(0) = 0, rho'(0) = 1."""


@dataclass(frozen=True)
class Layout:
    """Sizes of the unknown.

    Attributes:
        stages: number of stages, T + 1.
        size: n, tangent dimension of a stage.
        parameters: p, tangent dimension of what all stages share.
        local: l, local variables per stage.
    """

    stages: int
    size: int
    parameters: int = 0
    local: int = 0

    def __post_init__(self) -> None:
        if self.stages < 1 or self.size < 1 or self.parameters < 0 or self.local < 0:
            raise SamplesError(f"a trajectory needs at least one stage and one coordinate, got {self}")


@dataclass(frozen=True)
class Blocks:
    """B residual blocks of one shape, or B equality constraints.

    Attributes:
        first: (B,) first stage of each block's window; the window's width is that of `jacobian` over n.
        residual: (B, m) whitened residuals; for constraints, their values.
        jacobian: (B, m, width * n) with respect to tangent steps of stages first..first + width - 1, in order.
        parameter_jacobian: (B, m, p), or None where the parameters do not occur.
        local_jacobian: (B, m, l) with respect to the owner's local variables, or None.
        local: (B,) owner of the local variables; needed with `local_jacobian` and only with it.
        loss: robust loss of a block's squared norm, or None for plain least squares.
        measures: whether damping is relative to what these rows alone tell of a coordinate. Where no group does, it is
            relative to what all rows tell.
    """

    first: IntArray
    residual: Array
    jacobian: Array
    parameter_jacobian: Array | None = None
    local_jacobian: Array | None = None
    local: IntArray | None = None
    loss: Loss | None = None
    measures: bool = False


class Problem(Protocol[Point]):
    """A nonlinear problem. `residuals` returns the residuals of `linearise` in the same order of groups and blocks."""

    @property
    def layout(self) -> Layout:
        """Sizes of the unknown."""

    def linearise(self, point: Point) -> Sequence[Blocks]:
        """Residual blocks with derivatives with respect to `retract`'s steps at zero."""

    def residuals(self, point: Point) -> Sequence[Array]:
        """(B, m) residuals alone, one array a group. May hold NaN or inf where the model is undefined."""

    def retract(self, point: Point, stage_step: Array, parameter_step: Array, local_step: Array) -> Point:
        """The point after tangent steps of shapes (T + 1, n), (p,) and (T + 1, l)."""


@runtime_checkable
class InPieces(Protocol[At]):
    """A problem whose linear model is made piece by piece: a long one never is in memory as a whole."""

    def pieces(self, point: At) -> Iterator[Sequence[Blocks]]:
        """Every block of `linearise` once, in pieces that are needed no longer when the next one is asked for."""

    def shapes(self) -> Sequence[Blocks]:
        """Blocks on the same windows and owners as those of `linearise`, whatever their numbers and rows."""


@runtime_checkable
class Curved(Protocol[At]):
    """A problem that knows how its model curves in the parameters, and steps along them accordingly."""

    def parameter_step(self, point: At, corner: Array, gradient: Array) -> ParameterStep | None:
        """The step of the parameters that is best by the linear model of all else; None for the linear model's own.

        Args:
            point: where the model is linearised.
            corner: (p, p) lower Cholesky factor of the parameters' Hessian once all else is eliminated.
            gradient: (p,) there.
        """


@dataclass(frozen=True)
class ParameterStep:
    """A step of the parameters that is not the linear model's own.

    Attributes:
        step: (p,).
        bent: by how much less, times two, the cost falls than by a linear model whose minimum the step leads to.
    """

    step: Array
    bent: float


def check(blocks: Blocks, layout: Layout, group: int) -> int:
    """The window's width of a group of blocks.

    Raises:
        SamplesError: shapes do not fit each other or the layout, or a window leaves the trajectory.
    """

    def fail(reason: str) -> SamplesError:
        return SamplesError(f"block group {group}: {reason}")

    if blocks.residual.ndim != 2 or blocks.first.shape != blocks.residual.shape[:1]:
        raise fail(f"residual must be (B, m) with first (B,), got {blocks.residual.shape} and {blocks.first.shape}")
    b, m = blocks.residual.shape
    if blocks.jacobian.ndim != 3 or blocks.jacobian.shape[:2] != (b, m) or blocks.jacobian.shape[2] % layout.size:
        raise fail(f"jacobian must be ({b}, {m}, width * {layout.size}), got {blocks.jacobian.shape}")
    width = blocks.jacobian.shape[2] // layout.size
    if b and (width < 1 or blocks.first.min() < 0 or blocks.first.max() + width > layout.stages):
        raise fail(f"windows of {width} stages do not lie within the {layout.stages} stages")
    shape = (b, m, layout.parameters)
    if blocks.parameter_jacobian is not None and blocks.parameter_jacobian.shape != shape:
        raise fail(f"parameter_jacobian must be {shape}, got {blocks.parameter_jacobian.shape}")
    if (blocks.local_jacobian is None) != (blocks.local is None):
        raise fail("local_jacobian and local go together")
    if blocks.local_jacobian is not None and blocks.local is not None:
        shape = (b, m, layout.local)
        if blocks.local_jacobian.shape != shape or blocks.local.shape != (b,):
            raise fail(f"local_jacobian must be {shape} with local ({b},), got {blocks.local_jacobian.shape}")
        if b and (blocks.local.min() < 0 or blocks.local.max() >= layout.stages):
            raise fail(f"owners of local variables must lie within the {layout.stages} stages")
    return int(width)
