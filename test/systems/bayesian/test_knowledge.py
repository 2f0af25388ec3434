# SPDX-License-Identifier: Apache-2.0
"""What moved from one part of a log to the next, when inertias bend."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from benchmarks.bayesian_log import CONFIG, leg
from sysid_nodes.systems.bayesian.estimate import LogInformation
from sysid_nodes.systems.bayesian.knowledge import passage
from sysid_nodes.systems.bayesian.parameters import build_parameters


@pytest.mark.parametrize(("weight", "straight"), [(0.0, "theta"), (1e6, "phi")])
def test_what_moved_is_straight_in_what_tells_it(weight: float, straight: str) -> None:
    """In theta where the prior tells all, in phi where the log does: a link a sigma heavier, its centre two away."""
    own = build_parameters(leg(), CONFIG, power=True)
    p, x = len(own.free), own.mean.copy()
    body = own.body(own.links.index("thigh"))
    x[body][:1] += own.sigma[body][:1]
    x[body][7:] += 2.0 * own.sigma[body][7:]
    (before, _), (after, slope) = own.linear(own.mean), own.linear(x)
    root = weight * np.linalg.inv(slope) / own.sigma[own.free][:, None]
    told = LogInformation(root, root @ before)
    mechanism = SimpleNamespace(parameters=own)
    known = cast(Any, SimpleNamespace(mechanism=mechanism, x=own.mean, told=told, lasting=np.zeros((p, p))))
    moved = passage(known, cast(Any, SimpleNamespace(corner=np.eye(p))), x).moved
    wanted = (x - own.mean)[own.free], np.linalg.solve(slope, after - before)
    scale = own.sigma[own.free]
    assert np.abs((wanted[0] - wanted[1]) / scale).max() > 1.0, "nothing bends here"
    np.testing.assert_allclose(moved / scale, wanted[straight == "phi"] / scale, atol=1e-6)
