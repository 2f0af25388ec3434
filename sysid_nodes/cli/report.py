# SPDX-License-Identifier: Apache-2.0
"""Makes report.html again from result.json and series.npz; for the demo of an arm, also from its bag.

examples:
  sysid report results/loaded
  sysid report results/loaded/result.json --out loaded.html
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_nodes.cli.systems import maker_of
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.files import REPORT_NAME, read_document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", type=Path, metavar="DIR|result.json", help="a result, or the folder that holds it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write; default: report.html beside it")


def run(args: argparse.Namespace) -> int:
    """By the first system whose result it is."""
    document = read_document(args.result)
    folder = args.result if args.result.is_dir() else args.result.parent
    entry = maker_of(document, folder)
    if entry is None:
        raise InputError(f"no report is known for pipeline '{document.get('pipeline')}'", source=str(args.result))
    page = args.out or folder / REPORT_NAME
    entry.load().report.write(page, document, folder)
    sys.stdout.write(f"{page}\n")
    return 0
