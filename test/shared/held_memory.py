# SPDX-License-Identifier: Apache-2.0
"""Memory that an object holds, directly and through others."""

from __future__ import annotations

import gc
import sys
import types


def reachable_bytes(root: object) -> tuple[int, dict[str, int]]:
    """Bytes of all objects that one holds, but for code; and how many there are of each type."""
    seen: set[int] = set()
    waiting, total, kinds = [root], 0, dict[str, int]()
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.CodeType, types.MethodType)
    while waiting:
        entry = waiting.pop()
        if id(entry) in seen or isinstance(entry, code):
            continue
        seen.add(id(entry))
        total += sys.getsizeof(entry)  # an array's is its own memory's, if it has one
        kinds[type(entry).__name__] = kinds.get(type(entry).__name__, 0) + 1
        waiting.extend(gc.get_referents(entry))
        if isinstance(entry, types.MethodType):
            waiting.append(entry.__self__)
    return total, kinds
