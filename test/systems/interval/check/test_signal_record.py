# SPDX-License-Identifier: Apache-2.0
"""Joint states that a check looks at."""

import numpy as np

from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.signals.driver import DriverSignals, SignalsConfig
from sysid_nodes.systems.interval.check.signal_record import SignalRecord


def test_old_readings_under_new_stamps_are_not_looked_at():
    """Else a driver that publishes oftener than it reads seems to have velocities that are wrong by their own size."""
    record = SignalRecord(("a",), DriverSignals(SignalsConfig(), 1))
    for k in range(40):
        read = 0.008 * (k // 4)
        record.take(
            RawJointState(1.0 + 0.002 * k, ("a",), np.array([np.sin(read)]), np.array([np.cos(read)]), np.ones(1))
        )
    signals = record.signals()
    np.testing.assert_allclose(np.diff(signals.t), 0.008)
    np.testing.assert_allclose(signals.q[:, 0], np.sin(signals.t - 1.0))
