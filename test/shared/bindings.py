# SPDX-License-Identifier: Apache-2.0
"""Names that source text binds, and to which expressions or annotations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache


@cache
def walk(node: ast.AST) -> tuple[ast.AST, ...]:
    """A node and all below it; each is walked once, however often anybody asks."""
    if isinstance(node, ast.Module | ast.ClassDef):
        return (node, *(item for child in ast.iter_child_nodes(node) for item in walk(child)))
    return tuple(ast.walk(node))


def fields(item: ast.ClassDef) -> Iterator[str]:
    """Names that are annotated in a class."""
    return (entry.target.id for entry in item.body if isinstance(getattr(entry, "target", None), ast.Name))


def defined(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Names of a module: classes, functions, imports, and values or annotations of constants."""
    for item in walk(tree):
        if isinstance(item, ast.ImportFrom):
            yield from ((alias.asname or alias.name, item) for alias in item.names)
    for item in tree.body:
        if isinstance(item, ast.ClassDef | ast.FunctionDef):
            yield item.name, item
        elif isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            yield item.target.id, item.annotation
        elif isinstance(item, ast.Assign):
            yield from ((target.id, item.value) for target in item.targets if isinstance(target, ast.Name))


@cache
def bindings(function: ast.FunctionDef) -> tuple[tuple[ast.expr, ast.expr], ...]:
    """Targets below a function, each with the value that it gets; a parameter with its annotation."""
    return tuple(_bindings(function))


def _bindings(function: ast.FunctionDef) -> Iterator[tuple[ast.expr, ast.expr]]:
    for item in walk(function):
        if isinstance(item, ast.arg):
            if item.annotation is not None:
                yield ast.Name(item.arg, ast.Store()), item.annotation
        elif isinstance(item, ast.FunctionDef) and item is not function and item.returns is not None:
            yield ast.Name(item.name, ast.Store()), item.returns
        elif isinstance(item, ast.Assign):
            yield from ((part, item.value) for target in item.targets for part in _parts(target))
        elif isinstance(item, ast.AnnAssign):
            yield item.target, item.annotation
        elif isinstance(item, ast.NamedExpr):
            yield item.target, item.value
        elif isinstance(item, ast.For | ast.comprehension):
            yield from ((part, item.iter) for part in _parts(item.target))
        elif isinstance(item, ast.withitem) and item.optional_vars is not None:
            yield from ((part, item.context_expr) for part in _parts(item.optional_vars))


def _parts(target: ast.expr) -> Iterator[ast.expr]:
    if isinstance(target, ast.Tuple | ast.List):
        yield from (part for item in target.elts for part in _parts(item))
    else:
        yield target.value if isinstance(target, ast.Starred) else target
