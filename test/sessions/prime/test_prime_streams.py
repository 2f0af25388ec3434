# SPDX-License-Identifier: Apache-2.0
"""Lags between streams that estimates allow for are no findings."""

from __future__ import annotations

import pytest

from sysid_nodes.sensors.gyroscope import GyroscopeConfig
from sysid_nodes.sensors.mocap_pose import MocapPoseConfig
from sysid_nodes.sessions.prime.streams import _worth


@pytest.mark.parametrize(
    ("gyroscope", "pose", "offset", "worth"),
    [(3e-3, 4e-3, 0.01, 0.015), (0.0, 0.0, 0.01, 0.01), (1e-3, 0.0, 0.01, 0.01), (3e-3, 4e-3, 0.0, 0.0)],
)
def test_smallest_lag_that_is_a_finding(gyroscope: float, pose: float, offset: float, worth: float) -> None:
    """Three standard deviations of both delays, and what is configured at least; none where that is zero."""
    channels = {"gyroscope": GyroscopeConfig(delay_sigma=gyroscope), "mocap_pose": MocapPoseConfig(delay_sigma=pose)}
    assert _worth(channels, offset) == pytest.approx(worth)


def test_a_pose_alone() -> None:
    assert _worth({"mocap_pose": MocapPoseConfig(delay_sigma=5e-3)}, 0.01) == pytest.approx(0.015)
