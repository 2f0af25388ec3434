# SPDX-License-Identifier: Apache-2.0
"""`sysid excite --certified`: an arm's exciting motion by the certified planner, with its certificates."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from sysid_nodes.cli.configuration import parse_setting
from sysid_nodes.cli.progress import Stages
from sysid_nodes.data.config import from_flat, own_parameters, read_parameters
from sysid_nodes.exceptions import ConfigError
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

_DRIVES = {"planner.excite.subject": "drives"}
"""Whatever the file has the live planner learn."""


class CertifiedMotion:
    """The setup of a parameter file, and motions within it.

    Args:
        path: parameter file of certified motion.
        settings: KEY=VALUE; duration, rate, or any key that the file may have.

    Raises:
        ConfigError: a value is wrong.
    """

    def __init__(self, path: Path, settings: Sequence[str]) -> None:
        mine = [text for text in settings if text.partition("=")[0].strip() in _OWN]
        planners = dict(parse_setting(text, CertifiedPlannerConfig) for text in settings if text not in mine)
        self.motion = from_flat(
            ExcitationConfig, dict(parse_setting(text, ExcitationConfig) for text in mine), source="command line"
        )
        values = _PATIENT | own_parameters(CertifiedPlannerConfig, read_parameters(path)) | _DRIVES | planners
        self._config = from_flat(CertifiedPlannerConfig, values, source=str(path))
        self._setup = set_up(self._config)
        self._found: CertifiedExcitation | None = None

    @property
    def robot(self) -> Robot:
        """As described by the file."""
        return self._setup.robot

    def plan(self, q: np.ndarray) -> Excitation:
        """A motion from rest at a posture (n,).

        Raises:
            ConfigError: no motion from there is certified.
        """
        planner = build_planner(self._setup, self._config, time.monotonic)
        duration = self.motion.duration
        with Stages() as stages:
            found = certified_excitation(
                planner,
                self._setup,
                self._config,
                q,
                duration,
                progress=lambda planned: stages.show("certified seconds", round(planned), round(duration)),
            )
        if not found.parts:
            raise ConfigError(
                f"no motion from this posture is certified ({found.reason}); choose another with --middle"
            )
        self._found = found
        q, qd, qdd = found.states(self.motion.rate)
        return Excitation(np.arange(len(q)) / self.motion.rate, q, qd, qdd)

    def write(self, folder: Path) -> None:
        """Writes the certificates of the motion planned last, one a file, for `sysid verify`."""
        assert self._found is not None
        place = folder / CERTIFICATES
        place.mkdir()
        premises = certificate_premises(self._setup.robot, self._setup.shapes, self._config)
        former = None
        for k, part in enumerate(self._found.parts):
            document = certificate_document(part.record, former, premises, self._setup.scene)
            (place / f"{k:03}.json").write_text(json.dumps(document), encoding="utf-8")
            former = part.record

    def words(self) -> str:
        """About the certificates, for people: what they are for, and what is missing."""
        assert self._found is not None
        node, found = self._config.certified_planner, self._found
        whose = "the robust controller" if node.output == "torque" else "a position controller within 'tracking'"
        lines = [f"{len(found.parts)} certificates, for {whose}, obstacles and bounds of the file"]
        if found.reason:
            lines.append(f"shorter than asked for: {found.reason}")
        if self._config.estimates:
            lines.append(ESTIMATES)
        return "".join(f"{line}\n" for line in lines)
