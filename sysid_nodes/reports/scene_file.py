# SPDX-License-Identifier: Apache-2.0
"""scene.json: the scene of a page, kept beside result.json, so that the page can be made again without the robot."""

from __future__ import annotations

import json
from pathlib import Path

from markupsafe import Markup

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.atomic_file import write_atomically
from sysid_nodes.reports.drawing.moving_scene import MovingScene, scene_markup

SCENE_NAME = "scene.json"


def write_scene(folder: Path, scene: MovingScene) -> None:
    """Writes the file.

    Raises:
        InputError: it cannot be written.
    """
    write_atomically(folder / SCENE_NAME, json.dumps(scene.document(), separators=(",", ":"), allow_nan=False))


def read_scene(folder: Path) -> Markup:
    """The scene for a page; empty where the result has none.

    Raises:
        InputError: the file cannot be read.
    """
    path = folder / SCENE_NAME
    try:
        return scene_markup(json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Markup()
    except (OSError, ValueError, KeyError, TypeError):
        raise InputError("cannot be read, or is not a scene", source=str(path)) from None
