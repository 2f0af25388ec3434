# SPDX-License-Identifier: Apache-2.0
"""The last lines of every demo: what to look at, and commands that do what they say, quoted for a shell."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

from sysid_nodes.cli.demo.arguments import given_options
from sysid_nodes.reports.files import REPORT_NAME, RESULT_NAME

_LATE = 0.1  # behind real time, from which it is worth a line [s]
_PAGE = 120  # characters of a line where there is no terminal


def closing_lines(args: argparse.Namespace, seed: int, *options: str) -> list[str]:
    """Lines for the end of a summary.

    Args:
        args: of `sysid demo`.
        seed: that was given or drawn.
        options: with which a replay gives the live node's numbers.
    """
    out: Path = args.out
    bag, config = str(out / "bag"), str(out / "config.yaml")
    again = shlex.join(["sysid", "replay", bag, "--config", config, *options, "--out", f"{out}_again"])
    repeat = shlex.join(["sysid", "demo", args.robot, *given_options(args), "--seed", str(seed), "--out", str(out)])
    return [
        "",
        f"Open {out / REPORT_NAME} in a browser; {out / RESULT_NAME} is for programs.",
        "To replay the recording:",
        f"    {again}",
        "To run this demo again, with the same draw:",
        f"    {repeat}",
    ]


def machine_lines(behind: float, usage: Mapping[str, float]) -> list[str]:
    """Lines about the machine.

    Args:
        behind: how much longer a simulation took than its stamps say [s]; those know nothing of it.
        usage: of one core, by process.
    """
    lines = [f"The simulation was {behind:.1f} s behind real time."] if behind > _LATE else []
    if usage:
        shares = ", ".join(f"{name} {100.0 * share:.0f} %" for name, share in usage.items())
        lines.append(f"Processor time during the motion, in shares of one core: {shares}.")
    return lines


def say(text: str) -> None:
    """Writes lines that stay, at once."""
    sys.stdout.write(wrap(text) + "\n")
    sys.stdout.flush()


def wrap(text: str) -> str:
    """Sentences broken at words, also in a file; commands, which are indented, are not."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else _PAGE
    lines = [
        line if line.startswith(" ") else textwrap.fill(line, width, break_long_words=False, break_on_hyphens=False)
        for line in text.split("\n")
    ]
    return "\n".join(lines)
