# SPDX-License-Identifier: Apache-2.0
"""What each option of law, motion, fit and verdict changes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from shared.actuator_stand import chirp_log, leg
from shared.driven_joint import BASE, motion_of

from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.models.actuator import INDEX, law_vector
from sysid_nodes.systems.actuators import ActuatorConfig, identify
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint, known_law
from sysid_nodes.systems.actuators.log_checks import check_motions
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare

PLAIN = {"fitted.position_friction": False, "doubt.torque_waves": 0, "fitted.encoder_bias": False}


def config_of(**values: Any) -> ActuatorConfig:
    return from_flat(ActuatorConfig, {name.replace("__", "."): value for name, value in values.items()})


def calf(config: ActuatorConfig) -> JointMotion:
    return prepare(chirp_log()[1], leg(), config)[2]


def fit_calf(config: ActuatorConfig) -> JointFit:
    return fit_joint(calf(config), known_law(config, 2), config, config.fitted.names)


@pytest.mark.parametrize(
    ("law", "known"),
    [
        ({"backlash": 0.03}, {"law.backlash": [0.03]}),
        ({"dead_zone": 0.6}, {"law.dead_zone": [0.6]}),
        ({"torque_limit": 3.0}, {"law.torque_limit": [3.0]}),
        ({"torque_limit": 3.0}, {"law.torque_limit": [3.0], "law.saturation": "hard"}),
        (
            {"torque_limit": 4.0, "no_load_speed": 4.0},
            {"law.torque_limit": [4.0], "law.no_load_speed": [4.0], "law.saturation": "hard"},
        ),
        ({"stribeck": 0.3, "stribeck_speed": 0.5}, {"fitted.stribeck": True, "law.stribeck_speed": 0.5}),
        ({}, {"law.rest_speed": 0.5}),
    ],
    ids=lambda value: "+".join(value),
)
def test_what_is_known_of_a_law_is_used(law: dict[str, float], known: dict[str, Any]) -> None:
    """With what is known a joint's motion is explained to its noise, without any one of it by half as well."""

    def left(values: dict[str, Any]) -> float:
        config = from_flat(ActuatorConfig, PLAIN | values)
        fit = fit_joint(motion, known_law(config, 0), config, config.fitted.names)
        return float(np.sqrt(2.0 * fit.solution.equations.cost / fit.problem.samples))

    true = from_flat(ActuatorConfig, PLAIN | known)
    motion = motion_of(law_vector({"stribeck_speed": true.law.stribeck_speed} | BASE | law), true)
    best = left(known)
    for name in known:
        if not name.startswith("fitted"):
            assert left({other: value for other, value in known.items() if other != name}) > 1.5 * best, name


def test_straight_commands_are_half_a_period_ahead_of_held_ones() -> None:
    """So what follows both is later than the former by as much more."""
    _, log = chirp_log()
    period = float(np.median(np.diff(log.command_t)))
    held, straight = (fit_calf(config_of(law__command=kind)).law[INDEX["delay"]] for kind in ("held", "straight"))
    assert straight - held == pytest.approx(0.5 * period, abs=0.1 * period)


def test_a_lower_cutoff_leaves_less_of_the_motion() -> None:
    slow, fast = (np.std(calf(config_of(motion__cutoff=cutoff)).velocity) for cutoff in (1.0, 15.0))
    assert slow < 0.7 * fast


@pytest.mark.parametrize(("gap", "breaks"), [(0.05, 1), (0.5, 0)])
def test_a_hole_longer_than_the_gap_begins_a_segment(gap: float, breaks: int) -> None:
    _, log = chirp_log()
    kept = (log.t < 5.0) | (log.t > 5.2)
    motion = prepare(replace(log, t=log.t[kept], q=log.q[kept]), leg(), config_of(motion__gap=gap))[0]
    assert len(motion.breaks) == breaks
    assert motion.measured.all() == (breaks == 0)


def test_a_joint_has_to_move_by_the_travel() -> None:
    _, log = chirp_log()
    config = config_of(motion__travel=2.0)
    with pytest.raises(ExcitationError, match="was commanded to move by"):
        check_motions(log, prepare(log, leg(), config), config)


def test_steps_are_no_longer_than_allowed() -> None:
    assert calf(config_of(motion__step=1e-3)).stride == 5
    assert calf(config_of(motion__step=5e-3)).stride == 1


def test_weights_segments_and_blocks_are_those_asked_for() -> None:
    config = config_of(
        shooting__speed_sigma=0.2, shooting__residual_sigma=4e-3, shooting__block=2.0, shooting__horizons=[0.5]
    )
    fit = fit_calf(config)
    assert fit.problem.start(np.array([0]))[1][1] == pytest.approx((4e-3 / 0.2) ** 2)
    assert fit.covariance.blocks == int(fit.problem.samples * 5e-3 / 2.0)
    assert np.median(np.diff(fit.solution.first)) == 100
    assert fit_calf(config_of(shooting__iterations=1)).solution.status.converged is False


def test_a_robust_loss_bounds_what_single_readings_do() -> None:
    drives, log = chirp_log()
    q = log.q.copy()
    q[100::97] += 0.05  # rad, of noise .8e-3
    spoilt = replace(log, q=q)
    off = []
    for robust in (4.0, 0.0):
        config = config_of(shooting__robust=robust)
        motion = prepare(spoilt, leg(), config)[2]
        law = fit_joint(motion, known_law(config, 2), config, config.fitted.names).law
        off.append(abs(law[INDEX["encoder_bias"]] - drives.encoder_bias[2]))
    assert off[0] < 0.5 * off[1]


@pytest.mark.parametrize(
    ("options", "identifiable"),
    [
        ({}, True),
        ({"verdict__relative": 0.0, "verdict__share": 0.0}, False),
        ({"verdict__relative": 0.0}, True),
        ({"verdict__share": 0.0}, True),
        ({"verdict__unexplained": 1e-4}, False),
        ({"verdict__longest_delay": 1e-4}, False),
    ],
)
def test_limits_of_the_verdict_are_those_asked_for(options: dict[str, Any], identifiable: bool) -> None:
    config = config_of(**options)
    joint, objection, _ = identify._identify_joint(calf(config), known_law(config, 2), config)
    assert joint.parameter("coulomb").identifiable == identifiable
    assert ("unexplained; are its gains right?" in objection.text) == ("verdict__unexplained" in options)
    assert objection.refutes == ("verdict__unexplained" in options or "verdict__longest_delay" in options)


@pytest.mark.parametrize(("factor", "refuted"), [(1.25, True), (5.0, False)])
def test_gains_may_be_off_by_the_factor(factor: float, refuted: bool) -> None:
    _, log = chirp_log()
    off = replace(log, stiffness=0.3 * log.stiffness, damping=0.3 * log.damping)
    config = config_of(verdict__gain_factor=factor)
    motion = prepare(off, leg(), config)[2]
    assert identify._identify_joint(motion, known_law(config, 2), config)[1].refutes == refuted
