"""Makes report.html again from result.json and, for the torques, the series.npz beside it.

examples:
  sysid report results/loaded
  sysid report results/loaded/result.json --out loaded.html
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.interval_report import REPORT_NAME, write_report
from sysid_nodes.reports.result_file import read_result
from sysid_nodes.reports.series_file import SERIES_NAME, read_series


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", type=Path, metavar="DIR|result.json", help="a result, or the folder that holds it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write; default: report.html beside it")


def run(args: argparse.Namespace) -> int:
    document = read_result(args.result)
    if document["pipeline"] != "interval":
        raise InputError(f"no report is known for pipeline '{document['pipeline']}'", source=str(args.result))
    folder = args.result if args.result.is_dir() else args.result.parent
    series = folder / SERIES_NAME
    page = args.out or folder / REPORT_NAME
    write_report(page, document, read_series(series) if series.exists() else None)
    sys.stdout.write(f"{page}\n")
    return 0
