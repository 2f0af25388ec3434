# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
from shared.actuator_stand import chirp_log, leg

from sysid_nodes.models.actuator import INDEX
from sysid_nodes.systems.actuators import ActuatorConfig
from sysid_nodes.systems.actuators.config import DoubtConfig
from sysid_nodes.systems.actuators.fit import JointFit, fit_joint, known_law
from sysid_nodes.systems.actuators.nuisance import free_estimate
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_joint

CONFIG = ActuatorConfig()
THIGH = 1
BLOCK = 200


def motion() -> JointMotion:
    return prepare(chirp_log()[1], leg(), CONFIG)[THIGH]


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
    drives, _ = chirp_log()
    fit = fitted(motion())
    k = fit.problem.names.index("coulomb")
    true = drives.coulomb[THIGH]
    assert fit.solution.parameters[k] - true > 0.01 * true
    assert abs(fit.parameters[k] - true) < 0.5 * abs(fit.solution.parameters[k] - true)


def test_where_nothing_lacks_an_estimate_is_the_solution() -> None:
    fit = fitted(motion())
    config = replace(
        CONFIG, doubt=DoubtConfig(body_error=0.0, friction_at_rest=False, friction_with_load=False, torque_waves=0)
    )
    found = free_estimate(replace(fit.problem, config=config), fit.solution, BLOCK)
    assert (np.abs(found.parameters - fit.solution.parameters) < 0.05 * fit.covariance.sigma).all()
    assert (np.sqrt(np.diag(found.doubt)) < 0.02 * found.covariance.sigma).all()
    with_more = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.0))
    wider = free_estimate(replace(fit.problem, config=with_more), fit.solution, BLOCK)
    assert (np.diag(wider.covariance.plain) > np.diag(found.covariance.plain)).all()


def noisy_replay(own: JointMotion, fit: JointFit, law: np.ndarray | None = None) -> JointMotion:
    """The motion as the law has it, and as an encoder reads that."""
    noise = 8e-4 * np.random.default_rng(2).standard_normal(len(own.t))
    return replace(own, q=replay_joint(own, fit.law if law is None else law, CONFIG) + noise)


def test_a_torque_that_does_not_end_as_it_begins_moves_few_estimates() -> None:
    """Two and six tenths of a wave over the travel: sums of whole waves leave half a sigma of it in friction."""
    own = motion()
    lawful = noisy_replay(own, fitted(own))
    position = np.interp(own.edges[:-1] + 0.5 * own.step, own.t, own.smooth)
    ripple = 0.03 * np.sin(2.0 * np.pi * 2.6 * (position - own.smooth.min()) / np.ptp(own.smooth))
    without, with_ripple = fitted(lawful), fitted(replace(lawful, load=own.load + ripple))
    told = [without.problem.names.index(name) for name in ("armature", "delay", "viscous", "coulomb")]
    sigma = without.covariance.sigma[told]
    assert np.abs((with_ripple.solution.parameters - without.solution.parameters)[told] / sigma).max() > 1.5
    assert np.abs((with_ripple.parameters - without.parameters)[told] / sigma).max() < 0.4


def test_friction_that_grows_with_the_load_is_not_in_the_estimates() -> None:
    """4 % of the load: left out, it moves viscous and Coulomb friction by many sigmas."""
    own = motion()
    fit = fitted(own)
    law = fit.law.copy()
    law[INDEX["load_friction"]] = 0.04
    loaded = noisy_replay(own, fit, law)
    doubt = replace(CONFIG.doubt, friction_with_load=False)
    without = replace(CONFIG, doubt=doubt)
    names = CONFIG.fitted.names
    off = {}
    for name, config in (("with", CONFIG), ("without", without)):
        found = fit_joint(loaded, known_law(config, THIGH), config, names)
        off[name] = (np.abs(found.parameters - law[[INDEX[n] for n in names]]) / found.covariance.sigma)[
            [names.index(n) for n in ("viscous", "coulomb")]
        ]
    assert off["with"].max() < 3.0 < off["without"].max(), off


def test_noise_is_no_torque_that_the_law_lacks() -> None:
    own = motion()
    config = replace(CONFIG, doubt=replace(CONFIG.doubt, body_error=0.0))
    fit = fit_joint(noisy_replay(own, fitted(own)), known_law(config, THIGH), config, config.fitted.names)
    assert (np.sqrt(np.diag(fit.doubt)) < 0.1 * fit.covariance.sigma).all()


def test_what_is_stated_needs_no_blocks_to_be_known_from() -> None:
    fit = fitted(motion())
    stated = np.diag(fit.doubt) / np.diag(fit.covariance.matrix)
    bias, friction = (fit.problem.names.index(name) for name in ("encoder_bias", "position_friction"))
    assert stated[bias] > 0.9 and stated[friction] < 0.1
    assert fit.covariance.freedom[bias] > 1e3
    assert fit.covariance.freedom[friction] < fit.covariance.blocks
