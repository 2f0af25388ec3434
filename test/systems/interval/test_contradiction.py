# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig, known_box
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.config import SetMembershipConfig
from sysid_nodes.systems.interval.contradiction import error_needed, error_needed_at, explain
from sysid_nodes.systems.interval.feasible_set import FeasibleSet
from sysid_nodes.systems.interval.momentum_rows import CAUSES, TORQUE_ABSOLUTE, TORQUE_RELATIVE, MomentumRows
from sysid_nodes.systems.interval.unknowns import Unknowns, identify_body


def unknowns(known: KnownRobotConfig) -> Unknowns:
    centre, radius = known_box(load_robot("kinova_gen3"), known)
    return identify_body(7, 6, centre, radius, PriorConfig().bounds)


def clash(found: Unknowns, values: list[float], causes: dict[str, float]) -> FeasibleSet:
    """Windows in which joint 1's row reads offset 1 = value: `duration` is the coefficient of its torque offset."""
    rows = np.zeros((len(values), 7, 105))
    offset, gain = found.motor_slice("torque offset").start, found.motor_slice("torque gain").start
    rows[:, 0, offset] = 1.0
    rows[:, 0, gain] = -np.array(values)
    radius = np.zeros((len(values), 7, len(CAUSES)))
    for name, size in causes.items():
        radius[:, 0, CAUSES.index(name)] = size
    t = np.stack([np.arange(len(values)), np.arange(len(values)) + 1.0], axis=1)
    built = FeasibleSet(found, SetMembershipConfig())
    nothing = np.zeros((len(values), 7, 3, 3)), np.zeros(10)
    built.step(MomentumRows(t, rows, radius, *nothing), 100 + np.arange(len(t)), thorough=True)
    return built


def test_the_smallest_relaxation_is_found_by_hand() -> None:
    """Offset within 0.5 of 0, three readings within 0.2: 1.0 - 0.2 > 0.5."""
    found = unknowns(KnownRobotConfig(offset_absolute=(0.5,)))
    built = clash(found, [0.65, 1.0, 0.68], {TORQUE_ABSOLUTE: 0.15, TORQUE_RELATIVE: 0.05})
    assert built.empty is not None
    result = explain(built, found)
    assert result.windows == (101,) and result.times.tolist() == [[1.0, 2.0]]
    assert result.factors[TORQUE_ABSOLUTE] == pytest.approx(0.45 / 0.15)
    assert result.factors[TORQUE_RELATIVE] == pytest.approx(0.35 / 0.05)
    assert result.factors["torque offset"] == pytest.approx(0.8 / 0.5)
    assert result.assumption == "torque offset"
    assert result.factors["armature"] == result.factors["prior of the body"] == np.inf


def test_two_windows_that_clash_with_one_another_are_both_named() -> None:
    found = unknowns(KnownRobotConfig(offset_absolute=(5.0,)))
    built = clash(found, [1.0, 0.9, 2.0], {TORQUE_ABSOLUTE: 0.2})
    assert built.empty is not None
    result = explain(built, found)
    assert set(result.windows) == {101, 102}
    assert result.factors[TORQUE_ABSOLUTE] == pytest.approx(0.55 / 0.2)
    assert result.factors["torque offset"] == np.inf and result.assumption == TORQUE_ABSOLUTE


def test_windows_that_agree_are_no_contradiction() -> None:
    found = unknowns(KnownRobotConfig(offset_absolute=(5.0,)))
    assert clash(found, [1.0, 1.2, 1.4], {TORQUE_ABSOLUTE: 0.21}).empty is None


def test_the_error_that_data_need_is_found_by_hand() -> None:
    """Of readings .2 apart the one in the middle is .1 off; what the other causes stand for is not needed."""
    found = unknowns(KnownRobotConfig(offset_absolute=(5.0,)))
    alone = clash(found, [1.0, 1.2], {TORQUE_ABSOLUTE: 0.125})
    assert error_needed(alone)[0] == pytest.approx(0.1 / 0.125)
    both = clash(found, [1.0, 1.2], {TORQUE_ABSOLUTE: 0.125, TORQUE_RELATIVE: 0.05})
    assert error_needed(both)[0] == pytest.approx(0.4)


def test_unknowns_that_need_no_more_error_are_known_by_their_rows() -> None:
    """The program's own optimum needs what it says, its tolerance aside, and any other point needs more."""
    found = unknowns(KnownRobotConfig(offset_absolute=(5.0,)))
    kept = clash(found, [1.0, 1.2, 1.1], {TORQUE_ABSOLUTE: 0.125})
    share, xi = error_needed(kept)
    assert error_needed_at(kept, xi) == pytest.approx(share, abs=1e-6)
    assert error_needed_at(kept, np.zeros(len(xi))) > 1.05 * share
