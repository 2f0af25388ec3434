# SPDX-License-Identifier: Apache-2.0
"""True torques of a simulated robot at the instants of a log."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.reports.actuators.truth import true_torques


@pytest.mark.parametrize("apart", [-2e-3, 0.0, 2e-3])
def test_true_torques_are_those_of_the_nearest_sample(apart: float) -> None:
    """Stamps that differ by less than half a period are of one sample; in a pause of the truth there is none."""
    known = np.array([0.0, 0.005, 0.010, 0.050, 0.055])
    truth = {
        "torque": {"t": known.tolist(), "values": [[1.0, -1.0], [2.0, -2.0], [3.0, -3.0], [4.0, -4.0], [5.0, -5.0]]}
    }
    found = true_torques(truth, np.append(known + apart, 0.030))
    np.testing.assert_array_equal(found[:-1], truth["torque"]["values"])
    assert np.isnan(found[-1]).all()
