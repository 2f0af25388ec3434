# SPDX-License-Identifier: Apache-2.0
"""Nothing is kept that nothing uses: modules, functions, options; and what is in ros/ uses ROS."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from sysid_nodes.cli import demo, main

ROOT = Path(__file__).resolve().parents[1]

UNREACHED = {
    "sysid_nodes.solvers.trajectory_least_squares.equalities": "for the Bayesian system to come",
    "sysid_nodes.solvers.trajectory_least_squares.smoother": "for the Bayesian system to come",
    "sysid_nodes.simulation.actuators.servo_rig": "a simulated servo with a bar, for benchmarks",
    "sysid_nodes.models.passivity": "the recursion as derived; law, certificate and soundness are held against it",
}
"""Modules that no entry point reaches, and why they stay."""

UNUSED = {
    "read_plan": "reads what `sysid explore` writes, for programs that carry it out",
}
"""Public functions and classes that only tests use, and why they stay."""

ROS = {
    "ament_index_python", "builtin_interfaces", "diagnostic_msgs", "geometry_msgs", "launch", "lifecycle_msgs",
    "nav_msgs", "online_sysid", "rcl_interfaces", "rclpy", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs",
    "tf2_msgs", "trajectory_msgs", "visualization_msgs",
}  # fmt: skip

FILES = {
    ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
    for file in sorted((ROOT / "sysid_nodes").rglob("*.py"))
}


@cache
def tree(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


def users() -> list[Path]:
    """Code that counts as a use."""
    return [
        *FILES.values(),
        *(file for name in ("examples", "benchmarks", "launch") for file in (ROOT / name).rglob("*.py")),
    ]


# -- modules


def imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Module and name of every import below a node; no name for a module as a whole."""
    for item in ast.walk(node):
        if isinstance(item, ast.Import):
            yield from ((alias.name, "") for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            yield from ((item.module or "", alias.name) for alias in item.names)


def source(module: str, name: str) -> str:
    """The module that a name comes from: what a package only passes on is its source's."""
    if f"{module}.{name}" in FILES:
        return f"{module}.{name}"
    if module in FILES and FILES[module].name == "__init__.py":
        for origin, passed in imports(tree(FILES[module])):
            if passed == name and origin != module:
                return source(origin, name)
    return module


def neighbours(file: Path) -> set[str]:
    """Modules that a file imports, or names in a string, to be run."""
    strings = {item.value for item in ast.walk(tree(file)) if isinstance(item, ast.Constant) and item.value in FILES}
    return {found for pair in imports(tree(file)) if (found := source(*pair)) in FILES} | strings


def entry_points() -> set[str]:
    """What is started from outside: commands, demos, nodes' executables, and modules that a person runs."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    scripts = set(re.findall(r'^sysid = "([\w.]+):main"$', project, flags=re.MULTILINE))
    commands = {f"sysid_nodes.cli.{main._PLACES.get(name, name)}" for name in main.COMMANDS}
    demos = {f"sysid_nodes.cli.{system}.demo" for system in demo._SYSTEMS.values()}
    nodes = {name for name in FILES if name.startswith("sysid_nodes.ros.nodes.")}
    robots = {name for name, file in FILES.items() if file.parent.parent == ROOT / "sysid_nodes" / "robots"}
    launched = set().union(*(neighbours(file) for file in (ROOT / "launch").glob("*.py")))
    return (
        scripts
        | commands
        | demos
        | nodes
        | robots
        | launched
        | {"sysid_nodes.cli.__main__", "sysid_nodes.cli.reference_pages"}
    )


def reached() -> set[str]:
    found, waiting = set(), list(entry_points())
    assert set(waiting) <= set(FILES)
    while waiting:
        if (module := waiting.pop()) not in found:
            found.add(module)
            waiting += neighbours(FILES[module])
    return found


def test_every_module_is_reached_from_an_entry_point() -> None:
    modules = {name for name, file in FILES.items() if file.name != "__init__.py"}
    assert modules - reached() == set(UNREACHED)


# -- functions and classes


def uses(node: ast.AST) -> Iterator[str]:
    """Names that are read below a node."""
    for item in ast.walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            yield item.id
        elif isinstance(item, ast.Attribute):
            yield item.attr


def test_every_public_function_and_class_is_used() -> None:
    """By its name, outside of itself; being imported or listed in __all__ is no use."""
    used: set[str] = set()
    for file in users():
        for statement in tree(file).body:
            own = getattr(statement, "name", None)
            used |= {name for name in uses(statement) if name != own}
    unused = {
        statement.name
        for module, file in FILES.items()
        if module not in UNREACHED
        for statement in tree(file).body
        if isinstance(statement, ast.FunctionDef | ast.ClassDef) and not statement.name.startswith("_")
        if statement.name not in used
    }
    assert unused == set(UNUSED)


# -- options


def option_fields(node: ast.ClassDef) -> list[str]:
    """Fields that are made by `option` or `section`."""
    return [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and isinstance(item.value, ast.Call)
        if getattr(item.value.func, "id", "") in ("option", "section")
    ]


def without_checks(node: ast.ClassDef) -> ast.ClassDef:
    """A configuration without its fields' definitions and the check of their values: neither is a use."""
    kept = [item for item in node.body if not isinstance(item, ast.AnnAssign)]
    kept = [item for item in kept if getattr(item, "name", "") != "__post_init__"]
    return ast.ClassDef(node.name, [], [], kept, [])


def test_every_option_is_read() -> None:
    """As an attribute, or by its name as a string where code goes through several options."""
    options: dict[str, str] = {}
    read: set[str] = set()
    for file in FILES.values():
        for statement in tree(file).body:
            body: ast.stmt = statement
            if isinstance(statement, ast.ClassDef) and (names := option_fields(statement)):
                options |= {name: f"{statement.name}.{name}" for name in names}
                body = without_checks(statement)
            for item in ast.walk(body):
                if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Load):
                    read.add(item.attr)
                elif isinstance(item, ast.Constant) and isinstance(item.value, str):
                    read.add(item.value)
    assert len(options) > 300
    assert not [place for name, place in options.items() if name not in read]


# -- ROS


def test_every_file_in_ros_uses_ros() -> None:
    """Itself or by another one; what does not belongs to a layer that works without (import-linter: the reverse)."""
    files = [file for file in (ROOT / "sysid_nodes" / "ros").rglob("*.py") if file.name != "__init__.py"]
    assert len(files) > 30
    assert not [
        str(file.relative_to(ROOT))
        for file in files
        if not any(name.split(".")[0] in ROS or name.startswith("sysid_nodes.ros") for name, _ in imports(tree(file)))
    ]
