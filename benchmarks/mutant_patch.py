# SPDX-License-Identifier: Apache-2.0
"""A mutant put into a running process: functions get the mutated code, wherever they have been imported to."""

from __future__ import annotations

import gc
from collections.abc import Collection, Iterator
from types import CodeType, FunctionType
from typing import NamedTuple

Key = tuple[str, str, int]

_OPTIMISED = 1
"""Flag of code that is a function's, and no module's or class's."""


class Change(NamedTuple):
    """Code that a mutant changes.

    Attributes:
        old, new: the code.
        own: whether more differs than functions within it.
    """

    old: CodeType
    new: CodeType
    own: bool


def key(code: CodeType) -> Key:
    """File below sysid_nodes/, name and line of a function's code."""
    return code.co_filename.rpartition("/sysid_nodes/")[2], code.co_name, code.co_firstlineno


def changes(source: str, mutated: str, path: str) -> list[Change]:
    """All code of a module that differs, the module's own among it; none where both compile to the same.

    Raises:
        SyntaxError: the mutant does not compile.
    """
    old, new = (compile(text, path, "exec", dont_inherit=True) for text in (source, mutated))
    return list(_differences(old, new))


def only_functions(found: Collection[Change]) -> bool:
    """Whether nothing is changed that a module or a class does once."""
    return all(one.old.co_flags & _OPTIMISED for one in found if one.own)


def functions(files: Collection[str]) -> dict[Key, list[FunctionType]]:
    """All functions of this process that are defined in one of the files below sysid_nodes/."""
    gc.unfreeze()
    found: dict[Key, list[FunctionType]] = {}
    for one in gc.get_objects():
        if type(one) is FunctionType and key(one.__code__)[0] in files:
            found.setdefault(key(one.__code__), []).append(one)
    return found


def patch(found: Collection[Change], live: dict[Key, list[FunctionType]]) -> None:
    """Puts a mutant that changes only functions among those of this process."""
    for change in found:
        for function in live.get(key(change.old), ()):
            if not any(_differences(function.__code__, change.old)):
                function.__code__ = change.new


def _differences(old: CodeType, new: CodeType) -> Iterator[Change]:
    inner = [[x for x in code.co_consts if isinstance(x, CodeType)] for code in (old, new)]
    below = [change for pair in zip(*inner, strict=False) for change in _differences(*pair)]
    own = _alone(old) != _alone(new)
    if own or below:
        yield Change(old, new, own)
    yield from below


def _alone(code: CodeType) -> tuple[object, ...]:
    """Everything of a code but what functions within it do."""
    constants = tuple("code" if isinstance(x, CodeType) else repr(x) for x in code.co_consts)
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return code.co_code, constants, names, code.co_name, code.co_firstlineno, code.co_flags, code.co_exceptiontable
