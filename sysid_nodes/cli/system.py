# SPDX-License-Identifier: Apache-2.0
"""A system as the command line sees it: an entry that costs nothing, and parts that are loaded when needed."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_nodes.results.quantity import Quantity


@dataclass(frozen=True)
class Report:
    """A system's part in `sysid report`.

    Attributes:
        write: checks the result and writes the page: path of the page, result, folder.
        quantities: the numbers of a checked result that other runs' are compared with.
    """

    write: Callable[[Path, dict[str, Any], Path], None]
    quantities: Callable[[Mapping[str, Any]], list[Quantity]]


@dataclass(frozen=True)
class Reference:
    """A system's options, as `REFERENCE` in cli/NAME/reference.py.

    Attributes:
        configs: options of its nodes.
        page: text of docs/NAME/parameters.md.
    """

    configs: tuple[type[Any], ...]
    page: Callable[[], str]


@dataclass(frozen=True)
class System:
    """A system's part in commands, as `SYSTEM` in cli/NAME/system.py.

    Attributes:
        report: makes a report again from its result.
        replay: replays a recording and returns the exit status, where it can be replayed by itself.
        export: writes a parsed result into other programs' files and returns the exit status, where it can.
        predict: predicts a recording's torques by a parsed result, of an arm also by a calibration, or by a URDF and
            nothing parsed, and returns the exit status, where it can.
    """

    report: Report
    replay: Callable[[argparse.Namespace], int] | None = None
    export: Callable[[argparse.Namespace, dict[str, Any]], int] | None = None
    predict: Callable[[argparse.Namespace, dict[str, Any] | None], int] | None = None


@dataclass(frozen=True)
class Entry:
    """All that a command knows of a system before it is clear which one runs.

    The module that has one imports neither algorithm nor report: a command does not load what it does not run.

    Attributes:
        name: of its folder on every floor, of its pages' in docs/ and of its results' pipeline.
        subject: kind of log or robot that it is for, as in "--mode is for SUBJECT".
        wanted: whether the arguments of `sysid replay` ask for this system; None if it cannot be replayed by itself.
        add_arguments: adds the arguments of `sysid replay` that only this system has; none has a default, so that one
            which is given without the system being wanted is noticed.
        online: whether it replays window by window, too, as its live node works.
        made: whether a result is this system's, where its pipeline's name does not tell: document, its folder.
    """

    name: str
    subject: str
    wanted: Callable[[argparse.Namespace], bool] | None = None
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda _parser: None
    online: bool = False
    made: Callable[[Mapping[str, Any], Path], bool] | None = None

    def has_made(self, document: Mapping[str, Any], folder: Path) -> bool:
        """Whether a result, which has a pipeline and is in this folder, is this system's."""
        return bool(document["pipeline"] == self.name) if self.made is None else self.made(document, folder)

    def load(self) -> System:
        """Its parts in commands."""
        system: System = importlib.import_module(f"sysid_nodes.cli.{self.name}.system").SYSTEM
        return system

    def reference(self) -> Reference:
        """Its options and their page."""
        reference: Reference = importlib.import_module(f"sysid_nodes.cli.{self.name}.reference").REFERENCE
        return reference
