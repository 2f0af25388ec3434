# SPDX-License-Identifier: Apache-2.0
"""The paper's actuator network, (command, position, velocity) -> torque, 3-32-32-1, with its derivatives.

    z = ((u - q, q, w) - centre) / scale,   a = tanh(W1 z + b1),   b = tanh(W2 a + b2),   y = W3 b + b3

(arXiv 2604.10351, section IV-A: no recurrence, no history; 1217 weights at width 32.) The first layer sees the
position error and not the command: the same functions, but far better conditioned, for command and position are nearly
equal. A box of what it was trained on belongs to it: `share` is one inside, falls to zero over a margin outside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_NAMES = ("W1", "b1", "W2", "b2", "W3", "b3")

INPUTS = 3
"""Position error u - q [rad], position q [rad], velocity w [rad/s]."""


class NetworkValue(NamedTuple):
    """Output (P,), its derivatives by the inputs (P, 3), and what a derivative by the weights is made of."""

    output: Array
    by_inputs: Array
    activations: tuple[Array, Array, Array]
    slopes: tuple[Array, Array]


@dataclass(frozen=True)
class ActuatorNetwork:
    """Weights and the range they were trained on.

    Attributes:
        weights: (K,) W1, b1, W2, b2, W3, b3, rows first.
        width: of the hidden layers.
        centre, scale: (3,) of the inputs.
        lower, upper: (3,) box of the inputs.
        margin: (3,) way out of the box over which the share falls to zero.
        limit: the output's size [N m]: bound of a residual, unit of a torque.
    """

    weights: Array
    width: int
    centre: Array
    scale: Array
    lower: Array
    upper: Array
    margin: Array
    limit: float

    def value(self, inputs: Array) -> NetworkValue:
        """The network, without limit and share, at inputs (P, 3)."""
        first, bias1, second, bias2, third, bias3 = split(self.weights, self.width)
        z = (inputs - self.centre) / self.scale
        a = np.tanh(z @ first.T + bias1)
        b = np.tanh(a @ second.T + bias2)
        by_b = (1.0 - b**2) * third
        by_a = (by_b @ second) * (1.0 - a**2)
        return NetworkValue(b @ third + bias3[0], (by_a @ first) / self.scale, (z, a, b), (by_a, by_b))

    def outputs(self) -> Callable[[Array], Array]:
        """The value alone, for many calls on few inputs (P, 3)."""
        first, bias1, second, bias2, third, bias3 = split(self.weights, self.width)
        first = first / self.scale
        bias1, first, second = bias1 - first @ self.centre, first.T.copy(), second.T.copy()

        def output(inputs: Array) -> Array:
            a = np.tanh(inputs @ first + bias1)
            return np.asarray(np.tanh(a @ second + bias2) @ third + bias3)

        return output

    def covers(self, inputs: Array) -> bool:
        """Whether all inputs (P, 3) lie within the box."""
        return bool((inputs >= self.lower).all() and (inputs <= self.upper).all())

    def pull(self, value: NetworkValue, seeds: Array) -> Array:
        """(K,) derivative of the sum of seeds (P,) times outputs by the weights."""
        (z, a, b), (by_a, by_b) = value.activations, value.slopes
        to_a, to_b = seeds[:, None] * by_a, seeds[:, None] * by_b
        parts = (to_a.T @ z, to_a.sum(axis=0), to_b.T @ a, to_b.sum(axis=0), seeds @ b, [seeds.sum()])
        return np.concatenate([np.ravel(part) for part in parts])

    def share(self, inputs: Array) -> tuple[Array, Array]:
        """(P,) share of the network, from zero to one, and its derivatives by the inputs (P, 3)."""
        above, below = inputs - self.upper, self.lower - inputs
        out = np.maximum(above, below) / self.margin
        inside = np.clip(out, 0.0, 1.0)
        window = (1.0 - inside**2) ** 2
        slope = -4.0 * inside * (1.0 - inside**2) / self.margin * np.where(above > below, 1.0, -1.0)
        slope = np.where((out > 0.0) & (out < 1.0), slope, 0.0)
        others = np.stack(
            [window[:, 1] * window[:, 2], window[:, 0] * window[:, 2], window[:, 0] * window[:, 1]], axis=1
        )
        return window.prod(axis=1), slope * others

    def arrays(self) -> dict[str, Array]:
        """All of it by name, as it is stored."""
        return dict(zip(_NAMES, split(self.weights, self.width), strict=True)) | {
            "centre": self.centre,
            "scale": self.scale,
            "lower": self.lower,
            "upper": self.upper,
            "margin": self.margin,
            "limit": np.array(self.limit),
        }

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> ActuatorNetwork:
        """The network that `arrays` described; other names are left alone."""
        weights = np.concatenate([np.ravel(arrays[name]) for name in _NAMES])
        centre, scale, lower, upper, margin = (arrays[name] for name in ("centre", "scale", "lower", "upper", "margin"))
        return cls(weights, len(arrays["b1"]), centre, scale, lower, upper, margin, float(arrays["limit"]))


def split(weights: Array, width: int) -> tuple[Array, Array, Array, Array, Array, Array]:
    """W1 (H, 3), b1 (H,), W2 (H, H), b2 (H,), W3 (H,), b3 (1,) of weights (K,)."""
    shapes = ((width, INPUTS), (width,), (width, width), (width,), (width,), (1,))
    edges = np.cumsum([int(np.prod(shape)) for shape in shapes])[:-1]
    first, bias1, second, bias2, third, bias3 = (
        part.reshape(shape) for part, shape in zip(np.split(weights, edges), shapes, strict=True)
    )
    return first, bias1, second, bias2, third, bias3


def first_weights(width: int, rng: np.random.Generator) -> Array:
    """(K,) for a search to start at: hidden layers drawn (Glorot), an output that is zero."""
    first = rng.standard_normal((width, INPUTS)) * np.sqrt(2.0 / (INPUTS + width))
    second = rng.standard_normal((width, width)) / np.sqrt(width)
    zero = np.zeros(width)
    return np.concatenate([first.ravel(), zero, second.ravel(), zero, zero, [0.0]])


def inputs_of(command: Array, q: Array, w: Array) -> Array:
    """(P, 3) inputs of commands, positions and velocities (P,)."""
    return np.stack([command - q, q, w], axis=1)
