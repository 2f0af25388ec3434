# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
from shared.actuator_stand import chirped, leg

from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.config import DoubtConfig
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint, known_law
from sysid_nodes.systems.actuators.nuisance import free_estimate
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare

CONFIG = ActuatorConfig()
THIGH = 1
BLOCK = 200


def motion() -> JointMotion:
    return prepare(chirped()[1], leg(), CONFIG)[THIGH]


def fitted(own: JointMotion) -> JointFit:
    return fit_joint(own, known_law(CONFIG, THIGH), CONFIG, CONFIG.fitted.names)


def test_heavier_bodies_move_an_estimate_by_what_their_doubt_says() -> None:
    own = motion()
    fit = fitted(own)
    heavier = fitted(replace(own, inertia=1.02 * own.inertia, load=1.02 * own.load))
    moved = heavier.parameters - fit.parameters
    doubt = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.02))
    found = free_estimate(replace(fit.problem, config=doubt), fit.solution, BLOCK).doubt
    none = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.0))
    found = found - free_estimate(replace(fit.problem, config=none), fit.solution, BLOCK).doubt
    # One cause: a covariance of rank one, of the shift itself. A tenth is what is not linear in two percent.
    off = np.abs(np.sqrt(np.diag(found)) - np.abs(moved))
    assert (off < 0.1 * np.abs(moved) + 0.1 * fit.covariance.sigma).all(), (np.sqrt(np.diag(found)), moved)
    assert np.linalg.matrix_rank(found / np.sqrt(np.outer(np.diag(found), np.diag(found))), tol=1e-6) == 1


def test_friction_at_rest_and_ripple_that_the_law_lacks_are_not_in_the_estimates() -> None:
    """The truth has a tenth of Coulomb's friction more at rest: a law without it finds too much of Coulomb's."""
    drives, _ = chirped()
    fit = fitted(motion())
    k = fit.problem.names.index("coulomb")
    true = drives.coulomb[THIGH]
    assert fit.solution.parameters[k] - true > 0.01 * true
    assert abs(fit.parameters[k] - true) < 0.5 * abs(fit.solution.parameters[k] - true)


def test_where_nothing_lacks_an_estimate_is_the_solution() -> None:
    fit = fitted(motion())
    config = replace(CONFIG, doubt=DoubtConfig(body_error=0.0, friction_at_rest=False, torque_waves=0))
    found = free_estimate(replace(fit.problem, config=config), fit.solution, BLOCK)
    assert (np.abs(found.parameters - fit.solution.parameters) < 0.05 * fit.covariance.sigma).all()
    assert (np.sqrt(np.diag(found.doubt)) < 0.02 * found.covariance.sigma).all()
    with_more = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.0))
    wider = free_estimate(replace(fit.problem, config=with_more), fit.solution, BLOCK)
    assert (np.diag(wider.covariance.plain) > np.diag(found.covariance.plain)).all()
