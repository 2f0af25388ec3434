# SPDX-License-Identifier: Apache-2.0
"""A real Panda: torques of the last part of a run, predicted from the first."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from sysid_nodes.cli.main import main

BAG = Path(__file__).parents[4] / "shared" / "data" / "panda_excitation" / "panda_first70_mcap"


@pytest.mark.slow
@pytest.mark.real_data
def test_predicts_torques_as_well_as_least_squares(tmp_path: Path) -> None:
    if not BAG.exists():
        pytest.skip("no recorded real logs here")
    command = ["replay", str(BAG), "--config", "config/panda_bayesian.yaml", "--set=bayesian.search.starts=1"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 0
    rows = json.loads((tmp_path / "out" / "result.json").read_text())["held_out"]
    error, other, nominal = (np.array([row[key] for row in rows]) for key in ("identified", "least_squares", "nominal"))
    assert len(rows) == 7
    assert np.all(error < 0.5 * nominal)
    # Least squares on smoothed motion is good where everything is excited: not worse than it by a fifth, on average.
    assert np.exp(np.mean(np.log(error / other))) < 1.2
