# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
from shared.actuator_stand import chirped, leg

from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.doubts import doubt_covariance
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint, known_law
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare

CONFIG = ActuatorConfig()
THIGH = 1


def motion() -> JointMotion:
    return prepare(chirped()[1], leg(), CONFIG)[THIGH]


def fitted(own: JointMotion) -> JointFit:
    return fit_joint(own, known_law(CONFIG, THIGH), CONFIG, CONFIG.fitted.names)


def test_heavier_bodies_move_a_fit_by_what_their_doubt_says() -> None:
    own = motion()
    fit = fitted(own)
    heavier = fitted(replace(own, inertia=1.02 * own.inertia, load=1.02 * own.load))
    moved = heavier.solution.parameters - fit.solution.parameters
    doubt = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.02, friction_at_rest=False))
    found = doubt_covariance(replace(fit.problem, config=doubt), fit.solution)
    # One cause: a covariance of rank one, of the shift itself. A tenth is what is not linear in two percent.
    off = np.abs(np.sqrt(np.diag(found)) - np.abs(moved))
    assert (off < 0.1 * np.abs(moved) + 0.1 * fit.covariance.sigma).all(), (np.sqrt(np.diag(found)), moved)
    assert np.linalg.matrix_rank(found / np.sqrt(np.outer(np.diag(found), np.diag(found))), tol=1e-6) == 1


def test_friction_at_rest_that_is_there_widens_coulombs_sigma() -> None:
    """The truth has a tenth of Coulomb's friction more at rest: a fit that knows of it finds less of Coulomb's."""
    fit = fitted(motion())
    k = fit.problem.names.index("coulomb")
    alone = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.0))
    found = np.sqrt(doubt_covariance(replace(fit.problem, config=alone), fit.solution)[k, k])
    names = (*CONFIG.fitted.names[:-2], "stribeck", *CONFIG.fitted.names[-2:])
    knowing = fit_joint(fit.problem.motion, known_law(CONFIG, THIGH), CONFIG, names)
    less = fit.law[9] - knowing.law[9]
    assert less > 0.0
    assert 0.5 * less < found < 2.0 * less


def test_without_doubts_there_is_nothing_to_add() -> None:
    fit = fitted(motion())
    none = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.0, friction_at_rest=False))
    assert not doubt_covariance(replace(fit.problem, config=none), fit.solution).any()
