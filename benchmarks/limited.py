# SPDX-License-Identifier: Apache-2.0
"""Work that is ended once it has used so much CPU time, whatever library it is in."""

from __future__ import annotations

import multiprocessing
import resource
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")


def within(limit: float, work: Callable[[], Found]) -> Found | None:
    """Result of `work`; None where its process has used more CPU than the limit [s], or ended without a word."""
    here, there = multiprocessing.Pipe(duplex=False)

    def send() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (round(limit), round(limit)))
        there.send(work())

    process = multiprocessing.get_context("fork").Process(target=send)
    process.start()
    there.close()
    try:
        return here.recv()  # type: ignore[no-any-return]
    except EOFError:
        return None
    finally:
        process.join()
