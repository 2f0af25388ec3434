# SPDX-License-Identifier: Apache-2.0
"""A second and a half of the simulated Go2 with a load, its motors following set-points, and what is needed of it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from shared.walking_log import walking_readings

from sysid_nodes.data.config import from_flat
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.identify import Setting, prepare
from sysid_nodes.systems.sampling.log import MotionLog, motion_log


class Walk(NamedTuple):
    config: SamplingConfig
    log: MotionLog
    setting: Setting
    truth: np.ndarray
    """(K,) of the unknowns."""
    readings: object


SMALL = {"horizons.lengths": (0.03,), "horizons.clips": (6,), "horizons.iterations": (1,), "threads": 1}


@pytest.fixture(scope="session")
def walk() -> Walk:
    config = from_flat(SamplingConfig, SMALL)
    readings, sim = walking_readings(1.5)
    log = motion_log(readings, config.step)
    setting = prepare(log, sim.robot, config)
    return Walk(config, log, setting, true_vector(setting, sim), readings)


def true_vector(setting, sim):
    from sysid_nodes.data.inertia import parameters_to_log_cholesky

    unknowns = setting.unknowns
    vector = unknowns.column("guess")
    vector[:10] = parameters_to_log_cholesky(sim.truth.theta)
    known = {f"saturation:{k}": (25.0 / s) ** 2 for k, s in {"hip": 22.5, "thigh": 25.0, "calf": 23.5}.items()}
    known["holding_friction"] = 0.1
    known["compliance"] = np.log(1.2)
    known |= {f"gyro_bias_{a}": x for a, x in zip("xyz", sim.truth.gyro_bias, strict=True)}
    known |= {f"alignment_{a}": x for a, x in zip("xyz", rotation_vector(sim.truth.mocap_bias), strict=True)}
    for name, value in known.items():
        vector[unknowns.index[name]] = value
    return vector


def rotation_vector(matrix):
    import pinocchio

    return pinocchio.log3(matrix)
