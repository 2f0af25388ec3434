# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import yaml
from shared.payload_problem import gen3_problem

from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.systems.interval.check.draft import draft_lines
from sysid_nodes.systems.interval.check.signal_record import Signals
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


@pytest.mark.parametrize("odd", [False, True])
def test_a_sign_that_no_motion_tells_is_that_of_all_other_joints(odd: bool) -> None:
    """The last joint stands still; with another joint of the other sign nothing is said of it."""
    found = gen3_problem(np.random.default_rng(5), KnownRobotConfig())
    samples = found.samples(np.arange(1000) / 100.0)
    sign = np.where((np.arange(7) == 1) & odd, 1.0, -1.0)
    still = Signals(samples.t, samples.q.copy(), samples.qd.copy(), samples.tau * sign)
    still = replace(still, tau=np.where(np.arange(7) == 6, 0.2, still.tau))
    text = "\n".join(draft_lines(found.robot, IntervalIdentifierConfig(), still))
    signs = yaml.safe_load(text)["/**"]["ros__parameters"]["signals"]["torque_sign"]
    assert ("the sign of joint_7 is that of all other joints: this motion does not tell it" in text) != odd
    assert signs == ([*sign[:6], 1.0] if odd else [-1.0] * 7)
