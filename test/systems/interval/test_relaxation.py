# SPDX-License-Identifier: Apache-2.0
"""Which options an assumption rests on, and the mildest change of them that lets the data fit."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.results import Contradiction
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.relaxation import (
    MOST_RELAXED,
    calibrated_assumptions,
    growth,
    option_names,
    relax,
    unstated_assumptions,
)

CONFIG = IntervalIdentifierConfig()


def clash(**factors: float) -> Contradiction:
    named = {name.replace("_", " "): factor for name, factor in factors.items()}
    return Contradiction((0,), np.array([[0.0, 0.1]]), min(named, key=lambda name: named[name]), named)


def test_the_mildest_that_an_option_can_make() -> None:
    step = relax(CONFIG, clash(calibration_residuals=1.01, velocity_error=1.3, link_inertia=1.2))
    assert step is not None
    assert (step.assumption, step.keys) == ("link inertia", ("known_robot.inertia_relative",))
    assert step.config.known_robot.inertia_relative == pytest.approx(0.05 * 1.2 * 1.02)
    assert step.config == replace(CONFIG, known_robot=step.config.known_robot)
    assert step.sentence == "link inertia 1.23 times as large (known_robot.inertia_relative)"


def test_a_prior_grows_about_its_centre_and_mass_stays_positive() -> None:
    step = relax(CONFIG, clash(prior_of_the_body=3.0))
    assert step is not None
    prior = step.config.prior.bounds
    assert prior.lower[0] == 0.0
    np.testing.assert_allclose(prior.upper[1:] - prior.lower[1:], 3.06 * 2.0 * CONFIG.prior.bounds.half_width[1:])


def test_what_cannot_be_relaxed() -> None:
    assert relax(CONFIG, clash(velocity_error=np.inf)) is None
    assert relax(CONFIG, clash(torque_offset=1.5)) is None  # a bound of zero does not grow


def test_all_bounds_that_an_assumption_rests_on_grow_together() -> None:
    """What is not assumed, at zero, is not named."""
    between = clash(torque_between_samples=1.5)
    step = relax(CONFIG, between)
    assert step is not None and step.keys == ("noise.torque_rate",)
    smooth = replace(CONFIG, noise=replace(CONFIG.noise, torque_curvature=(1e3,), jerk=(30.0,)))
    step = relax(smooth, between)
    assert step is not None and step.keys == ("noise.torque_rate", "noise.torque_curvature")
    assert step.config.noise.torque_curvature == pytest.approx((1e3 * 1.5 * 1.02,))
    step = relax(smooth, clash(acceleration_between_samples=1.5))
    assert step is not None and step.keys == ("noise.acceleration", "noise.jerk")


def test_with_a_calibration_its_bound_has_a_factor_and_the_robot_is_its_own() -> None:
    calibrated = replace(CONFIG, calibration="calibration.json", target="payload")
    assert option_names("absolute torque noise", calibrated) == ("noise.torque_factor",)
    assert option_names("link inertia", calibrated) == ()
    step = relax(calibrated, clash(link_inertia=1.1, absolute_torque_noise=1.3))
    assert step is not None and step.config.noise.torque_factor == pytest.approx(1.3 * 1.02)


def test_no_number_of_small_steps_runs_out_before_the_data_fit() -> None:
    """Every contradiction shows a hundredth too little; it takes thirty times."""
    config, steps = CONFIG, 0
    while config.noise.velocity_error[0] < 30.0 * CONFIG.noise.velocity_error[0]:
        step = relax(config, clash(velocity_error=1.01), before=steps)
        assert step is not None
        config, steps = step.config, steps + 1
    assert steps < MOST_RELAXED


def test_an_option_grows_up_to_its_limit_where_that_is_enough() -> None:
    step = relax(CONFIG, clash(relative_torque_noise=39.9))
    assert step is not None and step.config.noise.torque_relative == (1.0,)
    assert step.factor == pytest.approx(40.0)
    step = relax(CONFIG, clash(relative_torque_noise=40.1, velocity_error=50.0))
    assert step is not None and step.assumption == "velocity error"
    assert relax(step.config, clash(relative_torque_noise=40.1)) is None
    # 0.9 / x times x may be more than 0.9.
    for gain in np.arange(0.02, 0.9, 0.01):
        loose = replace(CONFIG, known_robot=replace(CONFIG.known_robot, gain_relative=(float(gain),)))
        step = relax(loose, clash(torque_gain=1.0001), before=MOST_RELAXED)
        assert step is not None and step.config.known_robot.gain_relative == pytest.approx((0.9,))


def test_an_option_of_two_assumptions_grew_by_what_both_asked_for() -> None:
    config, steps = CONFIG, []
    for found in (clash(viscous_friction=2.0), clash(link_inertia=1.2), clash(Coulomb_friction=1.5)):
        step = relax(config, found)
        assert step is not None
        config, steps = step.config, [*steps, step]
    friction, inertia = config.known_robot.friction_relative / 0.05, config.known_robot.inertia_relative / 0.05
    assert [(name, factor) for name, _, factor in growth(steps)] == [
        ("viscous friction", pytest.approx(friction)),
        ("link inertia", pytest.approx(inertia)),
        ("Coulomb friction", pytest.approx(friction)),
    ]
    assert friction == pytest.approx(2.04 * 1.53)


def test_what_nobody_stated() -> None:
    names = ("velocity error", "prior of the body", "calibration residuals")
    assert unstated_assumptions(CONFIG, ("prior.lower",), names) == {"velocity error"}


def test_what_a_calibration_found() -> None:
    names = ("velocity error", "absolute torque noise", "link inertia", "prior of the body", "calibration residuals")
    assert not calibrated_assumptions(CONFIG, names)
    assert calibrated_assumptions(replace(CONFIG, calibration="c.json"), names) == {
        "absolute torque noise",
        "link inertia",
    }
