# SPDX-License-Identifier: Apache-2.0
"""Errors where one trajectory takes over from another, joint by joint: a branched arm, all terms at once.

Roundings are allowed for by factors of some 1e-9: hence 1e-8.
"""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.kernel.tree import Tree
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains
from sysid_nodes.results.certificate import Entry
from sysid_nodes.robots import MotorConstants
from sysid_nodes.systems.certified.certificate.handover import _still_inertia, at_rest, handover_entry

N, GAIN, AGE = 4, 4.0, 0.03
PARENTS = [-1, 0, 1, 0]
RNG = np.random.default_rng(1)
TREE = Tree(
    np.array(PARENTS), np.tile(np.eye(3), (N, 1, 1)), RNG.uniform(0.1, 0.4, (N, 3)), np.tile([0.0, 1.0, 0.0], (N, 1)),
    np.ones(N, dtype=bool), np.array([0.0, 3.0, -9.0]),
)  # fmt: skip
MOTOR, RADIUS = (MotorConstants(*(size * RNG.uniform(0.5, 1.5, (4, N)))) for size in (3.0, 0.3))
BOX = ModelBox(RNG.uniform(-1.0, 1.0, (N, 10)), RNG.uniform(0.1, 0.2, (N, 10)), MOTOR, RADIUS)
ARMATURE = MOTOR.armature + RADIUS.armature


def heaviest() -> list[float]:
    """Row sums of what the mass matrix can hold: each body's masses along both ways from it to the base."""
    length = [float(np.linalg.norm(x)) for x in TREE.translation]
    total = ARMATURE.copy()
    for i in range(N):
        theta = np.abs(BOX.theta[i]) + BOX.theta_radius[i]
        tensor = theta[[4, 5, 7, 5, 6, 8, 7, 8, 9]]
        way, reach, b = {}, 0.0, i
        while b >= 0:
            way[b] = reach
            reach, b = reach + length[b], PARENTS[b]
        for j, v in way.items():
            for u in way.values():
                total[j] += theta[0] * v * u + np.linalg.norm(theta[1:4]) * (v + u) + np.linalg.norm(tensor)
    return [float(x) for x in total]


def test_the_heaviest_inertia_is_that_of_all_bodies_stretched_out() -> None:
    np.testing.assert_allclose(_still_inertia(TREE, BOX), heaviest(), rtol=1e-8)


@pytest.mark.parametrize("seed", range(3))
def test_a_hand_over_adds_what_passes_until_the_new_torque_acts(seed: int) -> None:
    rng = np.random.default_rng(seed)
    own, jerk = rng.uniform(0.1, 1.0, 5), 30.0 * rng.uniform(0.5, 1.5, N)
    former = Entry(own[0], own[1], 9.0 * own[2], 30.0 * rng.uniform(0.5, 1.5, N), own[3], own[4],
                   *rng.uniform(0.01, 0.1, (2, N)))  # fmt: skip
    found = handover_entry(TREE, BOX, former, jerk, GAIN, AGE)
    heavy, apart = heaviest(), [a + b for a, b in zip(jerk, former.jerk, strict=True)]

    def norm(size: float) -> float:
        return float(np.sqrt(sum(h * (size * a) ** 2 for h, a in zip(heavy, apart, strict=True))))

    # By jerks: accelerations t, velocities t^2 / 2, positions t^3 / 6; r = de/dt + K_r e.
    reference = norm(AGE**2 / 2.0 + GAIN * AGE**3 / 6.0)
    size = np.sqrt(2.0 * former.level) + AGE * former.speed + reference
    moved = AGE * size + norm(AGE**3 / 6.0)
    assert found.level == pytest.approx(0.5 * size**2, rel=1e-8)
    assert found.position == pytest.approx(former.position + moved, rel=1e-8)
    assert found.position_norm == pytest.approx(former.position_norm + moved, rel=1e-8)
    assert found.reference_norm == pytest.approx(former.reference_norm + AGE * former.speed + reference, rel=1e-8)
    assert found.speed == pytest.approx(former.speed + norm(AGE + GAIN * AGE**2 / 2.0), rel=1e-8)
    for j in range(N):
        least = MOTOR.armature[j] - RADIUS.armature[j]
        r = former.reference_error[j] + AGE * former.speed / np.sqrt(least)
        r += apart[j] * (AGE**2 / 2.0 + GAIN * AGE**3 / 6.0)
        e = former.position_error[j] + AGE * r + apart[j] * AGE**3 / 6.0
        assert found.reference_error[j] == pytest.approx(r, rel=1e-8)
        assert found.position_error[j] == pytest.approx(e, rel=1e-8)
    assert found.apart_norm == former.apart_norm and found.jerk is former.jerk


@pytest.mark.parametrize("rate", [0.0, 50.0])
def test_rest_is_what_two_measurements_and_creeping_allow(rate: float) -> None:
    gains = Gains(GAIN, np.full(N, 500.0), *(1e-3 * RNG.uniform(0.5, 1.5, (2, N))), np.zeros(N))
    found = at_rest(TREE, BOX, gains, 0.02, 0.005, rate)
    e = [2.0 * x + 0.005 for x in gains.position_error]
    r = [GAIN * x + 0.02 for x in e]
    norms = [float(np.sqrt(sum(a * x**2 for a, x in zip(ARMATURE, each, strict=True)))) for each in (e, r)]
    heavy = heaviest()
    assert (found.position_norm, found.reference_norm) == pytest.approx(norms, rel=1e-8)
    assert found.position == pytest.approx(norms[0], rel=1e-8)
    assert found.level == pytest.approx(0.5 * sum(h * x**2 for h, x in zip(heavy, r, strict=True)), rel=1e-8)
    assert found.speed == pytest.approx(max(GAIN * 0.02 * np.sqrt(sum(heavy)), rate), rel=1e-8)
    np.testing.assert_allclose([found.position_error, found.reference_error], [e, r], rtol=1e-8)
    assert found.jerk.shape == (N,) and not found.jerk.any()
