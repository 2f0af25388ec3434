# SPDX-License-Identifier: Apache-2.0
"""The torque that load friction is a share of: which of a fit's parameters it takes, and its value by hand."""

from __future__ import annotations

import numpy as np

from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.systems.interval.transmitted_torque import TransmittedTorque


def test_a_fit_s_parameters_are_found_where_they_are() -> None:
    """Ten of each of two bodies, then blocks of two: Coulomb, viscous, armature, offset, gain, load friction."""
    drives = TransmittedTorque.of_point(np.arange(32.0), np.array([0.7, 1.0]))
    np.testing.assert_array_equal(drives.coulomb, [20.0, 21.0])
    np.testing.assert_array_equal(drives.viscous, [22.0, 23.0])
    np.testing.assert_array_equal(drives.offset, [26.0, 27.0])
    np.testing.assert_array_equal(drives.gain, [28.0, 29.0])
    np.testing.assert_array_equal(drives.viscous_power, [0.7, 1.0])


def test_it_is_the_measured_torque_less_friction_and_offset_and_at_rest_there_is_no_friction() -> None:
    drives = TransmittedTorque(*(np.array([x]) for x in (3.0, 2.0, 0.5, 1.5, 0.5)))
    at, speed, torque = np.array([0.0, 1.0, 2.0]), np.array([[0.0], [4.0], [-4.0]]), np.array([[2.0], [10.0], [-1.0]])
    samples = JointSamples(("a",), at, np.zeros((3, 1)), speed, torque)
    # 1.5 x 2 - 0.5 = 2.5;  15 - (3 + 2 x 2 + 0.5) = 7.5;  |-1.5 - (-3 - 4 + 0.5)| = 5
    np.testing.assert_allclose(drives.size(samples), [[0.5 * (2.5 + 7.5)], [0.5 * (7.5 + 5.0)]], rtol=1e-14)
