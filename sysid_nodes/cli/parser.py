# SPDX-License-Identifier: Apache-2.0
"""An argument parser whose complaints are one line, with the word that was probably meant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

BAD_USAGE = 2

_CHOICES = r" \(choose from (.*)\)"
_SHORT = 100  # a longer list of choices is left to the help [characters]


class Parser(argparse.ArgumentParser):
    """See the module."""

    _words: Sequence[str] = ()

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """As argparse's; takes note of the words."""
        self._words = sys.argv[1:] if args is None else list(args)
        return super().parse_known_args(args, namespace)

    def error(self, message: str) -> NoReturn:
        if message.startswith("the following arguments are required") and (strange := self._strange_option()):
            message = f"unrecognized arguments: {strange}"  # what is missing may be what it was meant to be
        nearest = self._nearest(message)
        listed = re.search(_CHOICES, message)
        if listed and (nearest or len(listed[1]) > _SHORT):
            message = message.replace(listed[0], "")
        self.exit(BAD_USAGE, f"sysid: error: {message}{nearest} (see '{self.prog} --help')\n")

    def _strange_option(self) -> str:
        """The first word that looks like an option and is none, nor an option's beginning."""
        options = [word.partition("=")[0] for word in self._words if word.startswith("--") and word != "--"]
        known = self._option_string_actions
        return next((word for word in options if not any(name.startswith(word) for name in known)), "")

    def _nearest(self, message: str) -> str:
        """The option or choice nearest to the one complained about."""
        from sysid_nodes.data.joint_vector import did_you_mean  # with NumPy, which --help shall not wait for

        unknown = re.match(r"unrecognized arguments: (-\S+)", message)
        if unknown:
            names = [name.lstrip("-") for name in self._option_string_actions]  # dashes are alike in all of them
            return did_you_mean(unknown[1].partition("=")[0].lstrip("-"), names).replace("'", "'--", 1)
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
