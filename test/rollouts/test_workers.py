# SPDX-License-Identifier: Apache-2.0
"""Simulations on a cluster's workers: the numbers of this machine's threads, and a word where a worker is no use."""

import importlib

import numpy as np
import pytest
from distributed import LocalCluster

from sysid_nodes.exceptions import InputError, OverdueError
from sysid_nodes.robots import load_robot
from sysid_nodes.rollouts import Drive, GroundConfig, Simulations, Variants, Work, build_legged_mujoco, workers
from sysid_nodes.rollouts.workers import WorkerSimulations

ROBOT = load_robot("go2")
DRIVE = Drive(np.full(12, 40.0), np.full(12, 1.0))
LEGS = np.tile([0.0, 0.8, -1.6], 4)


def model():
    return build_legged_mujoco(ROBOT, ROBOT.model.inertias.tolist()[1:], (), GroundConfig(), timestep=0.002)


def task(count=5, steps=4):
    """Robots that differ in their motors' gains."""
    start = np.zeros((count, 37))
    start[:, 2], start[:, 3], start[:, 7:19] = 0.28, 1.0, LEGS
    theta = np.repeat(ROBOT.inertial_parameters()[None, :1], count, axis=0)
    none = np.zeros((count, 12))
    gain = np.linspace(0.8, 1.2, count)[:, None] + none
    variants = Variants((0,), theta, gain, none, none, none, none, np.full(count, 0.8), np.full(count, 0.01))
    which = np.arange(count)
    return variants, Work(start, which, 0 * which, LEGS + 0.1 * np.ones((1, steps, 12)))


@pytest.fixture
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address="127.0.0.1:0", protocol="tcp"
    ) as found:
        yield found


def test_workers_give_the_same_numbers_and_those_that_are_no_use_say_so(cluster, monkeypatch):
    variants, work = task()
    expected = Simulations(model(), DRIVE, threads=1, capacity=5).run(variants, work)
    with WorkerSimulations(model(), DRIVE, scheduler=cluster.scheduler_address) as others:
        np.testing.assert_array_equal(others.run(variants, work), expected)
        np.testing.assert_array_equal(others.run(variants, work.part(0, 1)), expected[:1])
        assert others.steps == 6 * work.steps
        with monkeypatch.context() as patch:
            patch.setattr(Work, "longest", 0.0)
            with pytest.raises(OverdueError, match="workers have not simulated 5 clips within 0 s"):
                others.run(variants, work)

        class Unknown:
            def __reduce__(self):
                return importlib.import_module, ("sysid_nodes.nowhere",)

        with monkeypatch.context() as patch:
            patch.setattr(workers, "_run_part", Unknown())
            with pytest.raises(InputError, match="a worker cannot simulate: ModuleNotFoundError: No module named"):
                others.run(variants, work)
        monkeypatch.setattr(workers, "_LOOK", "0.2s")
        cluster.scale(0)
        with pytest.raises(InputError, match="the workers that were to simulate have gone"):
            others.run(variants, work)
