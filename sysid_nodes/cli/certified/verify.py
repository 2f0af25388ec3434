# SPDX-License-Identifier: Apache-2.0
"""Verifies certificates with a program that shares no code with their maker (docs/certified/verification.md).

From a recording it takes --sample trajectories, each with its predecessor. A file written by --save or 'sysid excite'
holds one trajectory; of a folder of such files all are verified. For each claim it prints "verified", "not verified" or
"outside its scope", with the claimed and the shown value.

exit status: 0 if every claim in scope is verified, 3 if not

examples:
  sysid verify bags/certified --config my_arm.yaml
  sysid verify bags/certified --config my_arm.yaml --sample 0 --save certificates
  sysid verify certificates/0123456789abcdef.json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.cli.progress import track
from sysid_nodes.data.config import read_parameters
from sysid_nodes.data.scene import Scene, scene_of
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.certified.history import read_certificates
from sysid_nodes.sessions.certified.premises import certificate_document, certificate_premises
from sysid_nodes.sessions.certified.settings import ESTIMATES, CertifiedModel, CertifiedSettings
from sysid_nodes.verification.document import scene_id
from sysid_nodes.verification.verify import Verification, verify

NOT_VERIFIED = 3

_HEAD = ("claim", "claimed", "shown", "verdict")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument(
        "source", type=Path, metavar="CERTIFICATE|BAG", help="a file or folder that --save wrote, or a recording"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="parameter file that the recording was made with")
    parser.add_argument("--scene", metavar="FILE", help="obstacles; default: the parameter file's, and those recorded")
    parser.add_argument(
        "--sample", type=int, default=3, metavar="N", help="trajectories to take of a recording; 0: all; default: 3"
    )
    parser.add_argument("--save", type=Path, metavar="FOLDER", help="also write each as a file that holds all it needs")


def run(args: argparse.Namespace) -> int:
    """Runs the command.

    Raises:
        InputError: nothing there can be verified.
    """
    files = _files(args.source)
    documents = [_file(path) for path in files] if files else _documents(args)
    if args.save is not None:
        args.save.mkdir(parents=True, exist_ok=True)
    found: list[Verification] = []
    for document in track(documents, "verifying"):
        try:
            found.append(verify(document))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise InputError(f"not a certificate ({type(error).__name__}: {error})", source=str(args.source)) from None
        if args.save is not None:
            write_atomically(args.save / f"{found[-1].id}.json", json.dumps(document))
    sys.stdout.write("".join(table(one) for one in found))
    if any(document["premises"].get("estimates") for document in documents):
        sys.stdout.write(f"{ESTIMATES}\n")
    missing = {document["record"]["scene_id"] for document in documents} - {
        scene_id(document["premises"]) for document in documents
    }
    if missing:
        names = ", ".join(sorted(missing))
        sys.stdout.write(f"obstacles {names} are neither recorded nor given: name their file with --scene\n")
    return 0 if all(one.verified for one in found) else NOT_VERIFIED


def table(found: Verification) -> str:
    """One line a claim, and a last one that sums up."""
    rows = [_HEAD, *((claim.name, claim.claimed, claim.shown, claim.verdict.value) for claim in found.claims)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    lines = ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    verdict = "every claim in scope is verified" if found.verified else "not all of it is verified"
    return "\n".join([f"certificate {found.id}", *lines, verdict, "", ""])


def _files(source: Path) -> list[Path]:
    """Those of certificates; none for a recording."""
    if source.is_dir() and not (source / "metadata.yaml").exists():
        return sorted(source.glob("*.json"))
    return [source] if source.suffix == ".json" else []


def _file(path: Path) -> dict[str, Any]:
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(error.strerror or str(error), source=str(path)) from None
    except ValueError:
        raise InputError("not a certificate: no JSON", source=str(path)) from None
    if not isinstance(document, dict):
        raise InputError("not a certificate: no JSON object", source=str(path))
    return document


def _documents(args: argparse.Namespace) -> list[dict[str, Any]]:
    if not args.source.exists():
        raise InputError("No such file or directory", source=str(args.source))
    if args.config is None:
        raise ConfigError("a recording needs the parameter file it was made with (--config)")
    values = read_parameters(args.config)
    settings = CertifiedSettings.of(values)
    model = CertifiedModel(settings)
    records, scenes = read_certificates(args.source)
    if not records:
        raise InputError("no certified trajectory is recorded", source=str(args.source))
    scenes.append(scene_of(args.scene or str(values.get("scene", ""))))
    named, before = {scene.id: scene for scene in scenes}, {record.id: record for record in records}
    premises = certificate_premises(model.robot, model.shapes, settings)
    return [
        certificate_document(
            records[i], before.get(records[i].previous_id), premises, named.get(records[i].scene_id, Scene())
        )
        for i in _spread_indices(len(records), args.sample)
    ]


def _spread_indices(count: int, sample: int) -> Iterator[int]:
    """Spread over all, the first and the last among them."""
    wanted = count if sample <= 0 else min(sample, count)
    return iter(sorted({int(i) for i in np.linspace(0, count - 1, wanted).round()}))
