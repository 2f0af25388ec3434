# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from sysid_nodes.rollouts import FREQUENCY, GAITS
from sysid_nodes.systems.sampling.exploration.curves import CommandCurves, CurveSpace

SPACE = CurveSpace(np.array([0.5, 0.2, 0.7, 0.2, 0.1]), [1, 3], 10)


def curves(rng):
    vectors = rng.uniform(-1.0, 1.0, (2, SPACE.size))
    first, gait = SPACE.segment(vectors, np.zeros(5), last=False)
    second, then = SPACE.segment(-vectors, first[..., -1], last=True)
    return CommandCurves(np.stack([first, second], axis=1), np.stack([gait, then], axis=1), 4.0, 0.29)


def test_commands_stay_within_their_limits_and_do_not_jump():
    own = curves(np.random.default_rng(1))
    values = np.array(
        [np.concatenate([c.velocity, c.attitude], axis=1) for c in map(own.at, np.arange(0.0, 8.0, 0.01))]
    )
    assert (np.abs(values) <= SPACE.largest + 1e-12).all()
    assert np.abs(np.diff(values, axis=0)).max() < 0.05
    np.testing.assert_allclose(values[0], 0.0, atol=1e-12)
    assert np.abs(values[-1]).max() < 0.02, "they end at zero"


def test_a_curve_is_bernsteins():
    own = curves(np.random.default_rng(2))
    control = own.points[1, 0, 0]
    s, c = 0.3, control.copy()
    while len(c) > 1:  # de Casteljau
        c = (1.0 - s) * c[:-1] + s * c[1:]
    assert own.at(4.0 * s).velocity[1, 0] == pytest.approx(c[0])


def test_each_segment_has_its_gait_and_outside_of_them_robots_stand():
    own = curves(np.random.default_rng(3))
    assert set(own.gaits.ravel().tolist()) <= {1, 3}
    command = own.at(4.1)
    assert command.gait.tolist() == own.gaits[:, 1].tolist()
    assert command.frequency.tolist() == FREQUENCY[own.gaits[:, 1]].tolist()
    for time in (-0.1, 8.0):
        assert own.at(time).gait.tolist() == [GAITS.index("stand")] * 2
