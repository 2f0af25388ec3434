# SPDX-License-Identifier: Apache-2.0
"""The four-bar leg's demo: MuJoCo hides a leg and records it; the recording tells what the leg is, and how well."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from typing import Any

import numpy as np

from sysid_nodes.cli.bayesian.replay import replay_into
from sysid_nodes.cli.demo.closing import closing, wrapped
from sysid_nodes.cli.demo.live_run import draw_seed, output_and_work
from sysid_nodes.data.config import load_yaml
from sysid_nodes.data.packaged import packaged_file
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.bayesian.report import headline
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.simulation.fourbar.bag import write_leg_bag
from sysid_nodes.simulation.fourbar.leg import LegTruth, simulate_leg

CONFIG = "config/fourbar_bayesian.yaml"
DURATION = 12.0  # [s]

_MISSED, _CONTRADICTION = 1, 3
_SHARE = 0.8  # of the intervals of 95 % that have to hold the truth: less is no chance of a posterior that covers
_SHOWN = 14


def run(args: argparse.Namespace) -> int:
    """Runs the demo and returns the exit status.

    Raises:
        SysidError: the output cannot be written.
    """
    seed = draw_seed(args.seed)
    rng = np.random.default_rng(seed)
    source = packaged_file(CONFIG)
    if source is None:
        raise InputError("is not installed", source=CONFIG)
    with output_and_work(args.out) as (folder, _):
        truth = LegTruth.drawn(rng)
        sys.stdout.write("Simulating a leg whose links, friction and motors nobody is told ...\n")
        sys.stdout.flush()
        record = simulate_leg(truth, args.motion_time or DURATION, rng)
        write_leg_bag(folder / "bag", record)
        values = truth.values()
        (folder / "truth").mkdir()
        (folder / "truth" / "leg.json").write_text(json.dumps(values, indent=2) + "\n", encoding="utf-8")
        shutil.copyfile(source, folder / "config.yaml")
        config = load_yaml(BayesianSessionConfig, folder / "config.yaml")
        document = replay_into(folder, folder / "bag", config, "/joint_states", values, str(args.out / "bag"))
    sys.stdout.write(wrapped("\n".join(["", _summary(document), *closing("fourbar", args.out, seed), ""])))
    return _status(document)


def _summary(document: dict[str, Any]) -> str:
    rows = [row for row in document["parameters"] if row["verdict"] == "observed" and row["mean"] is not None]
    rows.sort(key=lambda row: float(row["narrowing"]))
    lines = [f"{'':22}{'truth':>12}{'mean':>12}{'95 % from':>12}{'to':>12}"]
    for row in rows[:_SHOWN]:
        values = "".join(f"{row[key]:12.4g}" for key in ("truth", "mean", "lower", "upper"))
        lines.append(f"{row['name']:22}{values}  {row['unit']}")
    return "\n".join([*lines, "", f"{headline(document)}."])


def _status(document: dict[str, Any]) -> int:
    status = BayesianStatus[document["status"]]
    if not status.trusted:
        sys.stderr.write(f"sysid: demo: {status.message}\n")
        return _CONTRADICTION
    rows = [row for row in document["parameters"] if row["verdict"] == "observed"]
    inside = sum(row["lower"] <= row["truth"] <= row["upper"] for row in rows)
    if inside < _SHARE * len(rows):
        sys.stderr.write(f"sysid: demo: only {inside} of {len(rows)} intervals of 95 % hold the truth\n")
        return _MISSED
    return 0
