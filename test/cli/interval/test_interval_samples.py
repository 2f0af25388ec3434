# SPDX-License-Identifier: Apache-2.0
"""Samples that commands read from a recording."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared.payload_problem import Problem
from shared.recorded import record

from sysid_nodes.cli.interval.samples import read_samples
from sysid_nodes.exceptions import ExcitationError
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


def test_samples_are_read_whole(gen3: Problem, log: Path) -> None:
    samples = read_samples(gen3.robot, IntervalIdentifierConfig(), log, "/joint_states")
    expected = gen3.samples(10.0 + np.arange(501) / 500.0)
    assert samples.names == gen3.robot.joint_names
    np.testing.assert_allclose(samples.t, expected.t, atol=1e-9)  # a stamp holds nanoseconds
    np.testing.assert_array_equal(samples.tau, expected.tau)


def test_a_log_of_another_robot_is_named(gen3: Problem, tmp_path: Path) -> None:
    bag = record(
        tmp_path / "bag", gen3.samples(np.arange(1.0, 4.0)), lambda _, fields: fields | {"name": list("abcdefg")}
    )
    with pytest.raises(ExcitationError, match=r"bag: holds no usable sample \(rejected: .*3\)"):
        read_samples(gen3.robot, IntervalIdentifierConfig(), bag, "/joint_states")
