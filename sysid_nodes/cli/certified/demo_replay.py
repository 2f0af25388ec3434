# SPDX-License-Identifier: Apache-2.0
"""The second identification of a demo, from its recording: a module that another process imports quickly."""

from __future__ import annotations

from pathlib import Path

from sysid_nodes.data.config import load_yaml, read_parameters
from sysid_nodes.logs import read_joint_states
from sysid_nodes.sessions.certified.settings import CertifiedModel, CertifiedSettings
from sysid_nodes.sessions.interval.run import IntervalRun
from sysid_nodes.sessions.interval.session import IntervalSession
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig


def identify_again(folder: Path, source: str) -> IntervalRun:
    """The run of an identification from folder/bag by folder/config.yaml; the bag is named `source`.

    Raises:
        SysidError: the recording cannot be read.
    """
    settings = CertifiedSettings.of(read_parameters(folder / "config.yaml"))
    session = IntervalSession(
        CertifiedModel(settings).robot, load_yaml(IntervalIdentifierConfig, folder / "config.yaml")
    )
    for message in read_joint_states(folder / "bag"):
        session.process(message)
    return session.snapshot(source)
