# SPDX-License-Identifier: Apache-2.0
"""The command ``sysid``: finds the sub-command, runs it and turns errors into one line and an exit status."""

from __future__ import annotations

import argparse
import importlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType

from sysid_nodes.cli.parser import BAD_USAGE, Parser, Version
from sysid_nodes.exceptions import FULL, OverdueError, SysidError
from sysid_nodes.start import INTERRUPTED, missing_library

OK, BAD_INPUT, OVERDUE = 0, BAD_USAGE, 5

COMMANDS = {
    "demo": "run a live demo with a simulated robot",
    "replay": "identify from a recording: payload, drives, motion, links",
    "batch": "replay many recordings and compare the results",
    "init": "draft a parameter file from a URDF and a recording",
    "check": "check a recording: signs, units, gaps, noise, excitation",
    "calibrate": "identify the robot without payload, for later replays",
    "predict": "predict a recording's torques from a calibration or result",
    "convert": "convert a table (CSV or NumPy) to a bag",
    "excite": "generate a motion that excites the drives or the links",
    "evaluate": "predict a recording of a legged robot from a result",
    "explore": "plan the most informative next motion",
    "tracking": "measure the tracking errors of a position controller",
    "report": "make report.html again from a result",
    "export": "write identified parameters to URDF, MJCF or other formats",
    "verify": "verify certificates with a second, independent program",
    "key": "create the key that authenticates commands between nodes",
}
"""Sub-commands and what they do; each is a module, imported only when asked for.

A module has ``add_arguments(parser)`` and ``run(args) -> int``; its docstring is the help's text and may end in
examples.
"""

_PLACES = {
    "convert": "actuators.convert",
    "evaluate": "sampling.evaluate",
    "excite": "actuators.excite",
    "init": "interval.init",
    "tracking": "certified.tracking",
    "verify": "certified.verify",
}
"""Modules of commands that belong to one system."""

_OF_BATCH = frozenset({"cloudpickle", "dask", "distributed"})
"""Packages that the extra of many recordings brings."""

_EPILOG = """\
exit status: 0 success; 2 bad input or usage; 3 the data contradict the stated assumptions; 130 interrupted; others are
in the help of a command, and all of them in docs/exit-status.md

examples:
  sysid demo kinova
  sysid check bags/loaded --config config/kinova_gen3.yaml
  sysid replay bags/loaded --config config/kinova_gen3.yaml --out results/loaded
  sysid export results/loaded/result.json --into robot.urdf --out robot_loaded.urdf

Help on one command: 'sysid COMMAND --help'. Completion with the tab key, in bash or zsh:
  eval "$(register-python-argcomplete sysid)"
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line and returns its exit status."""
    try:
        status = _run(argv)
        sys.stdout.flush()  # what cannot be written shows here, not when the interpreter ends
    except BrokenPipeError:
        # Whoever read our output has gone; nothing more can be said to them.
        sys.stderr.close()
        return OK
    except OSError as error:
        if error.errno not in FULL:
            raise
        sys.stderr.write(f"sysid: error: {error.filename or 'output'}: cannot write: {error.strerror}\n")
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # what is left of it is not to fail once more
        return BAD_INPUT
    return status


def _run(argv: Sequence[str] | None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        with _terminable():
            args = _parse(words)
            from sysid_nodes.solvers.threads import use_one_blas_thread  # numpy takes its time; --help should not

            use_one_blas_thread()
            status: int = args.run(args)
    except SystemExit as stop:  # argparse: help, version, wrong usage
        return stop.code if isinstance(stop.code, int) else BAD_INPUT
    except SysidError as error:
        sys.stderr.write(f"sysid: error: {' '.join(str(error).split())}\n")
        return OVERDUE if isinstance(error, OverdueError) else BAD_INPUT
    except (KeyboardInterrupt, ImportError) as error:
        if line := missing_library(error):
            sys.stderr.write(f"sysid: error: {line}\n")
            return BAD_INPUT
        if not _is_interrupt(error):
            raise
        sys.stderr.write("sysid: interrupted\n")
        return INTERRUPTED
    return status


def _parse(words: list[str]) -> argparse.Namespace:
    parser = Parser(
        prog="sysid",
        description="Online identification of robot dynamics: payload, links, drives, contact forces.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("-V", "--version", action=Version)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)
    completing = "_ARGCOMPLETE" in os.environ
    typed = os.environ["COMP_LINE"].split()[1:] if completing else words
    chosen = next((word for word in typed if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        module = _load(name) if name == chosen else None
        text = (module.__doc__ or "") if module else ""
        opening, _, epilog = text.partition("\n\n")
        command = commands.add_parser(
            name,
            help=summary,
            description=opening,
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if module:
            module.add_arguments(command)
            command.set_defaults(run=module.run)
    if completing:
        import argcomplete

        argcomplete.autocomplete(parser)  # prints the words that fit and ends the process
    args: argparse.Namespace
    args, unknown = parser.parse_known_args(words)
    if unknown:
        # By the command's own parser, which knows the options that may have been meant.
        commands.choices[str(chosen)].error(f"unrecognized arguments: {' '.join(unknown)}")
    return args


def _load(name: str) -> ModuleType:
    """Imports a sub-command.

    Raises:
        SysidError: something that it needs is not installed.
    """
    try:
        return importlib.import_module(f"sysid_nodes.cli.{_PLACES.get(name, name)}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("sysid_nodes"):
            raise SysidError(f"'{name}' is not part of this installation ({error.name} is missing)") from None
        cure = "; pip install 'sysid-nodes[batch]' brings it" if error.name in _OF_BATCH else ""
        raise SysidError(f"'{name}' needs the Python package '{error.name}', which is not installed{cure}") from None


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM and hangup end a command as cleanly as Ctrl-C does: what is half-written goes.

    A hangup that was ignored before, as under nohup, stays ignored.
    """
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    taken = [number for number, handler in before.items() if handler is not signal.SIG_IGN]
    for number in taken:
        signal.signal(number, signal.default_int_handler)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def _is_interrupt(error: BaseException | None) -> bool:
    """Whether it is an interrupt, or the failed import that a compiled module makes of one."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


if __name__ == "__main__":
    sys.exit(main())
