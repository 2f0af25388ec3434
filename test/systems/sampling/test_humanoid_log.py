# SPDX-License-Identifier: Apache-2.0
"""A simulated G1 whose drives have the gains of its file: at the truth, simulations follow its readings."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from shared.walking_log import walking_readings

from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.inertia import parameters_to_log_cholesky
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.systems.sampling.identify import prepare
from sysid_nodes.systems.sampling.log import motion_log
from sysid_nodes.systems.sampling.problem import ClipProblem, place_clips
from sysid_nodes.systems.sampling.settling import lead_in, settle_starts

LENGTH = 61
STIFFNESS = (100.0, 100.0, 100.0, 100.0, 40.0, 40.0, 100.0, 100.0, 100.0, 40.0, 40.0, 40.0, 40.0, 20.0, 20.0, 20.0)
DAMPING = (2.0, 2.0, 2.0, 2.0, 1.0, 1.0, 2.0, 1.5, 1.5, 0.6, 0.6, 0.6, 0.6, 0.4, 0.4, 0.4)
"""Of the robot's drives, as the file has to have them."""


def read() -> tuple[object, object, object]:
    """Configuration, readings and simulation of a loaded G1."""
    config = load_yaml(SamplingSessionConfig, Path("config/g1_sampling.yaml")).sampling
    gains = {"drive.stiffness": STIFFNESS, "drive.damping": DAMPING}
    load = {"load.mass": 3.0, "load.position": (0.05, 0.0, 0.15), "drive.strength": (0.0,)}
    return config, *walking_readings(1.6, robot="g1", **load, **gains)


def test_clips_of_a_loaded_humanoid_fit_its_true_torso_and_not_the_nominal_one():
    config, readings, sim = read()
    assert config.horizons.lead == pytest.approx(0.02), "or its soles settle within what is compared"
    found = misfits(config, readings, sim)
    assert found["true"] < 1.3, (
        "noise, and a start that is not settled to the end; 2.5 with legs of 0.8 times the stiffness"
    )
    assert found["nominal"] > 1.2 * found["true"]
    assert sim.truth.theta[0] == pytest.approx(10.817, abs=1e-3)


@pytest.mark.slow  # why the file has its step
def test_soles_creep_in_longer_steps():
    """Where they do, clips fit by a tenth or more worse."""
    config, readings, sim = read()
    fine, coarse = (misfits(one, readings, sim, ("true",))["true"] for one in (config, replace(config, step=0.002)))
    assert fine < 0.95 * coarse


def misfits(config, readings, sim, robots=("true", "nominal")):
    """Median of the clips' residuals in units of the stated noise, with the true torso and with the nominal one."""
    log = motion_log(readings, config.step)
    own, length = prepare(log, sim.robot, config), round(LENGTH * 0.001 / config.step)
    assert own.unknowns.links == ("torso_link",)
    assert not [name for name in own.unknowns.index if name.startswith("saturation")]
    true = own.unknowns.column("guess")
    true[:10] = parameters_to_log_cholesky(sim.truth.theta)
    for axis, bias in zip("xyz", sim.truth.gyro_bias, strict=True):
        true[own.unknowns.index[f"gyro_bias_{axis}"]] = bias
    first, lead = place_clips(log, length, 6, np.random.default_rng(3)), round(config.horizons.lead / config.step)
    problem = ClipProblem(log, config.noise, own.unknowns, own.simulator, first, length, own.guess.at(first), lead)
    misfit = {}
    for name in robots:
        vector = true if name == "true" else own.unknowns.column("guess")
        residual = settle_starts(lead_in(problem, vector, own.guess), vector, 6).residual
        misfit[name] = np.median(np.sqrt((residual**2).sum(axis=1) / (residual != 0.0).sum(axis=1)))
    return misfit
