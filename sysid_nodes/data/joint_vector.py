# SPDX-License-Identifier: Apache-2.0
"""Options that hold something for each joint: one value for all, one a joint in the chain's order, or by joint name."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]
T = TypeVar("T")

Numbers = tuple[float, ...]
Words = tuple[str, ...]


class ByJoint(tuple[Any, ...]):
    """Values by joint name, as a parameter file gives them (``noise.torque_absolute: {joint_1: 2.0, ...}``).

    Attributes:
        names: the joints, in the order of the values.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, Any]]) -> ByJoint:
        """From pairs of joint name and value."""
        names, values = zip(*pairs, strict=True)
        made = cls(values)
        made.names = tuple(names)
        return made

    def select(self, joints: Sequence[str], known: Iterable[str], name: str) -> tuple[Any, ...]:
        """The values of some joints.

        Args:
            joints: the joints wanted, in the order wanted.
            known: all joints that the robot has; a name that is none of them is a mistake.
            name: of the option, for errors.

        Raises:
            ConfigError: a joint is missing, or a name is not a joint's.
        """
        known = list(known)
        if strange := [joint for joint in self.names if joint not in known]:
            raise ConfigError(
                f"'{name}' names '{strange[0]}', which is no joint of the robot{did_you_mean(strange[0], known)}"
            )
        table = dict(zip(self.names, self, strict=True))
        if missing := [joint for joint in joints if joint not in table]:
            raise ConfigError(f"'{name}' has nothing for joint '{missing[0]}'")
        return tuple(table[joint] for joint in joints)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The nearest of some names as the end of an error's sentence; empty where none is near."""
    near = get_close_matches(name, list(known), n=1, cutoff=0.6)
    return f"; did you mean '{near[0]}'?" if near else ""


def spread(value: Sequence[T], n: int, name: str) -> list[T]:
    """One value for all joints or one a joint, as a list of n.

    Raises:
        ConfigError: the number of values is neither 1 nor n, or they are by joint name and were not looked up.
    """
    if isinstance(value, ByJoint):
        raise ConfigError(f"'{name}' is by joint name, which is not possible here; give 1 or {n} values")
    if len(value) not in (1, n):
        raise ConfigError(f"'{name}' needs 1 or {n} numbers, got {len(value)}")
    return list(value) if len(value) == n else [value[0]] * n


def per_joint(value: Numbers, n: int, name: str) -> Array:
    """One number for all joints or one a joint, as (n,).

    Raises:
        ConfigError: the number of values is neither 1 nor n.
    """
    return np.array(spread(value, n, name), dtype=np.float64)


def for_joints(config: T, joints: Sequence[str], known: Iterable[str], prefix: str = "") -> T:
    """A configuration whose values by joint name are looked up for a chain of joints.

    Args:
        config: a dataclass of options, nested or not.
        joints: of the chain, in its order.
        known: all joints that the robot has.
        prefix: of the dotted names in errors.

    Raises:
        ConfigError: a joint of the chain is missing, or a name is not a joint's.
    """
    known = list(known)
    changes: dict[str, Any] = {}
    for item in dataclasses.fields(config):  # type: ignore[arg-type]
        value, name = getattr(config, item.name), prefix + item.name
        if dataclasses.is_dataclass(value):
            changes[item.name] = for_joints(value, joints, known, name + ".")
        elif isinstance(value, ByJoint) and not item.metadata.get("joints_apart"):
            changes[item.name] = value.select(joints, known, name)
    return dataclasses.replace(config, **changes)  # type: ignore[type-var]
