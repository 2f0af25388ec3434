# SPDX-License-Identifier: Apache-2.0
"""The same simulations by mujoco-warp, on its own `cpu`."""

from dataclasses import replace

import numpy as np
import pytest
from shared.robot_rollouts import DRIVE, ROBOT, build, variants, work

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.rollouts import Simulations
from sysid_nodes.rollouts.warp import WarpSimulations

pytest.importorskip("mujoco_warp", reason="mujoco-warp is not installed")
pytestmark = pytest.mark.slow  # it compiles for half a minute where it has never run


def model():
    return build(ROBOT.model.inertias.tolist()[1:])


@pytest.mark.parametrize("height", [0.0, 1.0])
def test_numbers_are_those_of_threads_in_single_precision(height):
    """With and without contact. Each variant counts: the robots' speeds differ by more than 1 rad/s.

    Single precision has 1e-7 of positions of 1 m and of accelerations of 1e3 rad/s2, a step of 2 ms; 20 steps add up.
    """
    rng = np.random.default_rng(0)
    varied, job = variants(rng, 3), work(rng, 3)
    varied = replace(varied, holding=rng.uniform(0.0, 0.2, (3, 12)), bristles=rng.uniform(0.0, 0.2, (3, 12)))
    job.start[:, 2] += height
    on_device = WarpSimulations(model(), DRIVE, device="cpu", capacity=2)
    found, expected = on_device.run(varied, job), Simulations(model(), DRIVE, threads=1, capacity=3).run(varied, job)
    assert np.abs(np.diff(expected, axis=0))[..., 19:].max() > 1.0
    np.testing.assert_allclose(found[..., :19], expected[..., :19], atol=5e-6)
    np.testing.assert_allclose(found[..., 19:], expected[..., 19:], atol=5e-4)
    on_device.run(variants(rng, 3), work(rng, 3))  # of which nothing is to be left
    np.testing.assert_array_equal(on_device.run(varied, job), found)
    assert on_device.steps == 3 * 3 * job.steps


def test_a_device_that_is_not_there_is_told_with_those_that_are():
    with pytest.raises(ConfigError, match="mujoco-warp has no device 'gpu' here; it has cpu"):
        WarpSimulations(model(), DRIVE, device="gpu")
