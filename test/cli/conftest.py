# SPDX-License-Identifier: Apache-2.0
"""Recordings that several commands read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from shared.payload_problem import Problem
from shared.recorded import PAPER, problem, record


@pytest.fixture(autouse=True)
def _blank(blank_figures: None) -> None:
    """What commands do and say; figures are looked at in test/reports."""


@pytest.fixture(scope="session")
def gen3() -> Problem:
    return problem()


@pytest.fixture(scope="session")
def log(gen3: Problem, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A second at 500 Hz of a Gen3 that moves a dumbbell; markers as planner and identifier published them."""
    samples = gen3.samples(10.0 + np.arange(501) / 500.0)
    markers = ("/certified_planner/obstacle_markers", "/interval_identifier/markers")
    return record(tmp_path_factory.mktemp("log") / "bag", samples, markers=markers)


@pytest.fixture(scope="session")
def replayed(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that `sysid replay` makes of it."""
    from sysid_nodes.cli.main import main

    out = tmp_path_factory.mktemp("replayed") / "out"
    assert main(["replay", str(log), *PAPER, "--out", str(out)]) == 0
    return out
