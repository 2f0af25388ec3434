# SPDX-License-Identifier: Apache-2.0
"""Benchmarks are tried on whatever code is here, committed or not."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import revision


@pytest.fixture(autouse=True)
def committed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    clean = revision.Revision("0123456789abcdef", dirty=False)
    monkeypatch.setattr(revision, "current", lambda: clean)
    revision.here.cache_clear()
    yield
    revision.here.cache_clear()
