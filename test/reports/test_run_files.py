# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.drawing.moving_scene import MovingScene
from sysid_nodes.reports.run_files import RunFiles


def _validate(document: Any, *, source: str = "") -> dict[str, Any]:
    if "schema" not in document:
        raise InputError("'schema' is missing", source=source)
    return dict(document)


FILES = RunFiles(
    _validate, lambda document, series, _scene: f"{document['mass']} {sorted(series)}", ("t",), ("torque",)
)
DOCUMENT = {"schema": 1, "pipeline": "weights", "mass": 2.0}
SCENE = MovingScene(np.zeros(1), "nothing moves")


def _write(folder: Path, document: dict[str, Any] = DOCUMENT) -> None:
    FILES.write(folder, document, {"t": np.zeros(2), "torque": np.ones(2)}, SCENE)


def test_a_page_made_again_is_the_first_one(tmp_path: Path) -> None:
    _write(tmp_path)
    first = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert first == "2.0 ['t', 'torque']"
    FILES.write_page(tmp_path / "again.html", json.loads((tmp_path / "result.json").read_text("utf-8")), tmp_path)
    assert (tmp_path / "again.html").read_text(encoding="utf-8") == first


def test_json_is_the_result_alone_and_anything_else_a_folder_of_all_files(tmp_path: Path) -> None:
    assert FILES.save(str(tmp_path / "one.json"), DOCUMENT, dict, _write) == tmp_path / "one.json"
    assert [path.name for path in tmp_path.iterdir()] == ["one.json"]
    assert FILES.save(str(tmp_path / "all"), DOCUMENT, dict, _write) == tmp_path / "all" / "result.json"
    found = {path.name for path in (tmp_path / "all").iterdir()}
    assert found == {"report.html", "result.json", "scene.json", "series.npz"}


def test_a_wrong_result_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"result\.json: 'schema' is missing"):
        FILES.write(tmp_path, {}, {"t": np.zeros(2)}, SCENE)
    with pytest.raises(InputError, match=r"one\.json: 'schema' is missing"):
        FILES.save(str(tmp_path / "one.json"), {}, dict, _write)
    assert not list(tmp_path.iterdir())
