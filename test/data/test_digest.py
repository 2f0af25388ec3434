# SPDX-License-Identifier: Apache-2.0
"""The digest: equal for equal values, different for values that merely look alike."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from sysid_nodes.data.digest import LENGTH, digest


@dataclass(frozen=True)
class Point:
    x: float
    y: float


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        ((1,), (1.0,)),
        ((1,), (True,)),
        (("1",), (1,)),
        ((0.0,), (-0.0,)),
        ((0.1 + 0.2,), (0.3,)),
        (([1.0], [2.0]), ([1.0, 2.0],)),
        ((np.zeros(4),), (np.zeros((2, 2)),)),
        ((Point(1.0, 2.0),), (Point(2.0, 1.0),)),
        ((b"a",), ("a",)),
    ],
)
def test_alike_is_not_equal(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert digest(*one) != digest(*other)


def test_equal_values_share_a_digest() -> None:
    assert digest(1.0, "a") == digest(np.float32(1.0), "a")
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})
    assert digest([1, 2]) == digest((1, 2))
    assert digest(np.arange(6.0).reshape(2, 3)) == digest(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    assert len(digest("x")) == LENGTH
    assert digest(float("nan")) == digest(float("nan"))


def test_what_has_no_digest() -> None:
    with pytest.raises(TypeError, match="no digest of type object"):
        digest(object())
