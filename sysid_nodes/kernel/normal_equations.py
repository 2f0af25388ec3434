# SPDX-License-Identifier: Apache-2.0
"""The compiled normal equations, where they were built."""

from __future__ import annotations

from typing import Any

from sysid_nodes.kernel import implementation

try:
    from sysid_nodes.kernel import _normal_equations
except ImportError:
    _normal_equations = None  # type: ignore[assignment]


def compiled_normal_equations() -> Any:
    """The module, or None where the reference is asked for, nothing was compiled, or BLAS is faster on this machine.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if _normal_equations is None or not _normal_equations.worthwhile:
        return None
    return _normal_equations if implementation() == "compiled" else None
