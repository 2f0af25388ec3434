# SPDX-License-Identifier: Apache-2.0
"""Arguments that only arms have; whatever no other system wants is for the interval identifier."""

from __future__ import annotations

import argparse

from sysid_nodes.cli.system import Entry


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--relax", action="store_true", default=None,
        help="where the data contradict the assumptions: relax the one that needs least, and say so",
    )  # fmt: skip


INTERVAL = Entry("interval", "arms", lambda _args: True, add_arguments)
