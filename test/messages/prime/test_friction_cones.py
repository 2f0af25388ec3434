# SPDX-License-Identifier: Apache-2.0
"""Friction cones as RViz draws them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.messages.prime.contact_markers import cone_triangles

UP = np.array([0.0, 0.0, 1.0])


@given(st.floats(0.05, 2.0), st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
def test_the_cone_s_edges_are_at_the_friction_angle(friction: float, direction: list[float]) -> None:
    normal = np.array(direction)
    if np.linalg.norm(normal) < 0.1:
        normal = UP
    normal = normal / np.linalg.norm(normal)
    corners = cone_triangles(normal, friction)
    assert len(corners) % 3 == 0
    edges = corners[~np.all(corners == 0.0, axis=1)]
    along = edges @ normal
    across = np.linalg.norm(edges - np.outer(along, normal), axis=1)
    np.testing.assert_allclose(across, friction * along, rtol=1e-9)
