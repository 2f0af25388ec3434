# SPDX-License-Identifier: Apache-2.0
"""Nothing is kept that nothing uses: modules, functions, options; and what is in ros/ uses ROS."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pytest
from shared.attribute_reads import Package
from shared.bindings import walk

from sysid_nodes.cli import demo, main
from sysid_nodes.cli.systems import SYSTEMS
from sysid_nodes.sensors import suite
from sysid_nodes.sensors.suite import SensorsConfig

ROOT = Path(__file__).resolve().parents[1]

UNREACHED = {
    "sysid_nodes.models.passivity": "the recursion as derived; law, certificate and soundness are held against it",
}
"""Modules that no entry point reaches, and why they stay."""

UNUSED = {
    "sysid_nodes.start.run_program": "every node's executable calls it (cmake/executable.py.in)",
    "sysid_nodes.reports.sampling.exploration.read_plan": "reads what `sysid explore` writes, for programs that do it",
    "sysid_nodes.logs.actuator_table.read_actuator_table": "likewise, what `sysid replay --online` reads",
    "sysid_nodes.systems.actuators.replay.replay_log": "likewise: estimates of one log, judged on another",
    "sysid_nodes.systems.actuators.methods.network.train_untested": "the paper's, which benchmarks judge ours by",
    "sysid_nodes.models.regressors.momentum_regressors": "eqs. 11 and 12 as they stand; windows are held against them",
}
"""Public functions and classes that no part of the package uses, and why they stay."""

UNCALLED = {
    "LowStateReading.joint_state": "called on what a reader returns that is chosen by the message's type",
    "SimulatedArm.qdd": "the truth, which tests compare with pinocchio",
    "Solid.support": "how far a body reaches, by which tests judge covers and distances",
}
"""Methods that nothing calls, as far as annotations tell, and why they stay."""

CONSTANTS = {
    "_LOADED": "keeps libraries loaded",
    "STANDING": "a robot's facts, which a test checks against its description",
    "TORQUE_WARNING": "likewise",
    "TORSO_IMU": "likewise",
    "VELOCITY_PLANNER": "likewise",
}
"""Constants that nothing reads, and why they stay."""

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
    for item in walk(node):
        if isinstance(item, ast.Import):
            yield from ((alias.name, "") for alias in item.names)
        elif isinstance(item, ast.ImportFrom):
            yield from ((item.module or "", alias.name) for alias in item.names)


@cache
def source(module: str, name: str) -> tuple[str, str]:
    """Module and name that an import stands for: what a package passes on is its source's; no name: a module."""
    if module in FILES and FILES[module].name == "__init__.py":
        for origin, passed in imports(tree(FILES[module])):
            if passed == name and origin != module:
                return source(origin, name)
    return (f"{module}.{name}", "") if f"{module}.{name}" in FILES else (module, name)


def neighbours(file: Path) -> set[str]:
    """Modules that a file imports, or names in a string, to be run."""
    strings = {item.value for item in walk(tree(file)) if isinstance(item, ast.Constant) and item.value in FILES}
    return {found for pair in imports(tree(file)) if (found := source(*pair)[0]) in FILES} | strings


def entry_points() -> set[str]:
    """What is started from outside: commands, demos, nodes' executables, and modules that a person runs."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    scripts = set(re.findall(r'^sysid = "([\w.]+):\w+"$', project, flags=re.MULTILINE))
    assert scripts
    commands = {f"sysid_nodes.cli.{main._PLACES.get(name, name)}" for name in main.COMMANDS}
    demos = {f"sysid_nodes.cli.{system}.demo" for system in demo._SYSTEMS.values()}
    systems = {f"sysid_nodes.cli.{entry.name}.{part}" for entry in SYSTEMS for part in ("system", "reference")}
    nodes = {name for name in FILES if name.startswith("sysid_nodes.ros.nodes.")}
    robots = {name for name, file in FILES.items() if file.parent.parent == ROOT / "sysid_nodes" / "robots"}
    launched = set().union(*(neighbours(file) for file in (ROOT / "launch").glob("*.py")))
    return (
        scripts
        | commands
        | demos
        | systems
        | nodes
        | robots
        | launched
        | {"sysid_nodes.cli.__main__", "sysid_nodes.cli.reference_pages"}
    )


def reached(modules: Iterable[str], floor: str = "") -> set[str]:
    """Modules, and those that they and their packages import in turn whose names begin so."""
    found, waiting = set(), list(modules)
    assert set(waiting) <= set(FILES)
    while waiting:
        if (module := waiting.pop()) not in found:
            found.add(module)
            imported = {*neighbours(FILES[module]), module.rpartition(".")[0]} & set(FILES)
            waiting += (name for name in imported if name.startswith(floor))
    return found


def test_every_module_is_reached_from_an_entry_point() -> None:
    modules = {name for name, file in FILES.items() if file.name != "__init__.py"}
    assert modules - reached(entry_points()) == set(UNREACHED)


@pytest.mark.parametrize(
    ("floor", "known"),
    [
        # A page of certified motion shows the bounds which it rests on.
        ("reports", {("certified", "interval")}),
        # Tracking errors are measured on an arm of the interval identifier.
        ("cli", {("certified", "interval")}),
    ],
)
def test_reports_and_commands_of_systems_do_not_rest_on_one_another(floor: str, known: set[tuple[str, str]]) -> None:
    """Not by way of what they share either. Of systems, sessions and messages import-linter says it."""
    systems = {entry.name for entry in SYSTEMS}
    found = set()
    for name in systems:
        inside = [module for module in FILES if module.startswith(f"sysid_nodes.{floor}.{name}.")]
        rests_on = {module.split(".")[2] for module in reached(inside, f"sysid_nodes.{floor}.")}
        found |= {(name, other) for other in rests_on & systems - {name}}
    assert found == known


# -- functions and classes


def uses(node: ast.AST) -> Iterator[str]:
    """Names that are read below a node."""
    for item in walk(node):
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            yield item.id
        elif isinstance(item, ast.Attribute):
            yield item.attr


def references(name: str, module: ast.Module) -> Iterator[tuple[str, str]]:
    """Module and name of every function or class that a module uses, outside of that function or class itself.

    Another one of the same name is no use, nor is being imported or listed in __all__. No name: a module as a whole.
    """
    places: dict[str, tuple[str, str]] = {}
    for item in walk(module):
        if isinstance(item, ast.Import | ast.ImportFrom):
            for found, alias in zip(imports(item), item.names, strict=True):
                places[alias.asname or alias.name] = source(*found)
    for statement in module.body:
        own, below = getattr(statement, "name", None), walk(statement)
        held = {id(item.value): item.attr for item in below if isinstance(item, ast.Attribute)}
        for item in below:
            if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load) and item.id != own:
                origin, found = places.get(item.id, (name, item.id))
                yield source(origin, held[id(item)]) if not found and id(item) in held else (origin, found)


def unused_functions(trees: dict[str, ast.Module]) -> set[str]:
    """Public functions and classes that neither the package nor examples nor launch files use.

    Commands and nodes are called by name.
    """
    outside = [file for folder in ("examples", "launch") for file in (ROOT / folder).rglob("*.py")]
    used = {pair for name, module in trees.items() for pair in references(name, module)}
    used |= {pair for file in outside for pair in references("", tree(file))}
    used |= {source(module, name) for module in entry_points() for name in ("run", "add_arguments", "main")}
    return {
        f"{name}.{item.name}"
        for name, module in trees.items()
        if name not in UNREACHED
        for item in module.body
        if isinstance(item, ast.FunctionDef | ast.ClassDef) and not item.name.startswith("_")
        if not {(name, item.name), (name, "")} & used
    }


def test_every_public_function_and_class_is_used() -> None:
    """One that nothing uses is added and must be found, although another module has a function of its name in use."""
    assert unused_functions({name: tree(file) for name, file in FILES.items()}) == set(UNUSED)
    module = "sysid_nodes.data.scene"
    added = ast.parse(FILES[module].read_text(encoding="utf-8") + "\n\ndef load_robot() -> None:\n    load_robot()\n")
    trees = {name: tree(file) for name, file in FILES.items()} | {module: added}
    assert unused_functions(trees) - set(UNUSED) == {f"{module}.load_robot"}


@cache
def everything_read() -> frozenset[str]:
    """Names that are read anywhere, also in templates and in strings that register something or look it up."""
    templates = (ROOT / "sysid_nodes" / "reports" / "templates").glob("*.j2")
    found = set(re.findall(r"\w+", " ".join(file.read_text(encoding="utf-8") for file in templates)))
    for file in users():
        strings = (item.value for item in walk(tree(file)) if isinstance(item, ast.Constant))
        found |= {word for text in strings if isinstance(text, str) and " " not in text for word in text.split(".")}
        found |= set(uses(tree(file)))
    return frozenset(found)


ADDED = {
    "sysid_nodes.systems.interval.config": (
        "class WindowConfig:\n",
        '    gain: float = option(1.0, "")\n    seed: int = option(1, "")\n',
    ),
    "sysid_nodes.data.scene": ("class Scene:\n", "    def sin(self) -> float: ...\n"),
}
"""Options and a method that nothing reads: they must be found, though names like theirs are read of other things."""


@cache
def package() -> Package:
    """The whole package with what is added to it, and all code that counts as a use."""
    changed = {}
    for module, (heading, more) in ADDED.items():
        text = FILES[module].read_text(encoding="utf-8")
        assert heading in text
        changed[module] = ast.parse(text.replace(heading, heading + more))
    beside = {f"{file.parent.name}.{file.stem}": tree(file) for file in users() if file not in FILES.values()}
    return Package(beside | {name: tree(file) for name, file in FILES.items()} | changed)


def test_every_method_is_called() -> None:
    """Of a class of ours that has one of that name, as annotations tell; a library's are called from there."""
    theirs = {"destroy_node", "on_activate", "on_cleanup", "on_configure", "on_deactivate", "on_error", "on_shutdown"}
    reads, classes = package().reads(), defaultdict(set)
    for name, found in package().classes.items():
        for item in found.body:
            if isinstance(item, ast.FunctionDef) and not item.name.startswith("__"):
                classes[item.name].add(name)
    unused = {
        f"{name.rpartition('.')[2]}.{method}"
        for method, names in classes.items()
        if method not in theirs and not any(method in reads[name] for name in names)
        for name in names
        if name.startswith("sysid_nodes.") and name.rpartition(".")[0] not in UNREACHED
    }
    assert unused == set(UNCALLED) | {"Scene.sin"}


def test_every_constant_and_every_private_function_is_read() -> None:
    read, unused = everything_read(), set()
    for module, file in FILES.items():
        for item in tree(file).body if module not in UNREACHED else ():
            targets = item.targets if isinstance(item, ast.Assign) else [getattr(item, "target", None)]
            unused |= {target.id for target in targets if isinstance(target, ast.Name)} - read
            if isinstance(item, ast.FunctionDef) and item.name.startswith("_"):
                unused |= {item.name} - read
    assert {name for name in unused if not name.startswith("__")} == set(CONSTANTS)


# -- options


def option_fields(node: ast.ClassDef) -> list[str]:
    """Fields that are made by `option`, by a function of such a name, or by `section`."""
    return [
        item.target.id
        for item in node.body
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and isinstance(item.value, ast.Call)
        if re.fullmatch(r"(\w+_)?option|section", getattr(item.value.func, "id", ""))
    ]


ASKED_OF_ROS = {"autostart", "diagnostics_period"}
"""Options that every node has and `ManagedNode` reads as ROS parameters."""


def unread_options(package: Package, inside: str) -> tuple[int, list[str]]:
    """Number of options, and those that nothing inside reads of a configuration with that field."""
    reads = package.reads(inside)
    classes = ((name, node) for name, node in package.classes.items() if name.startswith(inside))
    found = [(name, item) for name, node in classes for item in option_fields(node)]
    return len(found), [f"{name}.{item}" for name, item in found if item not in reads[name] | ASKED_OF_ROS]


def test_every_option_is_read() -> None:
    """As an attribute of its own class; or by its name as a string where code goes through several options."""
    count, unread = unread_options(package(), "sysid_nodes.")
    assert count > 800
    assert [name.rpartition(".")[2] for name in unread] == ["gain", "seed"]


CONFIGURATIONS = """
class Inner:
    gain: float = option(1.0, "")

class Outer:
    inner: Inner = section(Inner, "")
    gain: float = option(1.0, "")

class Wide(Inner):
    gain: float = option(2.0, "")
"""


@pytest.mark.parametrize(
    ("code", "unread"),
    [
        ("", "Inner.gain Outer.inner Outer.gain Wide.gain"),
        ("def f(config: Outer | None): return config.gain", "Inner.gain Outer.inner Wide.gain"),
        ("def f(config: Outer): return config.inner.gain", "Outer.gain"),
        ("def f(all: dict[str, Inner]): return [one.gain for one in all.values()]", "Outer.inner Outer.gain"),
        (
            "class A:\n def __init__(self, c: Outer): self._c = c\n def f(self): return self._c.gain",
            "Inner.gain Outer.inner Wide.gain",
        ),
        ("def f(config: Outer): return getattr(config, name)\nNAMES = ('gain',)", "Inner.gain Outer.inner Wide.gain"),
        ("T = TypeVar('T')\ndef g(x: T) -> T: ...\ndef f(): return g(Outer).gain", "Inner.gain Outer.inner Wide.gain"),
        ("def f(config): return config.gain", "Inner.gain Outer.inner Outer.gain Wide.gain"),
        (
            "class Outer2(Outer):\n def __post_init__(self): self.gain > 0",
            "Inner.gain Outer.inner Outer.gain Wide.gain",
        ),
    ],
)
def test_reads_follow_annotations(code: str, unread: str) -> None:
    found = unread_options(Package({"m": ast.parse(CONFIGURATIONS + code)}), "m")[1]
    assert [name.removeprefix("m.") for name in found] == unread.split()


def test_every_sensor_has_a_configuration_a_builder_and_a_topic() -> None:
    """One without a topic would be enabled and silent for ever."""
    names = [item.name for item in dataclasses.fields(SensorsConfig)]
    assert sorted(names) == sorted(suite._BUILDERS)
    assert sorted(names) == sorted(stream for source in suite.SOURCES for stream in source.streams)


# -- ROS


def test_every_file_in_ros_uses_ros() -> None:
    """Itself, not through another; what does not belongs to a layer that works without (import-linter: the reverse).

    An executable is one whatever it imports.
    """
    found = (ROOT / "sysid_nodes" / "ros").rglob("*.py")
    files = [file for file in found if file.name != "__init__.py" and file.parent.name != "nodes"]
    assert len(files) > 30
    assert not [
        str(file.relative_to(ROOT))
        for file in files
        if not any(name.split(".")[0] in ROS for name, _ in imports(tree(file)))
    ]
