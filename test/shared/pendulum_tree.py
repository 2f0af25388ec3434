# SPDX-License-Identifier: Apache-2.0
"""A pendulum in the certificate's own terms, about y: what it carries is the tests' choice."""

from __future__ import annotations

import numpy as np

from sysid_nodes.kernel.tree import Tree

GRAVITY = 9.81

PENDULUM = Tree(
    parents=np.array([-1]),
    rotation=np.eye(3)[None],
    translation=np.zeros((1, 3)),
    axis=np.array([[0.0, 1.0, 0.0]]),
    revolute=np.array([True]),
    gravity=np.array([0.0, 0.0, -GRAVITY]),
)


def one(value: float) -> np.ndarray:
    """(1,) a value of its joint."""
    return np.array([value])
