# SPDX-License-Identifier: Apache-2.0
"""Curvature of the cost in the contact variables against differences of the cost itself."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.models.contact_motion import ContactMotion
from sysid_nodes.solvers.trajectory_least_squares import Blocks
from sysid_nodes.systems.prime.config import ContactConfig
from sysid_nodes.systems.prime.contact_curvature import contact_curvature, curvature_blocks
from sysid_nodes.systems.prime.contacts import ContactLaw

COUNT, CONTACTS, SIZE = 5, 2, 18


def rows(law: ContactLaw, w: np.ndarray) -> tuple[Blocks, Blocks]:
    """Dynamics and contacts with derivatives by w, of forces on a random robot that does not move."""
    rng = np.random.default_rng(5)
    columns = 0.05 * rng.normal(size=(COUNT, SIZE, 3 * CONTACTS))
    wanted = rng.normal(size=(COUNT, SIZE))
    gap = np.pad(1e-3 * rng.normal(size=(COUNT, CONTACTS)), ((1, 1), (0, 0)))
    slip = 0.05 * rng.normal(size=(COUNT, CONTACTS, 2))
    still = {"gap_jacobian": np.zeros((COUNT + 2, CONTACTS, SIZE))}
    still["slip_jacobian"] = np.zeros((COUNT, CONTACTS, 2, 3, SIZE))
    contact = law.blocks(np.pad(w, ((1, 1), (0, 0), (0, 0))), ContactMotion(gap=gap, slip=slip, **still), 0, 1)
    by_force = columns.reshape(COUNT, SIZE, CONTACTS, 3).transpose(0, 2, 1, 3)
    local = (by_force @ law.force_jacobian(w)).transpose(0, 2, 1, 3).reshape(COUNT, SIZE, -1)
    residual = wanted + np.einsum("kvi,ki->kv", columns, law.force(w).reshape(COUNT, -1))
    dynamics = Blocks(contact.first, residual, np.zeros((COUNT, SIZE, 3 * SIZE)), None, local, contact.local)
    return dynamics, contact


@pytest.mark.parametrize("compliance", [0.0, 1e-4])
def test_it_is_what_the_squared_slopes_lack(compliance: float) -> None:
    """Positive part of the cost's second differences less J'J, of each contact; to the 1e-4 of second differences."""
    law = ContactLaw(ContactConfig(), 1e-3, 0.01, compliance=compliance)
    w = 0.1 * np.random.default_rng(6).normal(size=(COUNT, CONTACTS, 3))

    def gradient(at: np.ndarray) -> np.ndarray:
        return sum(np.einsum("kri,kr->ki", own.local_jacobian, own.residual) for own in rows(law, at))

    step, nl = 1e-6, 3 * CONTACTS
    hessian = np.empty((COUNT, nl, nl))
    for j in range(nl):
        by = step * np.eye(nl)[j].reshape(CONTACTS, 3)
        hessian[:, :, j] = (gradient(w + by) - gradient(w - by)) / (2.0 * step)
    dynamics, contact = rows(law, w)
    squares = sum(own.local_jacobian.swapaxes(1, 2) @ own.local_jacobian for own in (dynamics, contact))
    root = contact_curvature(law, w, dynamics, contact)
    found, wanted = root.swapaxes(1, 2) @ root, np.zeros((COUNT, nl, nl))
    for c in range(CONTACTS):
        own = slice(3 * c, 3 * c + 3)
        value, axes = np.linalg.eigh((hessian - squares)[:, own, own])
        wanted[:, own, own] = (axes * np.maximum(value, 0.0)[:, None]) @ axes.swapaxes(1, 2)
    assert np.abs(wanted).max() > 10.0  # in units of one over sigma squared
    np.testing.assert_allclose(found, wanted, atol=1e-4 * np.abs(wanted).max())
    blocks = curvature_blocks(root, contact, SIZE)
    assert not blocks.residual.any()
    np.testing.assert_array_equal(blocks.local, contact.local)
