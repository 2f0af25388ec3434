# SPDX-License-Identifier: Apache-2.0
"""Checks that the results of all systems share: schema, pipeline, and a table of fields with their kinds."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from sysid_nodes.exceptions import InputError

SCHEMA = 1


@dataclass(frozen=True)
class Field:
    """A field of the file.

    Attributes:
        path: dotted path; ``[]`` stands for every entry of a list.
        kind: key of KINDS.
        optional: files of earlier versions lack it.

    A field of an object that is null is absent.
    """

    path: str
    kind: str
    optional: bool = False


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _is_list(value: Any, item: Any) -> bool:
    return isinstance(value, list) and all(map(item, value))


def is_member(kind: type[Enum]) -> Callable[[Any], bool]:
    """Condition on a value: the name of a member."""
    return lambda value: isinstance(value, str) and value in kind.__members__


KINDS: dict[str, Callable[[Any], bool]] = {
    "integer": _is_integer,
    "number": _is_number,
    "number or null": lambda v: v is None or _is_number(v),
    "string": lambda v: isinstance(v, str),
    "string or null": lambda v: v is None or isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "list": lambda v: isinstance(v, list),
    "strings": lambda v: _is_list(v, KINDS["string"]),
    "numbers": lambda v: _is_list(v, _is_number),
    "object": lambda v: isinstance(v, dict),
    "object or null": lambda v: v is None or isinstance(v, dict),
    "counts": lambda v: isinstance(v, dict) and all(map(_is_integer, v.values())),
}
"""Condition on a value of each kind; the keys serve as the words of an error message."""


def check_result(document: Any, *, source: str = "") -> dict[str, Any]:
    """Checks what the results of all pipelines have in common: an object that says its schema, this one, and pipeline.

    Raises:
        InputError: it is none.
    """
    if not isinstance(document, dict):
        raise InputError("not a result file: the top level is not an object", source=source)
    if "schema" not in document or "pipeline" not in document:
        raise InputError("not a result file: 'schema' or 'pipeline' is missing", source=source)
    if document["schema"] != SCHEMA:
        raise InputError(f"schema {document['schema']!r} is not supported, this version reads {SCHEMA}", source=source)
    return document


def check_pipeline(document: Any, pipeline: str, *, source: str = "") -> dict[str, Any]:
    """Checks that a document is a result of a pipeline, and of this schema.

    Raises:
        InputError: it is not.
    """
    if not isinstance(document, Mapping) or document.get("pipeline") != pipeline:
        raise InputError(f"not a result of the pipeline '{pipeline}'", source=source)
    return check_result(dict(document), source=source)


def check_estimates(rows: Sequence[Mapping[str, Any]], where: str = "", *, source: str) -> None:
    """Checks that just those parameters have an estimate that are identifiable.

    Args:
        rows: parameters, each with `name`, `identifiable` and `estimate`.
        where: words after a parameter's name in an error message.
        source: of the document, for errors.

    Raises:
        InputError: with the first parameter that does not.
    """
    for row in rows:
        if row["identifiable"] != (row["estimate"] is not None):
            line = f"{row['name']}{where} must have an estimate if it is identifiable, and only then"
            raise InputError(line, source=source)


def check_fields(
    document: Mapping[str, Any], fields: Sequence[Field], kinds: Mapping[str, Callable[[Any], bool]], *, source: str
) -> None:
    """Checks that fields are there and of their kinds.

    Raises:
        InputError: with the path of the first field that is absent or wrong.
    """
    for field in fields:
        for where, present, value in _values(document, field.path.split("."), ""):
            if not present and field.optional:
                continue
            if not present:
                raise InputError(f"'{where}' is missing", source=source)
            if not kinds[field.kind](value):
                raise InputError(f"'{where}' must be {_article(field.kind)}, got {_short(value)}", source=source)


def _values(node: Any, segments: list[str], where: str) -> Iterator[tuple[str, bool, Any]]:
    """Path, presence and value of a field; nothing for a field of an absent optional object or of an empty list."""
    name, rest = segments[0], segments[1:]
    many = name.endswith("[]")
    name = name.removesuffix("[]")
    path = f"{where}.{name}" if where else name
    if not isinstance(node, Mapping) or name not in node:
        yield path, False, None
    elif many:
        for index, item in enumerate(node[name]):
            yield from _values(item, rest, f"{path}[{index}]")
    elif not rest:
        yield path, True, node[name]
    elif node[name] is not None:
        yield from _values(node[name], rest, path)


def _article(kind: str) -> str:
    if kind.startswith(("ten ", "numbers", "strings", "counts")):
        return kind
    return f"an {kind}" if kind[0] in "aeiou" else f"a {kind}"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
