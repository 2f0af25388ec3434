# SPDX-License-Identifier: Apache-2.0
"""Simulations of the Go2 against MuJoCo stepped by hand on a model that was built with the same parameters."""

from dataclasses import replace
from types import SimpleNamespace

import mujoco
import numpy as np
import pinocchio
import pytest
from shared.robot_rollouts import DRIVE, LEGS, ROBOT, STEP, STEPS, build, variants, work

from sysid_nodes.exceptions import OverdueError
from sysid_nodes.robots import MotorConfig, with_motor
from sysid_nodes.rollouts import (
    ExtrapolatedSimulations,
    FinerSimulations,
    GroundConfig,
    ProcessSimulations,
    Simulations,
    Work,
    build_legged_mujoco,
)


def step_by_hand(varied, k, job, robot=ROBOT):
    """(T, 37) states of simulation k."""
    ground = GroundConfig(friction=varied.friction[k], time_constant=varied.time_constant[k])
    bodies = ROBOT.model.inertias.tolist()[1:]
    for place, body in enumerate(varied.bodies):
        bodies[body] = pinocchio.Inertia.FromDynamicParameters(varied.inertia[k, place])
    model = build(bodies, ground, robot)
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = job.start[k, :19], job.start[k, 19:]
    model.dof_frictionloss[6:] += varied.holding[k]
    out, before = [], data.qvel[6:].copy()
    bend, place = np.tanh(before / 0.05), data.qpos[7:].copy()
    for target in job.targets[job.clip[k]]:
        ahead = data.qvel[6:] + 0.5 * (data.qvel[6:] - before)
        before = data.qvel[6:].copy()
        given = (varied.gain[k], varied.weakness[k], varied.dry[k])
        data.qfrc_applied[6:] = DRIVE.torque(target, data.qpos[7:], ahead, *given)
        bend += (data.qpos[7:] - place) / 5e-4
        bend /= 1.0 + np.abs(data.qpos[7:] - place) / 5e-4
        place = data.qpos[7:].copy()
        data.qfrc_applied[6:] -= varied.bristles[k] * bend
        mujoco.mj_step(model, data)
        out.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(out)


@pytest.fixture(scope="module")
def simulations():
    return Simulations(build(ROBOT.model.inertias.tolist()[1:]), DRIVE, threads=2, capacity=3)


def test_every_simulation_is_that_of_a_model_with_its_parameters(simulations):
    rng = np.random.default_rng(0)
    varied, job = variants(rng, 4), work(rng, 4)
    found = simulations.run(varied, job)
    expected = np.array([step_by_hand(varied, k, job) for k in range(4)])
    assert np.ptp(expected[:, -1, 2]) > 1e-3, "the parameters must matter"
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(("known", "bristles"), [(0.0, 0.0), (0.2, 0.0), (0.2, 0.3)])
def test_dry_friction_may_hold_on_top_of_what_is_known_and_bend_before_it_slides(known, bristles):
    rng = np.random.default_rng(5)
    varied, job = replace(variants(rng, 2), holding=rng.uniform(0.0, 0.2, (2, 12))), work(rng, 2)
    varied = replace(varied, bristles=np.full((2, 12), bristles))
    robot = with_motor(ROBOT, MotorConfig(coulomb=12 * (known,)))
    nominal = build(ROBOT.model.inertias.tolist()[1:], robot=robot)
    simulations = Simulations(nominal, DRIVE, threads=1, capacity=2)
    simulations.run(replace(varied, bristles=varied.bristles + 1.0), job)  # of which nothing is to be left
    expected = [step_by_hand(varied, k, job, robot) for k in range(2)]
    np.testing.assert_allclose(simulations.run(varied, job), expected, rtol=1e-6, atol=1e-7)


def test_damping_does_not_lag_by_half_a_step():
    """Legs in the air that follow smooth set-points are those of a simulation in steps of a fortieth.

    With the velocities of semi-implicit Euler as they are they would not be.
    """
    rng = np.random.default_rng(6)
    varied, job = replace(variants(rng, 1), dry=np.zeros((1, 12))), work(rng, 1, clips=1)
    job.start[0, 2], job.start[0, 7:19], job.start[0, 19:] = 3.0, LEGS, 0.0

    def targets(step):
        time = step * np.arange(round(STEPS * STEP / step))
        return (LEGS + 0.3 * np.sin(0.5 * np.pi * time / (STEPS * STEP))[:, None] ** 2)[None]

    coarse, step = build(ROBOT.model.inertias.tolist()[1:]), STEP / 40
    fine = build_legged_mujoco(ROBOT, ROBOT.model.inertias.tolist()[1:], (), GroundConfig(), timestep=step)
    found = Simulations(coarse, DRIVE, threads=1, capacity=1).run(varied, replace(job, targets=targets(STEP)))
    expected = Simulations(fine, DRIVE, threads=1, capacity=1).run(varied, replace(job, targets=targets(step)))
    error = np.abs(found[0, -1, 7:19] - expected[0, -1, 7:19]).max()
    moved = np.abs(expected[0, -1, 7:19] - LEGS).max()
    assert error < 0.01 * moved


def test_results_do_not_depend_on_what_was_simulated_before_nor_on_the_recorded_steps(simulations):
    rng = np.random.default_rng(1)
    varied, job = variants(rng, 3), work(rng, 3)
    first = simulations.run(varied, job)
    before = simulations.steps
    simulations.run(variants(rng, 3), work(rng, 3))
    assert simulations.steps == before + 3 * STEPS
    np.testing.assert_array_equal(simulations.run(varied, job), first)
    np.testing.assert_array_equal(simulations.run(varied, replace(job, every=5)), first[:, 4::5])


def test_what_follows_from_inertia_is_computed_where_it_is_another_than_in_the_run_before(simulations, monkeypatch):
    """Of other bodies too; it costs as much as a step."""
    rng, asked = np.random.default_rng(4), []
    varied, job = variants(rng, 3), work(rng, 3)
    simulations.run(varied, job)
    plain = simulations._batch.set_const
    stand_in = SimpleNamespace(
        set_const=lambda ids: (asked.append(ids.tolist()), plain(ids)), step=simulations._batch.step
    )
    monkeypatch.setattr(simulations, "_batch", stand_in)
    first = simulations.run(varied, job)
    assert not asked
    simulations.run(replace(varied, friction=varied.friction + 0.1), job)
    assert not asked
    simulations.run(varied, replace(job, variant=job.variant[[0, 2, 2]]))
    assert asked == [[1]]
    simulations.run(replace(varied, bodies=varied.bodies[::-1]), job)
    assert asked[1:] == [[0, 1, 2]]
    np.testing.assert_array_equal(simulations.run(varied, job), first)


def test_processes_give_the_same_numbers(simulations):
    rng = np.random.default_rng(2)
    varied, job = variants(rng, 3), work(rng, 3)
    with ProcessSimulations(build(ROBOT.model.inertias.tolist()[1:]), DRIVE, processes=1) as others:
        found = others.run(varied, job)
        assert others.steps == 3 * STEPS
    np.testing.assert_array_equal(found, simulations.run(varied, job))


def test_processes_that_hang_are_ended(monkeypatch):
    rng = np.random.default_rng(2)
    monkeypatch.setattr(Work, "longest", 0.0)  # a process that starts takes longer
    said = pytest.raises(OverdueError, match="processes have not simulated 3 clips within 0 s")
    with ProcessSimulations(build(ROBOT.model.inertias.tolist()[1:]), DRIVE, processes=1) as others, said:
        others.run(variants(rng, 3), work(rng, 3))


def test_a_robot_that_blows_up_does_not_jump_back_to_where_it_began(simulations, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # MuJoCo writes its warning into a file where it is
    rng = np.random.default_rng(3)
    varied, job = variants(rng, 2), work(rng, 2)
    job.start[1, 19:] = 1e30
    found = simulations.run(varied, job)
    assert np.isfinite(found[0]).all()
    assert not np.isfinite(found[1, -1]).all() or np.abs(found[1, -1]).max() > 1e6


def test_smaller_steps_come_near_and_keep_the_times(simulations):
    rng = np.random.default_rng(4)
    varied, job = variants(rng, 2), work(rng, 2)
    fine = build_legged_mujoco(ROBOT, ROBOT.model.inertias.tolist()[1:], (), GroundConfig(), timestep=STEP / 2)
    finer = FinerSimulations(Simulations(fine, DRIVE, threads=1, capacity=2), STEP, 2)
    found = finer.run(varied, job)
    expected = simulations.run(varied, job)
    assert found.shape == expected.shape
    np.testing.assert_allclose(found[..., :19], expected[..., :19], atol=2e-2)
    assert not np.array_equal(found, expected)
    np.testing.assert_array_equal(finer.run(varied, replace(job, every=5)), found[:, 4::5])


def test_smaller_steps_begin_and_end_in_states_of_the_original_ones(simulations):
    """A robot that flies at 1 m/s goes as far; with configurations half a small step after velocities 0.75 mm less."""
    varied, job = variants(np.random.default_rng(4), 1), work(np.random.default_rng(4), 1)
    job.start[0, 2], job.start[0, 19] = 1.0, 1.0
    fine = build_legged_mujoco(ROBOT, ROBOT.model.inertias.tolist()[1:], (), GroundConfig(), timestep=STEP / 4)
    finer = FinerSimulations(Simulations(fine, DRIVE, threads=1, capacity=1), STEP, 4)
    off = finer.run(varied, job)[0, :3, 0] - simulations.run(varied, job)[0, :3, 0]
    np.testing.assert_allclose(off, 0.0, atol=1e-4)  # legs that straighten push the base


def test_errors_in_proportion_to_the_step_are_extrapolated_away():
    half, quarter = (
        SimpleNamespace(run=lambda _, work, h=h: work + h * np.arange(3.0), steps=k) for h, k in ((0.5, 2), (0.25, 4))
    )
    both = ExtrapolatedSimulations(half, quarter)
    np.testing.assert_allclose(both.run(None, np.ones(3)), 1.0)
    assert both.steps == 6


def test_velocities_know_nothing_of_a_set_point_to_come(simulations):
    """Before a set-point jumps, speeds are as if it did not, in smaller steps too; then they agree on what it does."""
    varied, job = variants(np.random.default_rng(4), 1), work(np.random.default_rng(4), 1)
    targets = np.tile(job.start[:, None, 7:19], (1, 8, 1))
    jumps = targets.copy()
    jumps[:, 4:, 2] += 0.3
    fine = build_legged_mujoco(ROBOT, ROBOT.model.inertias.tolist()[1:], (), GroundConfig(), timestep=STEP / 4)
    changes = []
    for simulator in (simulations, FinerSimulations(Simulations(fine, DRIVE, threads=1, capacity=1), STEP, 4)):
        with_, without = (simulator.run(varied, replace(job, targets=each))[0, :, 27] for each in (jumps, targets))
        changes.append(with_ - without)
    coarse, finer = changes
    np.testing.assert_array_equal(coarse[:4], 0.0)
    np.testing.assert_array_equal(finer[:4], 0.0)
    assert coarse[4] > 0.05  # rad/s, the noise of a reading
    assert finer[4] == pytest.approx(coarse[4], rel=0.3)  # damping takes a quarter of it within the step
