# SPDX-License-Identifier: Apache-2.0
"""Compiled linear programs whose rows enter once an optimum breaks them; see solvers/lazy_program.py."""

from __future__ import annotations

from sysid_nodes.kernel import implementation

try:
    from sysid_nodes.kernel import _dual_simplex
except ImportError:
    _dual_simplex = None  # type: ignore[assignment]


def compiled_program(d: int) -> _dual_simplex.LazyProgram | None:
    """One over d unknowns, or None where the reference is asked for or nothing was compiled.

    Its `maximise` takes C-contiguous float64 arrays, the constants `TOLERANCES` and `PERTURBATION` of
    solvers/dual_simplex.py, the pivots that a solve may take for each row and unknown, and the rows that enter at a
    time; it returns 0, 1 or 2 for solved, infeasible or failed, a point (d,) and multipliers of all rows.

    Raises:
        ConfigError: see `kernel.implementation`.
    """
    if implementation() != "compiled" or _dual_simplex is None:
        return None
    return _dual_simplex.LazyProgram(d)
