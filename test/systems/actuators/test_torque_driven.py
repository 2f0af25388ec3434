# SPDX-License-Identifier: Apache-2.0
"""Logs without commands: measured torques drive the joints."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from shared.actuator_stand import POSTURE, leg

from sysid_nodes.data.config import from_flat
from sysid_nodes.simulation.actuators.chirp import ChirpConfig, chirp
from sysid_nodes.simulation.actuators.stand import Drives, move_on_stand
from sysid_nodes.systems.actuators import ActuatorConfig, identify
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_error, replay_joint

CALF = 2
SCALE = 1.2


CONFIG = from_flat(ActuatorConfig, {"law.command": "straight"})


@cache
def driven() -> tuple[Drives, JointMotion]:
    """Of a calf whose efforts are in another unit."""
    rng = np.random.default_rng(1)
    drives = Drives.draw(3, rng)
    t, command = chirp(ChirpConfig(duration=8.0, last=4.0, amplitude=0.25), POSTURE)
    log = move_on_stand(leg(), drives, t, command).read(noise=2e-4, rng=rng, efforts=True)
    return drives, prepare(replace(log, torque=log.torque / SCALE), leg(), CONFIG)[CALF]


def test_gain_friction_and_armature_come_out_of_torques_in_another_unit() -> None:
    drives, motion = driven()
    assert motion.open_loop
    names = CONFIG.fitted.open_names
    assert {"gain", "torque_offset"} < set(names)
    assert "encoder_bias" not in names
    fit = fit_joint(motion, known_law(CONFIG, CALF), CONFIG, names)
    found = dict(zip(names, fit.parameters, strict=True))
    assert found["gain"] == pytest.approx(SCALE, rel=0.05)
    assert found["armature"] == pytest.approx(drives.armature[CALF], rel=0.1)
    assert found["coulomb"] == pytest.approx(drives.coulomb[CALF], rel=0.05)
    assert found["viscous"] == pytest.approx(drives.viscous[CALF], rel=0.1)


def test_a_replay_without_commands_starts_its_pieces_where_they_follow_best() -> None:
    """From filtered velocities they run 1.0 mrad off where the noise is 0.2 mrad; from fitted states 0.31 mrad."""
    _, motion = driven()
    joint, _, _ = identify._identify_joint(motion, known_law(CONFIG, CALF), CONFIG)
    shown = replay_error(motion, replay_joint(motion, joint.law, CONFIG))
    assert shown == joint.replay
    assert shown.rmse < 2.0 * 2e-4


def test_efforts_that_hardly_move_a_body_tell_nothing_of_their_scale() -> None:
    """A UR10e's wrist: 98 % of its efforts are friction, and a fit makes a fifth of them explain the motion best."""
    _, motion = driven()
    light = replace(motion, torque=0.01 * motion.torque)
    joint, objection, _ = identify._identify_joint(light, known_law(CONFIG, CALF), CONFIG)
    assert "this motion does not tell how strong the drive is, nor what is scaled by that" in objection.text
    assert not objection.refutes
    assert not any(p.identifiable for p in joint.parameters)
    assert not identify._identify_joint(motion, known_law(CONFIG, CALF), CONFIG)[1].text


def test_a_gain_of_efforts_is_told_for_what_it_is() -> None:
    """Its sigma is a fraction of what such logs' efforts are off by themselves."""
    rng = np.random.default_rng(1)
    t, command = chirp(ChirpConfig(duration=8.0, last=4.0, amplitude=0.25), POSTURE)
    log = move_on_stand(leg(), Drives.draw(3, rng), t, command).read(noise=2e-4, rng=rng, efforts=True)
    result = identify.identify_actuators(log, leg(), CONFIG)
    assert any(joint.parameter("gain").identifiable for joint in result.joints)
    assert any("gains are of drive, gear and description together" in text for text in result.findings)
