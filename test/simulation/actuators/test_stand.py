# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.actuator_stand import POSTURE, leg

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, run_on_stand


def still(drives: Drives, duration: float = 2.0) -> np.ndarray:
    """Where the joints come to rest when they are told one position."""
    t = 0.005 * np.arange(int(duration / 0.005))
    command = np.tile(POSTURE, (len(t), 1))
    return run_on_stand(leg(), drives, t, command, noise=0.0, rng=np.random.default_rng(0)).q


def drawn() -> Drives:
    return Drives.draw(3, np.random.default_rng(0))


def test_dry_friction_holds_what_the_drive_would_move() -> None:
    """The bias pulls with 0.2 N m at most, friction gives more than gravity and that; with less it moves."""
    bias = np.array([0.01, 0.01, 0.01])
    held = replace(drawn(), encoder_bias=bias, coulomb=np.full(3, 3.0))
    free = replace(drawn(), encoder_bias=bias, coulomb=np.full(3, 1e-3))
    assert np.abs(still(held)[-1] - POSTURE).max() < 4e-3  # MuJoCo's dry friction creeps a little
    assert np.abs(still(free)[-1] - POSTURE).max() > 0.01


def test_a_delay_moves_the_whole_motion() -> None:
    t, command = chirp(ChirpConfig(duration=2.0, first=1.0, last=1.0), POSTURE)
    rng = np.random.default_rng(0)
    quick, late = (replace(drawn(), delay=np.full(3, delay)) for delay in (0.0, 0.02))
    one, other = (run_on_stand(leg(), drives, t, command, noise=0.0, rng=rng).q for drives in (quick, late))
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
