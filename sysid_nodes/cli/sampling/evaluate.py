# SPDX-License-Identifier: Apache-2.0
"""Predicts a new recording of a legged robot with its nominal and its identified parameters, and compares the errors.

Clips are simulated open loop, from their measured start and with the recorded commands. The errors are the paper's
(SPI-Active): root position J_rpos, joint angles J_pja, root velocity J_rvel. Writes DIR/prediction.json.

examples:
  sysid evaluate results/walk/result.json bags/other --out results/evaluated
  sysid evaluate results/walk/result.json bags/other --horizon 0.5 --out results/evaluated
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.cli.output_folder import OutputFolder
from sysid_nodes.cli.sampling.replay import read_into
from sysid_nodes.data.config import from_flat
from sysid_nodes.exceptions import InputError, LogError
from sysid_nodes.messages.sampling.posterior import to_posterior
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.files import read_document
from sysid_nodes.reports.json_text import encode
from sysid_nodes.reports.sampling.schema import validate_sampling
from sysid_nodes.reports.schema import SCHEMA
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig, sampling_robot
from sysid_nodes.sessions.sampling.session import SamplingSession
from sysid_nodes.systems.sampling.prediction import ERRORS, Prediction, predict
from sysid_nodes.systems.sampling.unknowns import Unknowns

_NAME = "prediction.json"
_UNITS = ("m", "rad", "m/s")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("result", type=Path, metavar="RESULT", help="result.json of an identification by rollouts")
    parser.add_argument("bag", type=Path, metavar="BAG", help="rosbag2 folder, or a single .mcap or .db3 file")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument("--horizon", type=float, default=1.5, metavar="S", help="of the clips [s]; default: 1.5")
    parser.add_argument("--clips", type=int, default=40, metavar="N", help="at most; default: 40")
    parser.add_argument("--topic", default="/joint_states", help="topic of the joint states; default: %(default)s")


def run(args: argparse.Namespace) -> int:
    """Predicts and returns the exit status."""
    if not args.horizon > 0.0 or args.clips < 1:
        raise InputError("--horizon and --clips must be positive")
    source, out = str(args.result), OutputFolder(args.out, _NAME)
    document = validate_sampling(read_document(args.result), source=source)
    if document["posterior"] is None:
        raise InputError("has no posterior to simulate with (method 'paper' never does)", source=source)
    config = from_flat(SamplingSessionConfig, document["config"], source=source)
    robot = sampling_robot(config)
    session = SamplingSession(robot, config)
    described = Unknowns(robot, config.sampling).column("guess")
    try:
        read_into(session, args.bag, args.topic)
        vectors = (described, to_posterior(document["posterior"]).values)
        found = predict(session.log(), robot, config.sampling, vectors, args.horizon, args.clips)
    except LogError as error:
        raise error if error.source else LogError(str(error), source=str(args.bag)) from None
    told = _document(found, source, str(args.bag))
    with out as folder:
        write_atomically(folder / _NAME, encode(told))
    if document["source"] == str(args.bag):
        sys.stderr.write(f"sysid: warning: {args.bag}: the result is of this very recording; nothing is held out\n")
    sys.stdout.write(f"mean error of {told['clips']} clips of {args.horizon:g} s: as identified / as described\n")
    for row in told["errors"]:
        sys.stdout.write(
            f"{row['name']:<15}{row['identified']:9.4f} /{row['described']:8.4f} {row['unit']:<4}"
            f"= {row['ratio']:.2f} ({row['lower']:.2f} .. {row['upper']:.2f})\n"
        )
    sys.stdout.write(f"{args.out / _NAME}\n")
    return 0


def _document(found: Prediction, result: str, source: str) -> dict[str, Any]:
    means, ratios = found.means, found.ratio(1, 0, np.random.default_rng(0))
    return {
        "schema": SCHEMA,
        "pipeline": "prediction_by_rollouts",
        "result": result,
        "source": source,
        "clips": found.errors.shape[1],
        "horizon": found.length,
        "errors": [
            {
                "name": name,
                "unit": unit,
                "described": float(means[0, k]),
                "identified": float(means[1, k]),
                **dict(zip(("ratio", "lower", "upper"), ratios[k].tolist(), strict=True)),
            }
            for k, (name, unit) in enumerate(zip(ERRORS, _UNITS, strict=True))
        ],
    }
