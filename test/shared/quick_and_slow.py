# SPDX-License-Identifier: Apache-2.0
"""Cases of which the default suite runs some, and -m slow the rest."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def mark_slow(cases: Iterable[Any], *, but: Collection[Any]) -> list[Any]:
    """Values of one parameter, or tuples of several's, those slow that are not in ``but``."""

    def slow(case: Any) -> Any:
        return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)

    return [case if case in but else slow(case) for case in cases]
