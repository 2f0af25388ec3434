# SPDX-License-Identifier: Apache-2.0
"""Messages name their joints in any order; this finds the joints wanted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

_CACHED = 16  # several publishers may share a topic, each with its own list of names


class JointOrder:
    """Columns of the joints wanted, in the order wanted; lists of names that were seen before are looked up.

    Args:
        names: the n joints wanted; a message may have others beside them.

    Raises:
        ConfigError: a joint is named twice, or none is given.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        if not self.names or len(set(self.names)) != len(self.names):
            raise ConfigError(f"distinct joint names are needed, got {list(self.names)}")
        self._known: dict[tuple[str, ...], npt.NDArray[np.intp] | None] = {}

    def columns(self, names: Sequence[str]) -> npt.NDArray[np.intp] | None:
        """(n,) indices into a message's arrays; None where `fault` has something to say."""
        key = tuple(names)
        if key not in self._known:
            if len(self._known) >= _CACHED:
                self._known.clear()
            found = None if self.fault(key) else np.array([key.index(name) for name in self.names], dtype=np.intp)
            self._known[key] = found
        return self._known[key]

    def first_missing(self, names: Sequence[str]) -> str:
        """The first joint wanted that a message does not have; empty where it has all of them."""
        return next((name for name in self.names if name not in names), "")

    def fault(self, names: Sequence[str]) -> str:
        """Fault of a message's joints, to follow "it has": one is missing or there twice; else empty."""
        if missing := self.first_missing(names):
            return f"no joint '{missing}'"
        twice = next((name for name in self.names if list(names).count(name) > 1), "")
        return f"joint '{twice}' twice" if twice else ""
