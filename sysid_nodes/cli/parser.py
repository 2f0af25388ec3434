# SPDX-License-Identifier: Apache-2.0
"""An argument parser whose complaints are one line, with the word that was probably meant."""

from __future__ import annotations

import argparse
import re
import sys
from typing import Any, NoReturn

BAD_USAGE = 2

_CHOICES = r" \(choose from (.*)\)"
_SHORT = 100  # a longer list of choices is left to the help [characters]


class Parser(argparse.ArgumentParser):
    """See the module."""

    def error(self, message: str) -> NoReturn:
        nearest = self._nearest(message)
        listed = re.search(_CHOICES, message)
        if listed and (nearest or len(listed[1]) > _SHORT):
            message = message.replace(listed[0], "")
        self.exit(BAD_USAGE, f"sysid: error: {message}{nearest} (see '{self.prog} --help')\n")

    def _nearest(self, message: str) -> str:
        """The option or choice nearest to the one complained about."""
        from sysid_nodes.data.joint_vector import did_you_mean  # with NumPy, which --help shall not wait for

        unknown = re.match(r"unrecognized arguments: (-\S+)", message)
        if unknown:
            return did_you_mean(unknown[1].partition("=")[0], self._option_string_actions)
        choice = re.search(rf"invalid choice: '(.*?)'{_CHOICES}", message)
        return did_you_mean(choice[1], (word.strip(" '") for word in choice[2].split(","))) if choice else ""


class Version(argparse.Action):
    """Prints version and commit."""

    def __init__(self, option_strings: list[str], dest: str = argparse.SUPPRESS) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, help="show the version and exit")

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        from sysid_nodes.data.versions import own_version  # with NumPy, see above

        version, commit = own_version()
        sys.stdout.write(f"sysid {version}{f' (commit {commit})' if commit else ''}\n")
        parser.exit()
