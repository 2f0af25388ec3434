# SPDX-License-Identifier: Apache-2.0
"""A pendulum behind a position controller, one term at a time: what its drive must be told, and no less."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.pendulum_tree import GRAVITY, PENDULUM, one

from sysid_nodes.intervals import TimeEnclosure
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.robots import MotorConstants
from sysid_nodes.systems.certified.certificate.judgement import Conduct
from sysid_nodes.systems.certified.certificate.motion import Desired
from sysid_nodes.systems.certified.certificate.tracked import (
    KnownErrors,
    beyond_evidence,
    tracked_conduct,
    tracked_envelope,
)

MASS, LEVER, ARMATURE = 2.0, 0.5, 3.0
UP = -0.5 * np.pi
"""Where gravity has no lever; at 0 it has all of it."""

THETA = np.zeros((1, 10))
THETA[0, [0, 1, 6]] = MASS, MASS * LEVER, MASS * LEVER**2
NOTHING = MotorConstants(*np.zeros((4, 1)))
BOX = ModelBox(THETA, 0.0 * THETA, NOTHING, NOTHING)
EDGES = np.array([0.0, 0.5, 1.0])


def motion_of(position: float = UP, velocity: float = 0.0, acceleration: float = 0.0) -> Desired:
    """In this state at all times of both intervals."""
    parts = (
        TimeEnclosure(np.full((2, 1), value), np.zeros((2, 1)), np.zeros((2, 1)))
        for value in (position, velocity, acceleration)
    )
    return Desired(EDGES, *parts)


def errors(position: float = 0.0, velocity: float = 0.0, acceleration: float | None = 0.0) -> KnownErrors:
    return KnownErrors(one(position), one(velocity), None if acceleration is None else one(acceleration), None, None)


def drive(**values: float) -> MotorConstants:
    return MotorConstants(
        **{name: one(values.get(name, 0.0)) for name in ("coulomb", "viscous", "armature", "offset")}
    )  # fmt: skip


def body(entry: int, radius: float) -> np.ndarray:
    spread = np.zeros((1, 10))
    spread[0, entry] = radius
    return spread


def conduct(desired: Desired, known: KnownErrors | None = None, *, torque_error: float = 0.0, **box: Any) -> Conduct:
    return tracked_conduct(PENDULUM, desired, replace(BOX, **box), known or errors(), one(torque_error))


TOLD = {  # state, errors, box and the torque that it takes
    "gravity": (motion_of(0.0), errors(), {}, MASS * LEVER * GRAVITY),
    "gravity with the position off": (motion_of(), errors(position=0.01), {}, MASS * LEVER * GRAVITY * np.sin(0.01)),
    "first moment": (motion_of(0.0), errors(), {"theta": 0.0 * THETA, "theta_radius": body(1, 0.1)}, 0.1 * GRAVITY),
    "acceleration": (motion_of(acceleration=2.0), errors(), {}, 2.0 * MASS * LEVER**2),
    "acceleration of the rotor": (motion_of(acceleration=2.0), errors(),
                                  {"theta": 0.0 * THETA, "motor": drive(armature=ARMATURE)}, 2.0 * ARMATURE),
    "acceleration of a rotor that may be larger": (
        motion_of(acceleration=2.0), errors(), {"theta": 0.0 * THETA, "motor_radius": drive(armature=0.5)}, 1.0),
    "acceleration off, of the body": (motion_of(), errors(acceleration=2.0), {}, 2.0 * MASS * LEVER**2),
    "acceleration off, of the rotor": (motion_of(), errors(acceleration=2.0),
                                       {"theta": 0.0 * THETA, "motor": drive(armature=ARMATURE)}, 2.0 * ARMATURE),
    "acceleration off, of a rotor that may be larger": (
        motion_of(), errors(acceleration=2.0), {"theta": 0.0 * THETA, "motor_radius": drive(armature=0.5)}, 1.0),
    "viscous friction": (motion_of(velocity=0.5), errors(), {"motor": drive(viscous=4.0)}, 2.0),
    "viscous friction with the velocity off": (motion_of(), errors(velocity=0.5), {"motor": drive(viscous=4.0)}, 2.0),
    "viscous friction that may be more": (motion_of(velocity=0.5), errors(), {"motor_radius": drive(viscous=4.0)}, 2.0),
    "viscous friction that may be more, with the velocity off": (
        motion_of(), errors(velocity=0.5), {"motor_radius": drive(viscous=4.0)}, 2.0),
    "dry friction": (motion_of(), errors(), {"motor": drive(coulomb=1.5)}, 1.5),
    "dry friction that may be more": (motion_of(), errors(), {"motor_radius": drive(coulomb=1.5)}, 1.5),
    "offset": (motion_of(), errors(), {"motor": drive(offset=-1.5)}, 1.5),
    "offset that may be more": (motion_of(), errors(), {"motor_radius": drive(offset=1.5)}, 1.5),
    "torque that does not arrive": (motion_of(), errors(), {"torque_error": 0.9}, 0.9),
}  # fmt: skip


@pytest.mark.parametrize("name", TOLD)
def test_what_a_drive_must_be_told(name: str) -> None:
    """Each alone, and each on top of all others: none makes up for the lack of another."""
    desired, known, box, torque = TOLD[name]
    found = conduct(desired, known, **box).torque[0]
    # A millionth for what gravity does within the roundings of the upright posture and second-order terms of errors.
    assert torque <= found * (1.0 + 1e-9) and found <= 1.01 * torque + 1e-6
    heavy = {"motor": drive(coulomb=2.0)} if "motor" not in box else {}
    assert conduct(desired, known, **{**box, **heavy}).torque[0] == pytest.approx(found + (2.0 if heavy else 0.0))


def test_the_worst_time_counts() -> None:
    rising = motion_of(0.0)
    centre = np.array([[UP], [0.0]])
    rising = replace(rising, position=TimeEnclosure(centre, np.zeros((2, 1)), np.zeros((2, 1))))
    assert conduct(rising).torque[0] == pytest.approx(MASS * LEVER * GRAVITY, rel=1e-6)


def test_what_is_not_known_of_the_acceleration_is_not_added() -> None:
    assert conduct(motion_of(acceleration=2.0), errors(acceleration=None)).torque[0] == pytest.approx(
        2.0 * MASS * LEVER**2, rel=1e-6
    )


def test_the_robot_is_where_and_as_fast_as_errors_let_it_be() -> None:
    found = conduct(motion_of(0.3, -0.4), errors(0.02, 0.1))
    np.testing.assert_allclose(found.qd, 0.5, rtol=1e-6)
    np.testing.assert_array_equal(found.position_error, 0.02)
    np.testing.assert_array_equal(found.rate_error, 0.1)
    assert found.boxed
    lower, upper = (found.q.centre + side * (np.abs(found.q.terms).sum(axis=0) + found.q.remainder) for side in (-1, 1))
    np.testing.assert_allclose([lower, upper], [[[0.28]] * 2, [[0.32]] * 2], atol=1e-9)


@pytest.mark.parametrize(("velocity", "acceleration", "word"), [(0.5, 0.0, "faster"), (0.0, 0.5, "harder")])
def test_evidence_ends_where_it_was_seen(velocity: float, acceleration: float, word: str) -> None:
    desired = motion_of(0.0, -velocity, -acceleration)
    for seen, refused in ((0.499, True), (0.501, False)):
        known = replace(errors(), fastest=one(seen), hardest=one(seen))
        assert (word in beyond_evidence(desired, known, ("joint",))) == refused
    assert beyond_evidence(desired, errors(), ("joint",)) == ""


@pytest.mark.parametrize("late", [0, 1])
def test_evidence_and_speed_count_all_of_an_interval_and_every_one(late: int) -> None:
    """0.3 rad/s and 0.25 either way over one of the intervals: 0.55 at one end of it."""
    slope = np.zeros((2, 1))
    slope[late] = 0.25
    turning = TimeEnclosure(0.3 * (slope > 0.0), slope, np.zeros((2, 1)))
    desired = replace(motion_of(), velocity=turning)
    for seen, refused in ((0.54, True), (0.56, False)):
        known = replace(errors(), fastest=one(seen), hardest=one(seen))
        assert bool(beyond_evidence(desired, known, ("joint",))) == refused
    np.testing.assert_allclose(conduct(desired).qd[late], 0.55, rtol=1e-6)


def test_an_envelope_holds_the_errors_all_along_and_says_nothing_else() -> None:
    found = tracked_envelope(motion_of(), errors(0.02, 0.1), np.zeros((2, 1)))
    np.testing.assert_array_equal(found.position_error, 0.02)
    np.testing.assert_array_equal(found.reference_error, 0.1)
    assert np.isinf([*found.level, *found.position, *found.speed]).all() and np.isinf(found.acceleration).all()
