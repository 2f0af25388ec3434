# SPDX-License-Identifier: Apache-2.0
"""Rollouts through MJX are MuJoCo's, and so are their derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from shared.robot_rollouts import DRIVE, LEGS, ROBOT, STEPS, build, start

from benchmarks.peers.mjx_rollouts import AVAILABLE, MjxRollouts
from sysid_nodes.rollouts import Simulations, Work
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.unknowns import Unknowns


@pytest.mark.slow  # XLA compiles for most of a minute
@pytest.mark.skipif(not AVAILABLE, reason="JAX and MJX are not installed")
def test_states_and_derivatives_are_those_of_mujoco() -> None:
    """On the ground, with all that differs between simulations; derivatives against differences, of first order.

    Nothing holds the joints: what MJX has instead, 1e-6 N m, is far below the tolerance. By what would, there is no
    derivative at zero.
    """
    unknowns = Unknowns(ROBOT, SamplingConfig())
    searched = [k for k in unknowns.simulated if k != unknowns.index["holding_friction"]]
    vector, moves = unknowns.column("guess"), 1e-2 * unknowns.column("step")[searched]
    for name in ("dry_friction", "bristle_friction"):
        vector[unknowns.index[name]] = 0.05
    beside = (vector + move * np.eye(len(vector))[k] for k, move in zip(searched, moves, strict=True))
    variants = unknowns.variants([vector, *beside])
    rng, clips = np.random.default_rng(0), 2
    begin, targets = start(rng, clips), LEGS + 0.1 * rng.standard_normal((clips, STEPS, 12))
    count, bodies = len(variants), ROBOT.model.inertias.tolist()[1:]
    variant, clip = np.tile(np.arange(count), clips), np.repeat(np.arange(clips), count)
    job = Work(np.repeat(begin, count, axis=0), variant, clip, targets)
    plain = Simulations(build(bodies), DRIVE, threads=1, capacity=64).run(variants, job)
    plain = plain.reshape(clips, count, STEPS, -1)
    states, slopes = MjxRollouts(build(bodies), DRIVE).linearise(variants, moves, begin, targets)
    np.testing.assert_allclose(states, plain[:, 0], atol=1e-4)
    expected = np.moveaxis((plain[:, 1:] - plain[:, :1]) / moves[:, None, None], 1, 0)
    for slope, column in zip(slopes, expected, strict=True):
        assert np.abs(slope - column).max() < 0.02 * np.abs(column).max()
