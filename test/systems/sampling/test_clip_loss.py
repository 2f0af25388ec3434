# SPDX-License-Identifier: Apache-2.0
"""Weights of clips, on a line through clips of unequal scatter: who weighs them alike is further off."""

import numpy as np
import pytest

from sysid_nodes.systems.sampling.clip_loss import ClipLoss


@pytest.mark.parametrize(("spread", "threshold"), [(0.05, 4.0), (2.0, 8.0)])
def test_only_what_is_beyond_noise_and_the_others_pulls_no_harder(spread, threshold):
    residual = spread * np.random.default_rng(0).standard_normal((100, 40))
    loss = ClipLoss.choose(residual, 100, 4.0)
    assert loss is not None
    assert loss.each.threshold == pytest.approx(threshold, rel=0.05), "a median of 4 000 residuals is known to 2 %"
    assert ClipLoss.choose(residual, 100, 0.0) is None


def test_clips_count_by_the_variance_of_their_own_residuals_and_none_more_than_noise_says():
    rng = np.random.default_rng(1)
    scatter = np.array([0.3, 1.0, 2.0, 3.0])
    residual = scatter[:, None] * rng.standard_normal((4, 2000))
    residual[:, ::2] = 0.0  # nothing was read there
    loss = ClipLoss.choose(residual, 4, 4.0)
    np.testing.assert_allclose(
        loss.weight, [1.0, 1.0, 0.25, 1.0 / 9.0], rtol=0.15
    )  # 1 000 readings: 4.5 %; Huber's tails


def test_values_and_slopes_are_a_clip_s_own_whatever_the_shape():
    loss = ClipLoss.choose(np.concatenate([np.full(30, 0.5), np.full(30, 2.0)]), 2, 4.0)
    square = np.concatenate([np.full(30, 1.0), np.full(30, 400.0)])
    flat, parts = loss(square), loss(square.reshape(2, 5, 6))
    np.testing.assert_array_equal(flat[0], parts[0].ravel())
    np.testing.assert_array_equal(flat[1], parts[1].ravel())
    limit = loss.each.threshold
    assert flat[0][0] == 1.0
    assert flat[0][-1] == pytest.approx(0.25 * (2.0 * limit * 20.0 - limit**2))
    assert flat[1][-1] == pytest.approx(0.25 * limit / 20.0)
