# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import dataclasses
import subprocess
import sys

import pytest

from sysid_nodes.cli.prime import entry as prime
from sysid_nodes.cli.system import Entry, System
from sysid_nodes.cli.systems import SYSTEMS
from sysid_nodes.sessions.prime.config import PrimeSessionConfig


@pytest.mark.parametrize("entry", SYSTEMS, ids=lambda entry: entry.name)
def test_an_entry_finds_its_parts(entry: Entry) -> None:
    system = entry.load()
    assert isinstance(system, System)
    assert (entry.wanted is None) == (system.replay is None)


def test_commands_choose_a_system_without_loading_any() -> None:
    heavy = "{'matplotlib', 'mujoco', 'rosbags', 'scipy'}"
    code = f"import sys, sysid_nodes.cli.replay, sysid_nodes.cli.report; print({heavy} & set(sys.modules) or 'none')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout == "none\n"


def test_primes_own_options_are_those_of_its_configuration() -> None:
    """They are said twice so that it is known whether PRIME is asked for before its configuration is loaded."""
    fields = {item.name for item in dataclasses.fields(PrimeSessionConfig)}
    assert set(prime.SECTIONS) == fields - {"robot", "urdf"}
