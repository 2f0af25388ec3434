# SPDX-License-Identifier: Apache-2.0
"""Where a robot falls in a log, and what is estimated of such a log."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.models.rotations import quaternion_exp, quaternion_product
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.prime.batch import Gatherer, StreamRecord, solve_batch
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.fall import find_fall, first_stages
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.signals.samples import AlignedSteps, Samples

UP = (0.0, 0.0, 1.0)


def steps(lean: np.ndarray, mounted: float = 0.7, **others: Samples) -> AlignedSteps:
    """Readings every second step of an IMU that is mounted askew on a base that leans about x, and turns."""
    at = np.arange(0, len(lean), 2)
    turned = quaternion_exp(np.outer(0.02 * at, [0.0, 0.0, 1.0]))
    tipped = quaternion_exp(np.outer(lean[at], [1.0, 0.0, 0.0]))
    askew = quaternion_exp(np.array([[0.0, mounted, 0.0]]))
    values = quaternion_product(turned, quaternion_product(tipped, np.repeat(askew, len(at), axis=0)))
    own = Samples(at.astype(np.intp), values, np.ones(len(at)))
    return AlignedSteps(0, 0, 5.0 + 0.01 * np.arange(len(lean)), {"imu_orientation": own, **others})


def test_it_begins_where_the_base_last_was_upright() -> None:
    lean = np.concatenate([np.full(40, 0.275), np.linspace(0.29, 1.5, 122)])  # 0.15 more than at first at step 54
    fall = find_fall(steps(lean), UP)
    assert fall is not None
    assert fall.stages == 53  # the last reading that is below is that of step 52, of the even ones
    assert fall.t == pytest.approx(5.53)
    assert fall.lean == pytest.approx(1.5 - 0.275, abs=0.03)


@pytest.mark.parametrize("lean", [np.zeros(50), np.linspace(0.0, 0.95, 50), np.linspace(0.0, -0.95, 50)])
def test_walks_and_bows_are_none(lean: np.ndarray) -> None:
    assert find_fall(steps(lean), UP) is None
    assert find_fall(AlignedSteps(0, 0, np.arange(3.0), {}), UP) is None


def test_only_what_was_before_it_is_kept() -> None:
    kept = first_stages(steps(np.zeros(50)), 11)
    assert len(kept) == 11
    assert kept.samples["imu_orientation"].steps.tolist() == [0, 2, 4, 6, 8, 10]


def test_a_log_that_begins_with_a_fall_is_refused_in_one_line() -> None:
    gathered = Gatherer()
    session = PrimeSession(load_robot("go2"), PrimeSessionConfig(), lambda: gathered, clock=lambda: 0.0)
    gathered.push(steps(np.linspace(0.0, 1.6, 60)))
    line = (
        r"^no motion could be estimated: the robot falls 0.0 s into the log, where its base leans by up to 9\d degrees"
    )
    with pytest.raises(ExcitationError, match=line):
        solve_batch(session, gathered, StreamRecord.empty())
