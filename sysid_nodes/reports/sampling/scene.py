# SPDX-License-Identifier: Apache-2.0
"""Recorded clips, one after the other, and what the nominal and the identified robot make of the same set-points."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.reports.drawing.moving_scene import FRAMES, MovingScene
from sysid_nodes.reports.drawing.plots import GREY, VERMILION
from sysid_nodes.reports.drawing.posture_scene import FAINT, Version, posture_scene
from sysid_nodes.results.sampling import ClipReplay
from sysid_nodes.robots import Robot

Array = npt.NDArray[np.float64]


def clips_scene(robot: Robot, replay: ClipReplay) -> MovingScene:
    """The scene; its time is that of the clips alone, and each begins at one place, or they would be too far apart."""
    every = -(-replay.t.size // FRAMES)
    times = replay.t[:, ::every]
    t = np.arange(float(times.size)) * (times[0, 1] - times[0, 0])
    start = np.zeros_like(replay.measured[:, :1])
    start[..., :2] = replay.measured[:, :1, :2]
    versions = [
        Version("measured", _join(replay.measured[:, ::every] - start)),
        Version("nominal robot", _join(replay.nominal[:, ::every] - start), GREY, FAINT),
        Version("identified robot", _join(replay.identified[:, ::every] - start), VERMILION, FAINT),
    ]
    return posture_scene(robot, t, versions, "Recorded clips and their replays over time")


def _join(clips: Array) -> Array:
    """(C L, nq) all clips; nothing is seen between two of them."""
    parted = clips.copy()
    parted[:-1, -1] = np.nan
    return parted.reshape(-1, clips.shape[-1])
