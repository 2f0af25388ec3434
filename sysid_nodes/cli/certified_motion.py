# SPDX-License-Identifier: Apache-2.0
"""An arm's exciting motion by the certified planner, with its certificates: `sysid excite --certified`, `explore`."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sysid_nodes.cli.configuration import setting
from sysid_nodes.cli.progress import Stages
from sysid_nodes.data.config import from_flat, own_parameters, read_parameters
from sysid_nodes.exceptions import ConfigError, InputError
from sysid_nodes.reports.actuators.excitation import write_excitation
from sysid_nodes.robots import Robot
from sysid_nodes.sessions.certified.config import CertifiedPlannerConfig, set_up
from sysid_nodes.sessions.certified.excitation import CertifiedExcitation, certified_excitation
from sysid_nodes.sessions.certified.motion_planner import build_planner
from sysid_nodes.sessions.certified.premises import certificate_document, certificate_premises
from sysid_nodes.sessions.certified.settings import ESTIMATES
from sysid_nodes.systems.actuators.excitation import Excitation, ExcitationConfig

CERTIFICATES = "certificates"

_OWN = ("duration", "rate")
"""Options of the motion that are not the planner's to choose."""

_PATIENT = {"planner.proposal.draws": 200, "planner.proposal.starts": 8}
"""No robot waits for a motion that is planned beforehand; a file's own effort counts all the same."""

DRIVES = {"planner.excite.subject": "drives"}
"""Whatever the file has the live planner learn."""


class CertifiedMotion:
    """The setup of a parameter file, and motions within it.

    Args:
        path: parameter file of certified motion.
        settings: KEY=VALUE; duration, rate, or any key that the file may have.
        instead: dotted names and values that count instead of the file's.

    Attributes:
        config: of the planner.

    Raises:
        ConfigError: a value is wrong.
    """

    def __init__(self, path: Path, settings: Sequence[str], instead: Mapping[str, Any]) -> None:
        mine = [text for text in settings if text.partition("=")[0].strip() in _OWN]
        planners = dict(setting(text, CertifiedPlannerConfig) for text in settings if text not in mine)
        self.motion = from_flat(
            ExcitationConfig, dict(setting(text, ExcitationConfig) for text in mine), source="command line"
        )
        values = _PATIENT | own_parameters(CertifiedPlannerConfig, read_parameters(path)) | dict(instead) | planners
        self.config = from_flat(CertifiedPlannerConfig, values, source=str(path))
        self._setup = set_up(self.config)
        self._found: CertifiedExcitation | None = None

    @property
    def robot(self) -> Robot:
        """As described by the file."""
        return self._setup.robot

    @property
    def body(self) -> str:
        """Link whose bounds count."""
        return self._setup.body

    def plan(self, q: np.ndarray) -> Excitation | str:
        """A motion from rest at a posture (n,), or why none from there is certified, in words.

        Raises:
            ConfigError: there is nothing to learn.
        """
        planner = build_planner(self._setup, self.config, time.monotonic)
        duration = self.motion.duration
        with Stages() as stages:
            found = certified_excitation(
                planner,
                self._setup,
                self.config,
                q,
                duration,
                progress=lambda planned: stages.show("certified seconds", round(planned), round(duration)),
            )
        if not found.parts:
            return f"no motion from this posture is certified ({found.reason}); choose another with --middle"
        self._found = found
        q, qd, qdd = found.states(self.motion.rate)
        return Excitation(np.arange(len(q)) / self.motion.rate, q, qd, qdd)

    def write(self, folder: Path) -> None:
        """Writes the certificates of the motion planned last, one a file, for `sysid verify`."""
        assert self._found is not None
        place = folder / CERTIFICATES
        place.mkdir()
        premises = certificate_premises(self._setup.robot, self._setup.shapes, self.config)
        former = None
        for k, part in enumerate(self._found.parts):
            document = certificate_document(part.record, former, premises, self._setup.scene)
            (place / f"{k:03}.json").write_text(json.dumps(document), encoding="utf-8")
            former = part.record

    def words(self, bounds: str = "the file") -> str:
        """About the certificates, for people: what they are for, whose bounds count, and what is missing."""
        assert self._found is not None
        node, found = self.config.certified_planner, self._found
        whose = "the robust controller" if node.output == "torque" else "a position controller within 'tracking'"
        lines = [f"{len(found.parts)} certificates, for {whose}, obstacles of the file, bounds of {bounds}"]
        if found.reason:
            lines.append(f"shorter than asked for: {found.reason}")
        if self.config.estimates:
            lines.append(ESTIMATES)
        return "".join(f"{line}\n" for line in lines)


def refuse_existing(out: Path) -> None:
    """Before the work, not after it.

    Raises:
        InputError: the folder is there.
    """
    if out.exists():
        raise InputError("exists; it is left as it is", source=str(out))


def write_whole(out: Path, robot: Robot, motion: Excitation, certified: CertifiedMotion | None) -> None:
    """A motion's folder, which appears complete or not at all.

    Raises:
        InputError: it cannot be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}.") as made:
            folder = Path(made) / out.name
            folder.mkdir()
            write_excitation(folder, robot.joint_names, motion)
            if certified is not None:
                certified.write(folder)
            folder.rename(out)
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", source=str(out)) from None


def middle(text: str | None, robot: Robot) -> np.ndarray:
    """(n,) the posture chosen, or the middle of the limits and zero where there are none."""
    if text:
        return _posture(text, robot.n)
    lower, upper = robot.limits.position_lower, robot.limits.position_upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    found = np.zeros(robot.n)
    found[bounded] = 0.5 * (lower[bounded] + upper[bounded])
    return found


def _posture(text: str, n: int) -> np.ndarray:
    try:
        found = np.array([float(word) for word in text.split(",")])
    except ValueError:
        raise ConfigError(f"--middle needs numbers with commas between them, got '{text}'") from None
    if len(found) != n or not np.isfinite(found).all():
        raise ConfigError(f"--middle needs {n} finite numbers, got '{text}'")
    return found
