# SPDX-License-Identifier: Apache-2.0
"""Open-loop prediction: the true robot goes less astray than the nominal one, and a robot as much as itself."""

import numpy as np
import pytest

from sysid_nodes.exceptions import LogError
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.sampling.prediction import ERRORS, Prediction, predict

ROBOT = load_robot("go2")


def test_the_true_robot_predicts_better_than_the_nominal_one(walk):
    nominal = walk.setting.unknowns.column("guess")
    found = predict(walk.log, ROBOT, walk.config, (nominal, walk.truth, walk.truth), 0.2, 4)
    assert found.errors.shape == (3, 4, len(ERRORS))
    ratio = found.ratio(1, 0, np.random.default_rng(0))
    assert (ratio[:, 0] < 0.7).all()
    assert (ratio[:, 1] <= ratio[:, 0]).all()
    assert (ratio[:, 2] >= ratio[:, 0]).all()
    np.testing.assert_array_equal(found.errors[1], found.errors[2])


def test_errors_are_in_metres_radians_and_metres_a_second():
    """Of two clips, one twice as far off: means, and an interval of their ratio that holds both clips' own."""
    found = Prediction(np.array([[[0.1, 0.2, 0.3], [0.1, 0.2, 0.3]], [[0.05, 0.1, 0.3], [0.1, 0.2, 0.3]]]), 1.5)
    np.testing.assert_allclose(found.means[1], [0.075, 0.15, 0.3])
    np.testing.assert_allclose(found.ratio(1, 0, np.random.default_rng(0))[0], [0.75, 0.5, 1.0])


def test_a_log_without_room_for_a_clip_is_refused(walk):
    with pytest.raises(LogError, match="no room for a clip of 5 s"):
        predict(walk.log, ROBOT, walk.config, (walk.truth,), 5.0, 4)
