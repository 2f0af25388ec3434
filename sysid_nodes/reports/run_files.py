# SPDX-License-Identifier: Apache-2.0
"""The files of a run, of any pipeline: all of them in a folder, the result alone, or the page made again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.drawing.moving_scene import MovingScene
from sysid_nodes.reports.files import (
    REPORT_NAME,
    RESULT_NAME,
    SERIES_NAME,
    read_arrays,
    result_target,
    write_arrays,
)
from sysid_nodes.reports.json_text import encode
from sysid_nodes.reports.scene_file import read_scene, write_scene

Array = npt.NDArray[np.float64]
Document = Mapping[str, Any]
Series = Mapping[str, Array]
Run = TypeVar("Run")


@dataclass(frozen=True)
class RunFiles:
    """The files of a pipeline's runs.

    Attributes:
        validate: checks a parsed result and returns it; `source` names it in errors.
        render: the page: valid result, arrays of series.npz, scene.
        series: arrays of series.npz that every run has.
        optional: that some runs have.
    """

    validate: Callable[..., dict[str, Any]]
    render: Callable[[Document, Series, Markup], str]
    series: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def write(self, folder: Path, document: Document, series: Series, scene: MovingScene) -> dict[str, Any]:
        """Writes series.npz, scene.json, report.html and, last, result.json into an existing folder.

        Returns:
            The checked result.

        Raises:
            InputError: a file cannot be written.
        """
        checked = self.validate(document, source=RESULT_NAME)
        write_arrays(folder / SERIES_NAME, series)
        write_scene(folder, scene)
        write_atomically(folder / REPORT_NAME, self.render(checked, series, scene.markup()))
        write_atomically(folder / RESULT_NAME, encode(checked))
        return checked

    def save(
        self, path: str, run: Run, document: Callable[[Run], Document], write_all: Callable[[Path, Run], object]
    ) -> Path:
        """Writes a run's result alone into a .json file, or all its files into a folder; returns the result file.

        Args:
            document: makes the result.
            write_all: writes the files into an existing folder.

        Raises:
            InputError: the path is empty, or something cannot be written.
        """
        target, alone = result_target(path)
        if alone:
            write_atomically(target, encode(self.validate(document(run), source=str(target))))
        else:
            write_all(target.parent, run)
        return target

    def write_page(self, page: Path, document: Document, folder: Path) -> None:
        """Makes the page of a stored result again.

        Raises:
            InputError: the result is wrong, its series cannot be read, or the page cannot be written.
        """
        checked = self.validate(document, source=str(folder))
        series = read_arrays(folder / SERIES_NAME, self.series, self.optional)
        write_atomically(page, self.render(checked, series, read_scene(folder)))
