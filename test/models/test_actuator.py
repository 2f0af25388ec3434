# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.kernel.joint_law import COMMAND, DAMPING, LAW, SIGNALS, STIFFNESS
from sysid_nodes.models.actuator import INDEX, LEVELS, PARAMETERS, actuator_torque, friction_levels, law_vector


def test_the_parameters_are_in_the_laws_order() -> None:
    assert tuple(p.name for p in PARAMETERS) == (*LAW, *LEVELS)
    assert all(p.lower <= p.start <= p.upper for p in PARAMETERS)


def torque(q: float, w: float, values: dict[str, float], *, command: float = 0.0, load: float = 0.0) -> float:
    signals = np.zeros((1, SIGNALS + len(LEVELS)))
    signals[0, [COMMAND, STIFFNESS, DAMPING]] = command, 20.0, 1.0
    signals[:, SIGNALS:] = friction_levels(np.array([q]), np.array([load]), 0.5)
    return float(
        actuator_torque(np.array([q]), np.array([w]), signals, law_vector(values), smoothing=1e-6, hard=True).torque[0]
    )


def test_a_neutral_law_is_the_drives_own_pd_law() -> None:
    assert torque(0.1, 2.0, {}, command=0.4) == pytest.approx(20.0 * 0.3 - 2.0)


@pytest.mark.parametrize(
    ("values", "w", "less"),
    [
        ({"viscous": 0.3}, 2.0, 0.6),
        ({"coulomb": 0.4}, -2.0, -0.4),
        ({"coulomb": 0.4, "position_friction": 0.5}, 2.0, 0.4 + 0.5 * (0.1 - 0.5)),
        ({"coulomb": 0.1, "position_friction": 0.5}, 2.0, 0.0),  # dry friction never drives
        ({"load_friction": 0.1}, 2.0, 0.3),
        ({"stribeck": 0.2, "stribeck_speed": 0.1}, 0.1, 0.2 / np.e),
        ({"encoder_bias": 0.05}, 0.0, 1.0),
        ({"torque_offset": 0.3}, 2.0, -0.3),
        ({"gain": 0.5}, 0.0, 0.5 * 20.0 * 0.3),
        ({"backlash": 0.1}, 2.0, 20.0 * 0.05),
        ({"backlash": 0.8}, 2.0, 4.0),  # nothing passes the gap, not the drive's damping either
        ({"dead_zone": 1.5}, 0.0, 1.5),
        ({"dead_zone": 7.0}, 0.0, 6.0),
        ({"torque_limit": 2.0}, 0.0, 4.0),
        ({"torque_limit": 5.0, "no_load_speed": 4.0}, 2.0, 4.0 - 2.5),
        ({"torque_limit": 5.0, "no_load_speed": 4.0}, -2.0, 8.0 - 5.0),  # a brake has all its torque
        ({"torque_limit": 5.0, "no_load_speed": 4.0}, 5.0, 1.0),
    ],
)
def test_each_parameter_does_what_it_says(values: dict[str, float], w: float, less: float) -> None:
    free = torque(0.1, w, {}, command=0.4)
    assert torque(0.1, w, values, command=0.4, load=-3.0) == pytest.approx(free - less, abs=1e-3)


def test_an_unknown_parameter_is_refused() -> None:
    with pytest.raises(ConfigError, match="no parameter 'wear'; it has armature, delay") as told:
        law_vector({"wear": 0.1})
    assert len(str(told.value)) < 150
    with pytest.raises(ConfigError, match="no parameter 'coulom'; did you mean 'coulomb'"):
        law_vector({"coulom": 0.1})
    assert law_vector({"coulomb": 0.3})[INDEX["coulomb"]] == 0.3
