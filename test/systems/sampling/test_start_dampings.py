# SPDX-License-Identifier: Apache-2.0
"""A clip whose start lies before a landing: only a short step of it helps, which the strongest damping takes."""

from types import SimpleNamespace

import numpy as np
import pytest

from sysid_nodes.systems.sampling.settling import _step
from sysid_nodes.systems.sampling.solve import _follow


def clip(reach):
    """Residuals 1 + s of a start s that the foot touches the ground beyond -reach of, where they are five."""

    def trials(_parameters, starts):
        residual = np.where(starts < -reach, 5.0, 1.0 + starts)
        return (residual**2).sum(axis=2), residual

    coordinates = SimpleNamespace(information=np.array([1e-9]), size=1)
    return SimpleNamespace(coordinates=coordinates, trials=trials)


@pytest.mark.parametrize(("reach", "step"), [(2.0, 1.0 / 1.001), (0.95, 1.0 / 1.1), (0.2, 1.0 / 11.0), (0.05, 0.0)])
def test_a_start_that_settles_goes_as_far_as_helps(reach, step):
    found, _, _ = _step(clip(reach), np.zeros(1), np.ones((1, 1)), np.ones((1, 1, 1)))
    assert found[0, 0] == pytest.approx(-step, rel=1e-6)


@pytest.mark.parametrize(("reach", "step"), [(2.0, 1.0 / 1.0001), (0.995, 1.0 / 1.01), (0.6, 0.5), (0.4, 0.0)])
def test_a_start_that_follows_the_parameters_goes_as_far_as_helps(reach, step):
    equations = SimpleNamespace(
        start_gradient=np.ones((1, 1)),
        by_start=np.zeros((1, 1, 1)),
        eliminate_starts=lambda damping: (np.array([[[1.0 / (1.0 + damping)]]]), None),
    )
    found, _ = _follow(clip(reach), equations, np.zeros(1), np.zeros(1))
    assert found[0, 0] == pytest.approx(-step, rel=1e-6)
