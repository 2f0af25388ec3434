# SPDX-License-Identifier: Apache-2.0
"""Compiled passes over the samples of windows; see systems/interval/positions.py and row_builder.py."""

from __future__ import annotations

from types import ModuleType

from sysid_nodes.kernel import implementation

try:
    from sysid_nodes.kernel import _windows
except ImportError:
    _windows = None  # type: ignore[assignment]


def compiled_windows() -> ModuleType | None:
    """The compiled passes over samples, or None where the reference is asked for or nothing was compiled.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    return _windows if implementation() == "compiled" else None
