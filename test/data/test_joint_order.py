# SPDX-License-Identifier: Apache-2.0
"""Joints are found by name, whatever their order and company."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.exceptions import ConfigError


@pytest.mark.parametrize("names", [["b", "x", "a"], ("b", "x", "a")])
def test_joints_wanted_come_in_the_order_wanted_from_any_company(names: list[str]) -> None:
    order = JointOrder(("a", "b"))
    for _ in range(2):  # the second time from memory
        columns = order.columns(names)
        assert columns is not None
        np.testing.assert_array_equal(np.array([1.0, 2.0, 3.0])[columns], [3.0, 1.0])
    assert order.fault(names) == order.first_missing(names) == ""


@pytest.mark.parametrize(
    ("names", "missing", "fault"),
    [
        (["a"], "b", "no joint 'b'"),
        ([], "a", "no joint 'a'"),
        (["a", "b", "a"], "", "joint 'a' twice"),
    ],
)
def test_a_message_whose_joints_cannot_be_told_has_no_columns(names: list[str], missing: str, fault: str) -> None:
    order = JointOrder(("a", "b"))
    assert order.columns(names) is None
    assert order.columns(names) is None
    assert (order.first_missing(names), order.fault(names)) == (missing, fault)


def test_joints_that_are_not_wanted_may_be_there_twice() -> None:
    assert JointOrder("a").columns(["x", "x", "a"]) == [2]


def test_many_lists_of_names_cost_no_memory() -> None:
    order = JointOrder(("a",))
    for k in range(1000):
        assert order.columns([f"x{k}", "a"]) == [1]
    assert len(order._known) <= 16


@pytest.mark.parametrize("names", [(), ("a", "a")])
def test_what_is_wanted_is_distinct(names: tuple[str, ...]) -> None:
    with pytest.raises(ConfigError, match="distinct joint names are needed"):
        JointOrder(names)
