"""Makes report.html again from result.json and the series.npz beside it; of a demo of an arm, from its bag too.

examples:
  sysid report results/loaded
  sysid report results/loaded/result.json --out loaded.html
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.actuators.run import report_actuators
from sysid_nodes.reports.actuators.schema import PIPELINE as ACTUATORS
from sysid_nodes.reports.certified.report import write_certified_report
from sysid_nodes.reports.certified.result import recorded_loop
from sysid_nodes.reports.certified.schema import validate_loop
from sysid_nodes.reports.interval.report import REPORT_NAME, write_report
from sysid_nodes.reports.interval.result_file import read_result
from sysid_nodes.reports.interval.series_file import SERIES_NAME, read_series
from sysid_nodes.reports.prime.run import report_motion
from sysid_nodes.reports.prime.schema import PIPELINE as PRIME

BAG_NAME = "bag"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", type=Path, metavar="DIR|result.json", help="a result, or the folder that holds it")
    parser.add_argument("--out", type=Path, metavar="FILE", help="page to write; default: report.html beside it")


def run(args: argparse.Namespace) -> int:
    document = read_result(args.result)
    folder = args.result if args.result.is_dir() else args.result.parent
    series, bag = folder / SERIES_NAME, folder / BAG_NAME
    page = args.out or folder / REPORT_NAME
    if document["pipeline"] == PRIME:
        report_motion(page, document, series, source=str(args.result))
        sys.stdout.write(f"{page}\n")
        return 0
    if document["pipeline"] == ACTUATORS:
        report_actuators(page, document, series)
        sys.stdout.write(f"{page}\n")
        return 0
    if document["pipeline"] != "interval":
        raise InputError(f"no report is known for pipeline '{document['pipeline']}'", source=str(args.result))
    torques = read_series(series) if series.exists() else None
    if "loop" in document and bag.exists():
        validate_loop(document, source=str(args.result))
        write_certified_report(page, document, recorded_loop(document, bag), torques)
    else:
        write_report(page, document, torques)
    sys.stdout.write(f"{page}\n")
    return 0
