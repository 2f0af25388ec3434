# SPDX-License-Identifier: Apache-2.0
"""Markers of bodies stand in frames of the robot and claim what the estimate does."""

from __future__ import annotations

import numpy as np
import pinocchio
import pytest
from shared.kinova_motion import PAYLOAD

from sysid_nodes.messages.inertia_markers import body_markers


def shown(covariance: np.ndarray, theta: np.ndarray = PAYLOAD) -> dict[str, dict]:
    return {marker["ns"]: marker for marker in body_markers("hand", 3, "load", theta, covariance)}


def test_the_region_holds_the_centre_of_mass_as_often_as_it_says() -> None:
    """Against draws of the ten parameters: of 20000 a percent is six standard errors, and covers the curvature."""
    rng = np.random.default_rng(1)
    half = 0.003 * rng.normal(size=(10, 10))
    found = shown(half @ half.T)
    draws = PAYLOAD + rng.normal(size=(20000, 10)) @ half.T
    centres = draws[:, 1:4] / draws[:, :1]
    region = found["centre_of_mass_95_percent"]
    place, turn = (np.array(list(region["pose"][part].values())) for part in ("position", "orientation"))
    axes = pinocchio.Quaternion(turn[3], *turn[:3]).matrix()
    radii = 0.5 * np.array(list(region["scale"].values()))
    assert radii.min() > 0.001, "no floor in it"
    inside = (np.square((centres - place) @ axes / radii).sum(axis=1) < 1.0).mean()
    assert inside == pytest.approx(0.95, abs=0.01)
    assert {marker["header"]["frame_id"] for marker in found.values()} == {"hand"}
    assert {marker["id"] for marker in found.values()} == {3}
    assert found["mass"]["text"] == f"load {PAYLOAD[0]:.2f} kg, σ {np.sqrt((half @ half.T)[0, 0]):.2g} kg"


def test_what_is_not_known_is_not_shown() -> None:
    unknown = shown(np.full((10, 10), np.nan))
    assert set(unknown) == {"inertia", "mass"}
    assert "σ" not in unknown["mass"]["text"]
    assert shown(np.eye(10), -PAYLOAD) == {}
