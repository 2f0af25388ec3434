# SPDX-License-Identifier: Apache-2.0
"""Fields of a joint's method in result.json: numbers, or null where there is nothing to compare with."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.reports.actuators.methods import method_fields
from sysid_nodes.reports.json_text import encode
from sysid_nodes.results.actuator_methods import JointMethod, OracleTorque
from sysid_nodes.results.actuators import ReplayError

T = np.linspace(0.0, 1.0, 50)
ORACLE = OracleTorque(np.sin(T), np.full(T.size, 0.1), 1e-4, np.sin(T))
JOINT = JointMethod("hip", "structured", T, ReplayError(0.1, 0.1, 0.2), 0.0, ORACLE, {}, ())


@pytest.mark.parametrize("known", [slice(0, 0), slice(10, 20), slice(None)], ids=["nowhere", "somewhere", "everywhere"])
def test_the_oracles_error_is_told_where_the_true_torque_is_known(known: slice) -> None:
    true = np.full(T.size, np.nan)
    true[known] = np.sin(T[known]) + 0.15
    fields = method_fields(JOINT, true)
    encode(fields)  # which refuses what is not a number
    if len(T[known]):
        assert fields["oracle"]["error"] == pytest.approx(0.15)
        assert fields["oracle"]["inside"] == 1.0
    else:
        assert (fields["oracle"]["error"], fields["oracle"]["inside"]) == (None, None)
