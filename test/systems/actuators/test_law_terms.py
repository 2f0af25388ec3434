# SPDX-License-Identifier: Apache-2.0
"""Every term that can be switched on is found again where it is, from steps eight times as fine and noisy encoders."""

from __future__ import annotations

import pytest
from shared.driven_joint import BASE, motion_of

from sysid_nodes.data.config import from_flat
from sysid_nodes.models.actuator import INDEX, law_vector
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.judgement import judge, yardsticks


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


def test_a_value_is_claimed_where_it_is_narrow_beside_itself_or_beside_what_it_acts_with() -> None:
    """Either of the two is enough: a small armature of a heavy limb need not be known to a share of itself."""
    config = from_flat(ActuatorConfig, {})
    motion = motion_of(law_vector({"stribeck_speed": 0.1} | BASE), config)
    fit = fit_joint(motion, known_law(config, 0), config, config.fitted.names)

    def claimed(relative: float, share: float) -> set[str]:
        wanted = from_flat(ActuatorConfig, {"verdict.relative": relative, "verdict.share": share})
        return {row.name for row in judge(fit, wanted) if row.estimate is not None}

    never, always = 1e-6, 1.0
    assert {"armature", "coulomb", "viscous"} <= claimed(always, never)
    assert {"armature", "coulomb", "viscous"} <= claimed(never, always)
    assert not claimed(never, never)
    sizes = dict(zip(fit.problem.names, yardsticks(fit), strict=True))
    assert sizes["armature"] == pytest.approx(motion.inertia.mean() + fit.law[INDEX["armature"]])
    assert sizes["viscous"] == motion.damping
