# SPDX-License-Identifier: Apache-2.0
"""Corners of a sole: what its force and moment leave open is in their sigmas, and nothing else."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sysid_nodes.systems.prime.config import ContactConfig
from sysid_nodes.systems.prime.contact_shares import share_covariance
from sysid_nodes.systems.prime.contacts import ContactLaw

Array = npt.NDArray[np.float64]

LAW = ContactLaw(ContactConfig(friction=0.5), 3e-4, 0.01)
CORNERS = np.array([[0.1, 0.03, 0.0], [0.1, -0.03, 0.0], [-0.05, 0.03, 0.0], [-0.05, -0.03, 0.0]])


def variances(place: Array, load: float = 120.0, law: ContactLaw = LAW) -> Array:
    """(m, 3) along the world's axes of points of one foot that bear a load together."""
    force = np.tile(law.plane.axes[0] * load / len(place), (1, len(place), 1))
    found = share_covariance(law, np.zeros(len(place), dtype=np.int64), place[None], force)
    return np.diagonal(found[0], axis1=1, axis2=2)


def test_corners_of_a_sole() -> None:
    """Sum and two moments leave one way to share the load, as of a table that rocks: a quarter of each variance."""
    np.testing.assert_allclose(variances(CORNERS)[:, 2], 120.0**2 / 20.0 / 4.0, rtol=1e-6)
    # Of eight numbers along the ground, three are told.
    assert variances(CORNERS)[:, :2].sum() == pytest.approx(0.5**2 * 120.0**2 / 20.0 * 5.0, rel=1e-6)


def test_what_force_and_moment_tell() -> None:
    """A point alone, and two as far as they press; in the air nothing is open."""
    assert not variances(CORNERS[:1]).any()
    two = variances(CORNERS[:2])
    np.testing.assert_allclose(two[:, 2], 0.0, atol=1e-6)
    np.testing.assert_allclose(two[:, 0], 0.0, atol=1e-6)  # across the line a moment tells
    assert np.all(two[:, 1] > 1.0)
    assert not variances(CORNERS, load=-1.0).any()


def test_a_slope_and_other_feet() -> None:
    """Axes are the ground's, wherever the foot is, and feet do not share with one another."""
    leaning = ContactLaw(ContactConfig(friction=0.5, normal=(1.0, 0.0, 0.0)), 3e-4, 0.01)
    turned = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])
    there = variances(CORNERS @ turned.T + np.array([5.0, 1.0, 2.0]), law=leaning)
    np.testing.assert_allclose(there[:, 0], variances(CORNERS)[:, 2], rtol=1e-6)
    apart = share_covariance(LAW, np.arange(4), CORNERS[None], np.ones((1, 4, 3)))
    assert not apart.any()
