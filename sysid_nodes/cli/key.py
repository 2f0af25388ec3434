# SPDX-License-Identifier: Apache-2.0
"""Creates the key that authenticates messages between planner, controller, identifier and robot.

examples:
  sysid key new ~/.config/online_sysid/key
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_nodes.data.key_file import create_key


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    verbs = parser.add_subparsers(metavar="new", required=True, dest="verb")
    new = verbs.add_parser("new", help="write a new key that only you can read; no file is ever overwritten")
    new.add_argument("file", metavar="FILE", type=Path, help="to be made; its folder has to exist")


def run(args: argparse.Namespace) -> int:
    """Runs the command.

    Raises:
        InputError: the file exists or cannot be written.
    """
    path = args.file.expanduser().absolute()
    create_key(str(path))
    sys.stdout.write(f"{path}: a new key, to be named as authority.key_file on each machine that commands or obeys\n")
    return 0
