# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from shared.payload_problem import SineMotion

from sysid_nodes.data import PARAMETER_NAMES, Bounds
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import momentum_regressors
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.excitation import ExcitationMeter

Array = npt.NDArray[np.float64]

PRIOR = Bounds(-np.ones(10), np.ones(10))


def body_rows(moving: tuple[int, ...], *, speed: float = 0.9, duration: float = 8.0) -> Array:
    """Rows of link 7's regressor over 0.1 s windows while some joints move."""
    chain = Chain.from_robot(load_robot("kinova_gen3"))
    motion = SineMotion.random(np.random.default_rng(0), 7, speed)
    still = np.ones(7, dtype=bool)
    still[list(moving)] = False
    t = np.arange(0.0, duration, 2e-3)
    q, qd, _ = motion(t)
    q[:, still], qd[:, still] = [0.3, 0.7, -0.4, 1.1, 0.2, -0.8, 0.5] * still @ np.eye(7)[:, still], 0.0
    momentum, rate = momentum_regressors(chain, q, qd)
    rows = [momentum[k + 50] - momentum[k] - 2e-3 * rate[k : k + 50].sum(axis=0) for k in range(0, len(t) - 50, 50)]
    return np.asarray(np.concatenate(rows)[:, 60:70])


def meter(rows: Array, radius: float = 1e-3, prior: Bounds = PRIOR) -> ExcitationMeter:
    found = ExcitationMeter(prior)
    for part in np.array_split(rows, 7):
        found.add(part, np.full(len(part), radius))
    return found


def test_condition_number_is_that_of_the_stacked_regressor() -> None:
    rows = body_rows(tuple(range(7)))
    excitation = meter(rows).measure()
    # 1e-4: the Gram matrix keeps half the digits
    assert excitation.condition_number == pytest.approx(np.linalg.cond(rows), rel=1e-4)
    np.testing.assert_allclose(excitation.singular_values, np.linalg.svd(rows / 1e-3)[1], rtol=1e-4)
    assert excitation.blind == ()


def test_a_static_arm_shows_mass_moments_only() -> None:
    """Gravity's torque does not depend on the rotational inertia."""
    excitation = meter(body_rows(())).measure()
    assert excitation.condition_number == np.inf
    assert len(excitation.blind) >= 6
    named = {word for direction in excitation.blind for word in direction.split()}
    assert {"Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz"} <= named <= {*PARAMETER_NAMES, "+", "-"}


def test_one_turning_wrist_shows_its_own_inertia() -> None:
    excitation = meter(body_rows((6,))).measure()
    assert excitation.condition_number == np.inf
    assert not any(direction == "Izz" for direction in excitation.blind)
    assert any("Ixx" in direction for direction in excitation.blind)


def test_directions_are_named_after_the_parameters_in_them() -> None:
    rows = np.vstack([np.eye(10)[k] for k in range(10) if k not in (4, 6, 9)] + [np.eye(10)[4] - np.eye(10)[6]])
    assert set(meter(rows).measure().blind) == {"Izz", "Ixx + Iyy"} or set(meter(rows).measure().blind) == {
        "Izz",
        "Iyy + Ixx",
    }


def test_data_worse_than_the_prior_are_blind() -> None:
    """A row says something about a parameter when the prior's half-width moves it by more than its radius."""
    rows = np.eye(10)
    assert meter(rows, radius=0.99).measure().blind == ()
    assert len(meter(rows, radius=1.01).measure().blind) == 10


def test_what_the_prior_knows_exactly_is_not_blind() -> None:
    known = Bounds(np.array([2.0, *[-1.0] * 9]), np.array([2.0, *[1.0] * 9]))
    rows = np.delete(np.eye(10), [0, 5], axis=0)
    assert meter(rows, prior=known).measure().blind == ("Ixy",)


def test_nothing_seen_yet_is_all_blind() -> None:
    excitation = ExcitationMeter(PRIOR).measure()
    assert excitation.condition_number == np.inf and set(excitation.blind) == set(PARAMETER_NAMES)
