# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.actuator_stand import POSTURE, leg

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand


def still(drives: Drives, duration: float = 2.0) -> np.ndarray:
    """Where the joints come to rest when they are told one position."""
    t = 0.005 * np.arange(int(duration / 0.005))
    command = np.tile(POSTURE, (len(t), 1))
    return move_on_stand(leg(), drives, t, command).read(noise=0.0, rng=np.random.default_rng(0)).q


def drawn() -> Drives:
    return Drives.draw(3, np.random.default_rng(0))


def test_dry_friction_holds_what_the_drive_would_move() -> None:
    """The bias pulls with 0.2 N m at most, friction gives more than gravity and that; with less it moves."""
    bias = np.array([0.01, 0.01, 0.01])
    held = replace(drawn(), encoder_bias=bias, coulomb=np.full(3, 3.0))
    free = replace(drawn(), encoder_bias=bias, coulomb=np.full(3, 1e-3))
    assert np.abs(still(held)[-1] - POSTURE).max() < 4e-3  # MuJoCo's dry friction creeps a little
    assert np.abs(still(free)[-1] - POSTURE).max() > 0.01


def test_the_bodies_torque_is_what_accelerates_them() -> None:
    """What they take is what drive and friction give: m l^2 qdd + gravity, half a percent more for heavier bodies."""
    t, command = chirp(ChirpConfig(duration=2.0, first=1.0, last=2.0), POSTURE)
    drives = replace(drawn(), coulomb=np.full(3, 1e-6), viscous=np.zeros(3), mass_error=0.2)
    motion = move_on_stand(leg(), drives, t, command)
    driven = drives.stiffness * (motion.wanted - motion.q) - drives.damping * motion.qd
    given = np.stack([np.convolve(column, np.full(10, 0.1), mode="same") for column in driven.T], axis=1)[::10]
    acceleration = (motion.qd[15::10] - motion.qd[5:-10:10]) / 5e-3
    rest = given[1 : len(acceleration) + 1] - drives.armature * acceleration
    taken = motion.body_torque()[1 : len(acceleration) + 1]
    inner = slice(20, -20)
    assert np.sqrt(np.mean((taken - rest)[inner] ** 2)) < 0.02 * np.sqrt(np.mean(rest[inner] ** 2))


def test_a_delay_moves_the_whole_motion() -> None:
    t, command = chirp(ChirpConfig(duration=2.0, first=1.0, last=1.0), POSTURE)
    rng = np.random.default_rng(0)
    quick, late = (replace(drawn(), delay=np.full(3, delay)) for delay in (0.0, 0.02))
    one, other = (move_on_stand(leg(), drives, t, command).read(noise=0.0, rng=rng).q for drives in (quick, late))
    # Four samples of 5 ms; what differs in how they start is gone after half a second.
    assert np.abs(one[100:-4] - other[104:]).max() < 1e-3
    assert np.abs(one - other).max() > 0.02


def test_a_leg_that_is_not_there_is_refused() -> None:
    with pytest.raises(RobotError, match="has no joint whose name begins with 'XX'"):
        limb(load_robot("go2"), "XX")


def test_a_chirp_ends_at_its_last_frequency() -> None:
    t, command = chirp(ChirpConfig(duration=20.0, first=0.5, last=3.0, amplitude=0.2, rate=1000.0), np.zeros(1))
    assert np.abs(command).max() == pytest.approx(0.2, abs=1e-3)
    crossings = t[1:][np.diff(np.sign(command[:, 0])) != 0.0]
    assert 0.5 / np.diff(crossings)[-1] == pytest.approx(3.0, rel=0.03)
