# SPDX-License-Identifier: Apache-2.0
"""Draws triangles with a depth buffer, with light from one side and shadows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
Colour = tuple[float, float, float]

_AMBIENT, _DIFFUSE = 0.76, 0.3
_ON = 0.01  # [m] within which something lies on something
_FLAT, _NEAR = 1e-9, 1e-3  # area [px2] and depth [m] below which a triangle is not drawn
_PIXELS = 1 << 19  # that are worked on at once


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
        _fill(depth, triangle, corners)
        return _Layer((slice(low[1], high[1]), slice(low[0], high[0])), depth, triangle)


@dataclass(frozen=True)
class _Layer:
    """Depth [m], infinite outside the body, and which triangle is seen, in a window of the picture."""

    window: tuple[slice, slice]
    depth: Array
    triangle: Indices


def _normals(triangles: Array) -> Array:
    a, b, c = np.moveaxis(triangles, 1, 0)
    normals = np.cross(b - a, c - a)
    return np.asarray(normals / np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12))


def _fill(depth: Array, triangle: Indices, corners: Array) -> None:
    """Triangles of projected corners (T, 3, 3) into a layer; of equally near ones the first is seen."""
    area = np.linalg.det(corners[:, 1:, :2] - corners[:, :1, :2])
    drawn = np.flatnonzero((np.abs(area) >= _FLAT) & (corners[..., 2].min(axis=1) >= _NEAR))
    planes = _planes(corners[drawn], area[drawn])
    rows = _rows(corners[drawn], depth.shape[0])
    left, right = _spans(planes, *rows, depth.shape[1])
    seen, shown = depth.reshape(-1), triangle.reshape(-1)
    ends = np.cumsum(right - left)
    for part in np.split(np.arange(len(left)), np.flatnonzero(np.diff(ends // _PIXELS)) + 1):
        which, row = rows[0][part], rows[1][part]
        span, place = _count(right[part] - left[part])
        column = left[part][span] + place
        nearness = planes[which, 3, 1] * (row + 0.5) + planes[which, 3, 2]
        z = 1.0 / np.maximum(nearness[span] + planes[which, 3, 0][span] * (column + 0.5), 1e-9)
        pixel = (row * depth.shape[1])[span] + column
        nearer = z < seen[pixel]
        z, pixel, span = z[nearer], pixel[nearer], span[nearer]
        np.minimum.at(seen, pixel, z)
        won = np.flatnonzero(z == seen[pixel])[::-1]  # where several are equal, the one that is written last stays
        shown[pixel[won]] = drawn[which[span[won]]]


def _planes(corners: Array, area: Array) -> Array:
    """(T, 4, 3): what is linear in a picture's x, y and 1: the weights of three corners (T, 3, 3), and 1 / depth.

    Inside of a triangle no weight is negative. That 1 / depth is linear is perspective.
    """
    (x0, y0, z0), (x1, y1, z1), (x2, y2, z2) = np.moveaxis(corners, 0, -1)
    one = np.stack([y1 - y2, x2 - x1, x1 * y2 - x2 * y1], axis=1) / area[:, None]
    two = np.stack([y2 - y0, x0 - x2, x2 * y0 - x0 * y2], axis=1) / area[:, None]
    three = np.stack([y0 - y1, x1 - x0, x0 * y1 - x1 * y0], axis=1) / area[:, None]
    nearness = one / z0[:, None] + two / z1[:, None] + three / z2[:, None]
    return np.stack([one, two, three, nearness], axis=1)


def _rows(corners: Array, height: int) -> tuple[Indices, Indices]:
    """Number of the triangle of projected corners (T, 3, 3), and row, wherever one may cover pixels of the other."""
    top = np.clip(corners[..., 1].min(axis=1).astype(np.intp), 0, height)
    bottom = np.clip(corners[..., 1].max(axis=1).astype(np.intp) + 1, 0, height)
    which, place = _count(bottom - top)
    return which, top[which] + place


def _spans(planes: Array, which: Indices, row: Indices, width: int) -> tuple[Indices, Indices]:
    """First column that a triangle covers of a row, and the first beyond; the same where there is none."""
    slope = planes[which, :3, 0]
    rest = planes[which, :3, 1] * (row + 0.5)[:, None] + planes[which, :3, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        zero = -rest / slope
    low = np.where(slope > 0.0, zero, np.where((slope < 0.0) | (rest >= 0.0), -np.inf, np.inf)).max(axis=1)
    high = np.where(slope < 0.0, zero, np.inf).min(axis=1)
    left = np.clip(np.ceil(low - 0.5), 0, width).astype(np.intp)
    right = np.clip(np.floor(high - 0.5) + 1.0, 0, width).astype(np.intp)
    return left, np.maximum(left, right)


def _count(lengths: Indices) -> tuple[Indices, Indices]:
    """Which stretch each item is of, and its place in it, of stretches of these lengths one after the other."""
    which = np.repeat(np.arange(len(lengths)), lengths)
    return which, np.arange(len(which)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
