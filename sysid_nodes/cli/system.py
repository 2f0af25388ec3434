# SPDX-License-Identifier: Apache-2.0
"""A system as the command line sees it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_nodes.reports.run_files import RunFiles
from sysid_nodes.results.quantity import Quantity


@dataclass(frozen=True)
class Replay:
    """A system's part in `sysid replay`.

    Attributes:
        wanted: whether the arguments ask for this system.
        run: replays and returns the exit status.
        add_arguments: adds the arguments that only this system has; none has a default, so that one which is given
            without the system being wanted is noticed.
        online: whether it replays window by window, too, as its live node works.
    """

    wanted: Callable[[argparse.Namespace], bool]
    run: Callable[[argparse.Namespace], int]
    add_arguments: Callable[[argparse.ArgumentParser], None] = lambda _parser: None
    online: bool = False


@dataclass(frozen=True)
class Report:
    """A system's part in `sysid report`.

    Attributes:
        made: whether a result is this system's: the document, which has a pipeline, and the folder that it is in.
        write: checks the result and writes the page: path of the page, result, folder.
        quantities: the numbers of a checked result that other runs' are compared with.
    """

    made: Callable[[Mapping[str, Any], Path], bool]
    write: Callable[[Path, dict[str, Any], Path], None]
    quantities: Callable[[Mapping[str, Any]], list[Quantity]]


def run_report(files: RunFiles, quantities: Callable[[Mapping[str, Any]], list[Quantity]]) -> Report:
    """The part of a system whose runs leave the files of `RunFiles`."""
    return Report(lambda document, _folder: document["pipeline"] == files.pipeline, files.write_page, quantities)


@dataclass(frozen=True)
class Export:
    """A system's part in `sysid export`.

    Attributes:
        pipeline: of the results that it exports.
        run: writes the file and returns the exit status: arguments, parsed result.
    """

    pipeline: str
    run: Callable[[argparse.Namespace, dict[str, Any]], int]


@dataclass(frozen=True)
class System:
    """A system.

    Attributes:
        name: of its folder on every floor, and of its pages' in docs/.
        subject: what its own arguments are for, in messages: "--mode is for SUBJECT".
        configs: options of its nodes.
        page: text of docs/NAME/parameters.md.
        replay: where it can be replayed by itself.
        report: where a report can be made again from its result.
        export: where a result can be written into other programs' files.
    """

    name: str
    subject: str
    configs: tuple[type[Any], ...]
    page: Callable[[], str]
    replay: Replay | None = None
    report: Report | None = None
    export: Export | None = None
