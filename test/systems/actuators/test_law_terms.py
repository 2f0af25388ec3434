# SPDX-License-Identifier: Apache-2.0
"""Every term that can be switched on is found again where it is, from steps eight times as fine and noisy encoders."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.models.actuator import INDEX, friction_levels, law_vector
from sysid_nodes.models.held_command import HeldCommand
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.judgement import judge
from sysid_nodes.systems.actuators.preparation import JointMotion

DURATION, DT, FINE = 10.0, 5e-3, 8
BASE = {"armature": 0.02, "delay": 0.003, "viscous": 0.2, "coulomb": 0.2}
NOISE = 1e-4


def motion_of(law: np.ndarray, config: ActuatorConfig) -> JointMotion:
    """A joint with a weight on it, told a chirp and steps; what it then does at steps of an eighth of a millisecond."""
    t = DT * np.arange(round(DURATION / DT) + 1)
    command = 0.3 * np.sin(2.0 * np.pi * (0.2 + 0.2 * t) * t) + 0.15 * np.sign(np.sin(2.3 * t))
    ticks = round(DT / 1e-3)

    def along(stride: int) -> JointMotion:
        count = (len(t) - 1) * stride
        load = 1.5 * np.sin(0.9 * (np.arange(count) + 0.5) * DT / stride)
        return JointMotion(
            name="joint", t=t, q=command, smooth=command, velocity=0.0 * t, acceleration=0.0 * t,
            measured=np.ones(len(t), dtype=np.bool_), breaks=(), step=DT / stride, stride=stride,
            command=HeldCommand(t, command), command_rate=None, command_torque=None, stiffness=20.0, damping=1.0,
            inertia=np.full(count, 0.03), load=load, torque=0.0 * t,
            levels=friction_levels(np.zeros(count), load, 0.0), middle=0.0,
        )  # fmt: skip

    fine = JointProblem(along(ticks * FINE), config, law, ())
    found = fine.simulate(np.zeros(0), np.array([0]), np.array([[command[0], 0.0]]))
    q = found.position + NOISE * np.random.default_rng(0).standard_normal(len(t))
    return replace(along(ticks), q=q, smooth=found.position, velocity=found.velocity)


@pytest.mark.parametrize(
    ("extra", "settings", "tolerance"),
    [
        ({"backlash": 0.02}, {}, 0.05),
        ({"dead_zone": 0.3}, {}, 0.1),
        ({"torque_limit": 3.0}, {"law.saturation": "hard", "law.torque_limit": [5.0]}, 0.03),
        ({"torque_limit": 4.0}, {"law.saturation": "tanh"}, 0.03),
        (
            {"torque_limit": 4.0, "no_load_speed": 6.0},
            {"law.saturation": "hard", "law.torque_limit": [5.0], "law.no_load_speed": [9.0]},
            0.12,
        ),
        ({"stribeck": 0.15}, {}, 0.1),
        ({"stribeck": 0.2, "stribeck_speed": 0.15}, {}, 0.15),
        ({"load_friction": 0.15}, {}, 0.05),
        ({"torque_offset": 0.2}, {"fitted.encoder_bias": False}, 0.05),
    ],
    ids=lambda value: "+".join(value) if isinstance(value, dict) else "",
)
def test_a_term_is_found_again(extra: dict[str, float], settings: dict[str, object], tolerance: float) -> None:
    fitted = {f"fitted.{name}": True for name in extra}
    config = from_flat(ActuatorConfig, {"fitted.position_friction": False, "doubt.torque_waves": 0} | fitted | settings)
    motion = motion_of(law_vector({"stribeck_speed": 0.1} | BASE | extra), config)
    fit = fit_joint(motion, known_law(config, 0), config, config.fitted.names)
    assert fit.solution.status.converged
    for name, value in extra.items():
        assert fit.law[INDEX[name]] == pytest.approx(value, rel=tolerance), name


def test_a_limit_that_is_never_reached_has_no_value() -> None:
    config = from_flat(ActuatorConfig, {"fitted.torque_limit": True, "law.saturation": "hard"})
    motion = motion_of(law_vector({"stribeck_speed": 0.1} | BASE), config)
    fit = fit_joint(motion, known_law(config, 0), config, config.fitted.names)
    found = {row.name: row for row in judge(fit, config)}
    assert found["coulomb"].estimate == pytest.approx(BASE["coulomb"], rel=0.05)
    assert found["torque_limit"].estimate is None
    assert "it could be anything" in found["torque_limit"].reason
