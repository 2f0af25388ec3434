# SPDX-License-Identifier: Apache-2.0
"""What the model box can do against the law, against real models, real commands and the matrices of pinocchio."""

from itertools import product

import numpy as np
import pinocchio
import pytest
from shared.certified_arm import box, draw_in_ball, model, plan, robot
from shared.quick_and_slow import mark_slow

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.passivity import passive_inverse_dynamics
from sysid_nodes.models.robust_control import RobustControlConfig, RobustLaw, gains
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, robust_input
from sysid_nodes.systems.certified.certificate.disturbance import _together, demand
from sysid_nodes.systems.certified.certificate.error_proof import closed_loop
from sysid_nodes.systems.certified.certificate.motion import desired_motion, jerk_bound

CHAIN = Chain.from_robot(robot())
CONTROL = RobustControlConfig(delay=0.001)
EDGES = np.linspace(0.0, 3.0, 17)
AGE = CONTROL.age


def setup(bounds, wanted):
    law = gains(robot(), CONTROL)
    loop = closed_loop(bounds, law, CONTROL)
    assumed = Assumed(np.full(17, 0.01), np.full(17, 0.03), np.full((17, 7), 5.0))
    desired, jerk = desired_motion(wanted, EDGES), jerk_bound(wanted, EDGES)
    return law, loop, assumed, demand(CHAIN.tree, desired, jerk, bounds, law, loop, assumed)


def matrices(theta, q, qd):
    made = robot().model.copy()
    for i, row in enumerate(theta):
        made.inertias[i + 1] = pinocchio.Inertia.FromDynamicParameters(row)
    data = made.createData()
    mass = pinocchio.crba(made, data, q)
    mass = np.triu(mass) + np.triu(mass, 1).T - np.diag(made.armature)
    return mass, pinocchio.computeCoriolisMatrix(made, data, q, qd).copy()


@pytest.mark.parametrize(("seed", "share"), mark_slow(product(range(3), [1.0, 0.1]), but=[(1, 1.0)]))
def test_no_model_asks_for_more(share, seed):
    rng, bounds, wanted = np.random.default_rng(seed), box(share), plan(0.8, seed=seed, moving=0.3)
    law, loop, assumed, found = setup(bounds, wanted)
    tube, gain = assumed.tube(loop), law.position_gain
    nominal = RobustLaw(robot(), bounds.theta, bounds.motor, CONTROL)
    used = 0.0
    for _ in range(150):
        theta, motor = model(bounds, rng, corner=rng.random() < 0.8)
        i = rng.integers(0, 16)
        t = rng.uniform(EDGES[i] + (AGE if i == 0 else 0.0), EDGES[i + 1])
        e = 0.95 * draw_in_ball(rng, 2, 7)[1] * tube.position[i]
        r = 0.95 * draw_in_ball(rng, 2, 7)[1] * tube.reference[i]
        rd = rng.choice([-1.0, 1.0], 7) * assumed.acceleration[i]
        # The state the torque in force was computed from, and its measurement.
        age, e0, r0 = AGE * rng.choice([1.0, rng.random()]), e.copy(), r.copy()
        for _ in range(4):
            e0 = e0 - 0.25 * age * (r0 - gain * e0)
            r0 = r0 - 0.25 * age * rd
        now, then = wanted(t), wanted(t - age)
        q, qd_a = now.q - e, now.qd + gain * e
        qd, qdd_a = qd_a - r, now.qdd + gain * (r - gain * e)
        seen_q = then.q - e0 + rng.choice([-1.0, 1.0], 7) * law.position_error
        seen_qd = then.qd + gain * e0 - r0 + rng.choice([-1.0, 1.0], 7) * law.velocity_error
        command = nominal.command(seen_q, seen_qd, then, np.full(7, np.inf))
        robust = law.damping * command.reference_error
        seen_qd_a = then.qd + gain * (then.q - seen_q)
        friction = np.clip(seen_qd_a / CONTROL.sign_width, -1.0, 1.0)
        needed = passive_inverse_dynamics(CHAIN, theta.ravel(), *(x[None] for x in (q, qd, qd_a, qdd_a)))[0]
        needed += motor.viscous * qd_a + motor.armature * qdd_a + motor.offset + motor.coulomb * friction
        w = needed - (command.torque - robust)
        mass, coriolis = matrices(theta, q, qd)
        middle, _ = matrices(bounds.theta, q, qd)
        mass, middle = mass + np.diag(motor.armature), middle + np.diag(bounds.motor.armature)
        w = w - gain * (mass - middle) @ (r - gain * e)
        d = found.disturbance
        used = max(used, float((np.abs(w) / (d.torque + d.held)[i]).max()))
        assert (np.abs(w) <= (d.torque + d.held)[i]).all()
        assert (np.abs(mass - middle) <= d.inertia_error[i]).all()
        assert (np.abs(mass) <= d.inertia[i]).all() and (np.abs(middle) <= d.inertia[i]).all()
        free = mass - np.diag(motor.armature)
        assert (np.abs(free) <= np.outer(d.inertia_root[i], d.inertia_root[i])).all()
        assert (np.abs(coriolis @ r) <= d.coriolis[i]).all()
        assert (np.abs(seen_qd_a - qd_a) <= d.reference_shift[i]).all()
        assert (np.abs(qd) <= found.qd[i]).all()
        assert (np.abs(command.torque - robust) <= found.nominal_torque[i]).all()
        assert (np.abs(robust) <= robust_input(loop_without_clip(loop), tube)[i] + loop.damping * AGE * 5.0).all()
    assert used > 0.4


def loop_without_clip(loop):
    from dataclasses import replace

    return replace(loop, limit=np.full(7, np.inf))


def test_a_box_without_width_leaves_noise_and_age_only():
    bounds = box(0.1)
    exact = type(bounds)(bounds.theta, 0.0 * bounds.theta_radius, bounds.motor, zero(bounds.motor_radius))
    _, _, _, found = setup(exact, plan(0.5))
    _, _, _, wide = setup(bounds, plan(0.5))
    assert not found.disturbance.inertia_error.any()
    assert (found.disturbance.torque < wide.disturbance.torque).all()
    assert found.disturbance.torque.max() < 1.5  # [N m], of 2 ms


def zero(motor):
    return type(motor)(*(0.0 * getattr(motor, name) for name in ("coulomb", "viscous", "armature", "offset")))


def test_errors_of_a_box_add_up_and_those_of_a_ball_by_their_norm():
    x = np.array([[3.0, 4.0]])
    assert (_together(x, True)[0], _together(x, False)[0]) == (7.0, 5.0)
