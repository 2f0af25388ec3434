# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.reports.drawing.raster import Camera, Canvas

CAMERA = Camera(np.array([0.1, -2.0, 0.7]), np.zeros(3), np.array([0.0, 0.0, 1.0]), 1.5, 64, 48)
UP = np.array([0.0, 0.0, 1.0])


def seen_by_rays(triangles: npt.NDArray[np.float64], column: int, row: int) -> tuple[float, int]:
    """Depth [m] and number of the triangle that a ray through the middle of a pixel meets first; infinite, -1: none."""
    # Of the plane at depth 1 through the ray, from three projected points of it.
    base = CAMERA.eye
    forward = -base / np.linalg.norm(base)
    right = np.cross(forward, UP) / np.linalg.norm(np.cross(forward, UP))
    down = np.cross(forward, right)
    scale = 0.5 * CAMERA.width * CAMERA.zoom
    ray = (column + 0.5 - 32.0) / scale * right + (row + 0.5 - 24.0) / scale * down + forward
    nearest = (np.inf, -1)
    for k, (a, b, c) in enumerate(triangles):
        u, v, distance = np.linalg.solve(np.stack([b - a, c - a, -ray], axis=1), base - a)
        if u >= 0.0 and v >= 0.0 and u + v <= 1.0 and 0.0 < distance < nearest[0]:
            nearest = (distance, k)
    return nearest


def test_of_many_triangles_each_pixel_shows_the_one_that_its_ray_meets_first() -> None:
    rng = np.random.default_rng(3)
    # Small ones, and large ones that leave the picture.
    size = np.where(np.arange(40) < 30, 0.15, 2.0)[:, None, None]
    triangles = 0.4 * rng.normal(size=(40, 1, 3)) + size * rng.normal(size=(40, 3, 3))
    triangles[..., 1] = np.maximum(triangles[..., 1], -1.0)  # none behind the camera
    canvas = Canvas(CAMERA, (1.0, 1.0, 1.0))
    canvas.draw([(triangles, (0.5, 0.5, 0.5))], UP)
    for row in range(0, 48, 5):
        for column in range(0, 64, 5):
            depth, _ = seen_by_rays(triangles, column, row)
            assert np.isclose(canvas.depth[row, column], depth, rtol=1e-9), (row, column)


def test_of_equally_near_triangles_the_first_is_seen() -> None:
    one = np.array([[[-0.5, 0.0, -0.5], [0.5, 0.0, -0.5], [0.0, 0.0, 0.5]]])
    canvas = Canvas(CAMERA, (1.0, 1.0, 1.0))
    canvas.draw([(one, (1.0, 0.0, 0.0)), (one, (0.0, 1.0, 0.0))], UP)
    red, green, _ = canvas.colour[28, 32]
    assert red > 0.5
    assert green == 0.0
    canvas.draw([(one, (0.0, 0.0, 1.0))], UP)
    assert canvas.colour[28, 32, 0] == red


def test_a_level_edge_ends_the_triangle() -> None:
    """Its line never meets a row of pixels, so that it limits no columns."""
    ahead = Camera(np.array([0.0, -1.0, 0.0]), np.zeros(3), UP, 1.0, 64, 48)
    canvas = Canvas(ahead, (1.0, 1.0, 1.0))
    # 32 px a metre: the upper edge is at 24 - 3.2 = 20.8 px, so that the row at 20.5 is not covered, that at 21.5 is.
    canvas.draw([(np.array([[[-0.5, 0.0, 0.1], [0.5, 0.0, 0.1], [0.0, 0.0, -0.5]]]), (1.0, 0.0, 0.0))], UP)
    assert np.isinf(canvas.depth[20]).all()
    assert np.isfinite(canvas.depth[21]).sum() > 20


def test_what_is_flat_or_outside_of_the_picture_draws_nothing() -> None:
    flat = np.array([[[-0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [0.5, 0.0, 0.0]]])
    aside = np.array([[[50.0, 0.0, 0.0], [51.0, 0.0, 0.0], [50.0, 0.0, 1.0]]])
    canvas = Canvas(CAMERA, (1.0, 1.0, 1.0))
    canvas.draw([(flat, (1.0, 0.0, 0.0)), (aside, (0.0, 1.0, 0.0))], UP)
    assert (canvas.colour == 1.0).all()
    assert np.isinf(canvas.depth).all()
