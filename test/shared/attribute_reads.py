# SPDX-License-Identifier: Apache-2.0
"""Attributes that a package reads of its classes, by the annotations in its source; no code runs.

Types are flat: those of ``dict[str, A] | None`` are {A}, a container's items have its types, and a call's value those
of what is called. It finds too many classes rather than too few, but does not mix up two that have a field of one name.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from shared.bindings import bindings, defined, fields, walk

Types = frozenset[str]
NONE: Types = frozenset()
ANY = "?"
"""Type of a TypeVar, beside what it is bound to: what is given for it decides."""
Scope = dict[str, list[tuple[ast.expr, "Place"]]]


@dataclass
class Place:
    """Where an expression stands: its module, the class around it, and the names of the function around it."""

    module: str
    owner: str = ""
    names: Scope = field(default_factory=dict)


class Package:
    """Classes, functions and names of a package.

    Args:
        trees: parsed files by their modules' names.
    """

    def __init__(self, trees: Mapping[str, ast.Module]) -> None:
        self._trees = trees
        self._names = {module: dict(defined(tree)) for module, tree in trees.items()}
        self._known: dict[tuple[int, int], Types] = {}
        self._open: set[object] = set()
        self._members: dict[str, Scope] = {}
        self._places: dict[int, Place] = {}
        self.classes = {
            f"{module}.{item.name}": item
            for module, tree in trees.items()
            for item in walk(tree)
            if isinstance(item, ast.ClassDef)
        }

    # -- reads

    def reads(self, inside: str = "") -> dict[str, set[str]]:
        """Names of attributes that are read of each class, or of one that it extends or that extends it.

        Only modules count whose names begin with `inside`.

        ``getattr`` of a name that is not written there counts for every field whose name is a string elsewhere.
        """
        found: dict[str, set[str]] = defaultdict(set)
        for place, item in self._expressions(inside):
            if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Load):
                for name in self.types(item.value, place) - {ANY}:
                    found[name].add(item.attr)
            elif isinstance(item, ast.Call) and getattr(item.func, "id", "") == "getattr":
                for name in self.types(item.args[0], place) - {ANY}:
                    known = {target for base in self.line(name) for target in fields(self.classes[base])}
                    found[name] |= known & self._strings
        for name in list(found):
            for base in self.line(name):
                found[base] |= found[name]
        return {name: set().union(*(found[base] for base in self.line(name))) for name in self.classes}

    @cached_property
    def _strings(self) -> set[str]:
        items = (item for tree in self._trees.values() for item in walk(tree) if isinstance(item, ast.Constant))
        return {item.value for item in items if isinstance(item.value, str)}

    def _expressions(self, inside: str) -> Iterator[tuple[Place, ast.AST]]:
        for module, tree in self._trees.items():
            if module.startswith(inside):
                yield from self._below(tree.body, Place(module))

    def _below(self, body: list[ast.stmt], place: Place) -> Iterator[tuple[Place, ast.AST]]:
        for item in body:
            if isinstance(item, ast.ClassDef):
                yield from self._below(item.body, Place(place.module, f"{place.module}.{item.name}", place.names))
            elif isinstance(item, ast.FunctionDef) and item.name != "__post_init__":  # checking is no use
                inner = self._place(item, place)
                yield from ((inner, found) for found in walk(item))
            elif isinstance(item, ast.AnnAssign):
                if not place.owner:  # a table of functions
                    arguments = [found.arg for found in walk(item) if isinstance(found, ast.arg)]
                    place = Place(place.module, "", {name: [(item.annotation, place)] for name in arguments})
                    yield from ((place, found) for found in walk(item))
            elif not isinstance(item, ast.FunctionDef):
                yield from ((place, found) for found in walk(item))

    # -- types

    def types(self, item: ast.AST | None, place: Place) -> Types:
        """Classes that an expression or an annotation may stand for, an object's and its own alike."""
        key = (id(item), id(place.names))
        if item is None or key in self._open:
            return NONE
        if key not in self._known:
            self._open.add(key)
            found = self._find(item, place)
            self._open.discard(key)
            self._known[key] = found
        return self._known[key]

    def _find(self, item: ast.AST, place: Place) -> Types:
        if isinstance(item, ast.Name):
            return self._named(item.id, place)
        if isinstance(item, ast.Attribute):
            held = self.types(item.value, place)
            return _union(self._member(name, item.attr) for name in held - {ANY})
        if isinstance(item, ast.Constant):
            text = item.value if isinstance(item.value, str) and item.value.isidentifier() else ""
            return self._named(text, place) if text else NONE  # a quoted annotation
        if isinstance(item, ast.Call):
            given = [*item.args, *(word.value for word in item.keywords)]
            called = self.types(item.func, place)
            if called and ANY not in called:
                return called
            return called - {ANY} | _union(self.types(value, place) for value in given)
        if isinstance(item, ast.Lambda):
            return self.types(item.body, place)
        parts = [part for part in ast.iter_child_nodes(item) if isinstance(part, ast.expr | ast.comprehension)]
        if isinstance(item, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            parts = [item.elt]
        elif isinstance(item, ast.DictComp):
            parts = [item.key, item.value]
        return _union(self.types(part, place) for part in parts)

    def _named(self, name: str, place: Place) -> Types:
        if name in place.names:
            return _union(self.types(value, where) for value, where in place.names[name])
        if name in ("self", "cls") and place.owner:
            return frozenset({place.owner})
        return self._in_module(name, place.module)

    def _in_module(self, name: str, module: str) -> Types:
        item = self._names[module].get(name)
        if isinstance(item, ast.ClassDef):
            return frozenset({f"{module}.{name}"})
        if isinstance(item, ast.FunctionDef):
            return self.types(item.returns, Place(module))
        if isinstance(item, ast.ImportFrom):
            origin = next(alias.name for alias in item.names if name in (alias.asname, alias.name))
            elsewhere = item.module in self._names and (origin, item.module) != (name, module)
            return self._in_module(origin, item.module) if elsewhere else NONE
        bound = NONE if item is None else self.types(item, self._module_place(module))
        is_variable = isinstance(item, ast.Call) and getattr(item.func, "id", "") == "TypeVar"
        return bound | {ANY} if is_variable else bound

    def _module_place(self, module: str) -> Place:
        return self._places.setdefault(id(self._names[module]), Place(module))

    # -- classes

    def line(self, name: str) -> list[str]:
        """A class and all that it extends."""
        found, waiting = [], [name]
        while waiting:
            if (one := waiting.pop(0)) not in found:
                found.append(one)
                place = self._module_place(one.rpartition(".")[0])
                for item in self.classes[one].bases:
                    waiting += self.types(item.value if isinstance(item, ast.Subscript) else item, place) - {ANY}
        return found

    def _member(self, name: str, attribute: str) -> Types:
        """Types of a class's attribute; the class itself where it has none, as of a container's method."""
        line = self.line(name)
        for base in line:
            if found := self._scope(base).get(attribute):
                types = _union(self.types(value, where) for value, where in found)
                return types | self._arguments(line) if ANY in types else types
        return frozenset({name})

    def _arguments(self, line: list[str]) -> Types:
        """Classes that generic ones are made for, `Session` of ``class Live(LiveSession[Session])``."""
        return _union(
            self.types(item.slice, self._module_place(base.rpartition(".")[0]))
            for base in line
            for item in self.classes[base].bases
            if isinstance(item, ast.Subscript)
        )

    def _scope(self, name: str) -> Scope:
        if name not in self._members:
            module, scope = name.rpartition(".")[0], defaultdict(list)
            outside = Place(module, name)
            for item in self.classes[name].body:
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                    scope[item.target.id].append((item.annotation, outside))
                elif isinstance(item, ast.Assign):
                    for target in item.targets:
                        scope[getattr(target, "id", "")].append((item.value, outside))
                elif isinstance(item, ast.FunctionDef):
                    scope[item.name].append((item.returns or ast.Constant(None), outside))
                    inside = self._place(item, outside)
                    for target, value in bindings(item):
                        if isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self":
                            scope[target.attr].append((value, inside))
            self._members[name] = scope
        return self._members[name]

    def _place(self, function: ast.FunctionDef, outside: Place) -> Place:
        """A function's names, those of functions in it too."""
        if id(function) not in self._places:
            place = Place(outside.module, outside.owner, {})
            for target, value in bindings(function):
                if isinstance(target, ast.Name):
                    place.names.setdefault(target.id, []).append((value, place))
            self._places[id(function)] = place
        return self._places[id(function)]


def _union(types: Iterator[Types]) -> Types:
    return frozenset().union(*types)
