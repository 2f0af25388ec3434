# SPDX-License-Identifier: Apache-2.0
"""Draws triangles with a depth buffer, with light from one side and shadows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Colour = tuple[float, float, float]

_AMBIENT, _DIFFUSE = 0.76, 0.3
_ON = 0.01  # [m] within which something lies on something


@dataclass(frozen=True)
class Camera:
    """A perspective view.

    Attributes:
        eye: (3,) where it stands [m].
        target: (3,) what is in the middle of the picture [m].
        up: (3,) a direction that points up in the picture.
        zoom: width of the picture at distance 1, halved and inverted: larger shows less.
        width, height: of the picture [px].
        shift: (2,) by which everything is moved right and down in the picture [px].
    """

    eye: Array
    target: Array
    up: Array
    zoom: float
    width: int
    height: int
    shift: tuple[float, float] = (0.0, 0.0)

    def project(self, points: Array) -> Array:
        """(..., 3): right and down in the picture [px], and depth along the view [m], of points (..., 3) [m]."""
        forward = np.asarray(self.target) - self.eye
        forward = forward / np.linalg.norm(forward)
        right = np.cross(forward, self.up)
        right = right / np.linalg.norm(right)
        down = np.cross(forward, right)
        seen = (np.asarray(points) - self.eye) @ np.stack([right, down, forward]).T
        depth = np.maximum(seen[..., 2], 1e-6)
        scale = 0.5 * self.width * self.zoom / depth
        x = 0.5 * self.width + self.shift[0] + scale * seen[..., 0]
        y = 0.5 * self.height + self.shift[1] + scale * seen[..., 1]
        return np.stack([x, y, depth], axis=-1)


class Canvas:
    """A picture in the making.

    Args:
        background: colour, red, green, blue from 0 to 1.

    Attributes:
        colour: (height, width, 3).
        depth: (height, width) of what is seen, infinite where nothing is [m].
    """

    def __init__(self, camera: Camera, background: Colour) -> None:
        self.camera = camera
        self.colour = np.tile(np.array(background), (camera.height, camera.width, 1))
        self.depth = np.full((camera.height, camera.width), np.inf)

    def draw(self, parts: Sequence[tuple[Array, Colour]], light: Array, *, opacity: float = 1.0) -> None:
        """Adds a body.

        Args:
            parts: triangles (T, 3, 3) [m], and the colour of their surface where light falls on it squarely.
            light: (3,) unit vector towards the light.
            opacity: below 1 what is behind shines through, and the body hides nothing that is drawn later.
        """
        triangles = np.concatenate([part for part, _ in parts])
        colours = np.concatenate([np.tile(colour, (len(part), 1)) for part, colour in parts])
        layer = self._layer(triangles)
        if layer is None:
            return
        colours = np.clip(colours * (_AMBIENT + _DIFFUSE * (_normals(triangles) @ light))[:, None], 0.0, 1.0)
        colour, depth = self.colour[layer.window], self.depth[layer.window]
        seen = layer.depth < depth
        colour[seen] = (1.0 - opacity) * colour[seen] + opacity * colours[layer.triangle[seen]]
        if opacity >= 1.0:
            depth[seen] = layer.depth[seen]

    def darken(self, triangles: Array, strength: float) -> None:
        """Takes a share of the light from where flat triangles (T, 3, 3) lie on something already drawn."""
        layer = self._layer(triangles)
        if layer is not None:
            here = np.isfinite(layer.depth)
            here[here] = np.abs(layer.depth[here] - self.depth[layer.window][here]) < _ON
            self.colour[layer.window][here] *= 1.0 - strength

    def visible(self, points: Array, slack: float = 0.012) -> npt.NDArray[np.bool_]:
        """(N,) whether nothing drawn lies in front of points (N, 3) [m] by more than a slack [m]."""
        x, y, depth = self.camera.project(points).T
        column = np.clip(x.astype(np.intp), 0, self.camera.width - 1)
        row = np.clip(y.astype(np.intp), 0, self.camera.height - 1)
        return np.asarray(depth <= self.depth[row, column] + slack)

    def pixels(self, reduce: int) -> npt.NDArray[np.uint8]:
        """The picture, each pixel the mean of reduce x reduce: smooth edges."""
        height, width = self.camera.height // reduce, self.camera.width // reduce
        cut = self.colour[: height * reduce, : width * reduce]
        mean = cut.reshape(height, reduce, width, reduce, 3).mean(axis=(1, 3))
        return np.asarray(np.clip(255.0 * mean + 0.5, 0.0, 255.0), dtype=np.uint8)

    def _layer(self, triangles: Array) -> _Layer | None:
        """A body on its own; None where nothing of it is in the picture."""
        if not len(triangles):
            return None
        corners = self.camera.project(triangles)
        limit = np.array([self.camera.width, self.camera.height])
        low = np.clip(corners[..., :2].min(axis=(0, 1)).astype(int), 0, limit)
        high = np.clip(corners[..., :2].max(axis=(0, 1)).astype(int) + 2, 0, limit)
        if (low >= high).any():
            return None
        corners[..., :2] -= low
        columns, rows = (high - low).tolist()
        depth, triangle = np.full((rows, columns), np.inf), np.zeros((rows, columns), dtype=np.intp)
        for k, three in enumerate(corners.tolist()):
            _fill(depth, triangle, three, k)
        return _Layer((slice(low[1], high[1]), slice(low[0], high[0])), depth, triangle)


@dataclass(frozen=True)
class _Layer:
    """Depth [m], infinite outside the body, and which triangle is seen, in a window of the picture."""

    window: tuple[slice, slice]
    depth: Array
    triangle: npt.NDArray[np.intp]


def _normals(triangles: Array) -> Array:
    a, b, c = np.moveaxis(triangles, 1, 0)
    normals = np.cross(b - a, c - a)
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12))


def _fill(depth: Array, triangle: npt.NDArray[np.intp], corners: list[list[float]], index: int) -> None:
    """One triangle of projected corners into a layer; 1 / depth is linear in the picture, as perspective has it."""
    height, width = depth.shape
    (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = corners
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if abs(area) < 1e-9 or min(z0, z1, z2) < 1e-3:
        return
    left, right = max(int(min(x0, x1, x2)), 0), min(int(max(x0, x1, x2)) + 2, width)
    top, bottom = max(int(min(y0, y1, y2)), 0), min(int(max(y0, y1, y2)) + 2, height)
    if left >= right or top >= bottom:
        return
    x, y = np.arange(left, right) + 0.5, np.arange(top, bottom)[:, None] + 0.5
    one = ((x2 - x1) * (y - y1) - (y2 - y1) * (x - x1)) / area
    two = ((x0 - x2) * (y - y2) - (y0 - y2) * (x - x2)) / area
    three = 1.0 - one - two
    inside = (one >= 0.0) & (two >= 0.0) & (three >= 0.0)
    if not inside.any():
        return
    z = 1.0 / np.maximum(one / z0 + two / z1 + three / z2, 1e-9)
    part = depth[top:bottom, left:right]
    nearer = inside & (z < part)
    part[nearer] = z[nearer]
    triangle[top:bottom, left:right][nearer] = index
