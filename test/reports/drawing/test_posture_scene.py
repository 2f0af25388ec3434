# SPDX-License-Identifier: Apache-2.0
"""A scene of versions of one motion, and the file that keeps it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sysid_nodes import reports
from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.drawing.posture_scene import LONGEST, Version, on_a_stand, posture_scene
from sysid_nodes.reports.sampling.scene import clips_scene
from sysid_nodes.reports.scene_file import SCENE_NAME, read_scene, write_scene
from sysid_nodes.results.sampling import ClipReplay
from sysid_nodes.robots import limb, load_robot

TEMPLATES = sorted((Path(reports.__file__).parent / "templates").glob("*.j2"))


def test_a_robot_on_a_stand_has_its_base_at_the_origin() -> None:
    robot = load_robot("go2")
    q = on_a_stand(robot, np.full((3, 12), 0.5))
    assert q.shape == (3, robot.model.nq)
    np.testing.assert_array_equal(q[:, :7], [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0]] * 3)


def test_versions_are_groups_a_foot_is_drawn_and_long_motions_are_cut() -> None:
    leg = limb(load_robot("go2"), "FL_")
    t = np.linspace(0.0, 2.0 * LONGEST, 1001)
    q = np.zeros((len(t), 3))
    scene = posture_scene(leg, t, [Version("measured", q), Version("replayed", q, "#123456", 0.3)], "a leg")
    assert scene.t[-1] == pytest.approx(LONGEST)
    assert {(body.group, body.opacity) for body in scene.bodies} == {("measured", 1.0), ("replayed", 0.3)}
    ends = [np.linalg.norm(part["rod"][1]) for body in scene.bodies for part in body.parts if "rod" in part]
    # Thigh and shank of a Go2 are 0.213 m long; the foot is fixed to the shank.
    assert np.sum(np.abs(np.array(ends) - 0.213) < 1e-3) == 4


def test_a_kept_scene_is_the_pages(tmp_path: Path) -> None:
    leg = limb(load_robot("go2"), "FL_")
    scene = posture_scene(leg, np.arange(3.0), [Version("<!--<script></script>", np.zeros((3, 3)))], "a leg")
    assert read_scene(tmp_path) == ""
    write_scene(tmp_path, scene)
    assert read_scene(tmp_path) == scene.markup()
    assert scene.markup().count("</script>") == 1
    assert "<!--" not in scene.markup()
    (tmp_path / SCENE_NAME).write_text("[1]")
    with pytest.raises(InputError, match="is not a scene"):
        read_scene(tmp_path)


def test_clips_follow_one_another_with_nothing_between_and_the_last_moment_is_seen() -> None:
    robot = load_robot("go2")
    clips = np.tile(on_a_stand(robot, np.zeros((5, 12))), (2, 1, 1))
    scene = clips_scene(robot, ClipReplay(np.array([np.arange(5.0), np.arange(90.0, 95.0)]), clips, clips, clips))
    np.testing.assert_array_equal(scene.t, np.arange(10.0))
    for body in scene.bodies:
        assert np.flatnonzero(np.isnan(body.pose[:, 0])).tolist() == [4]


@pytest.mark.parametrize("page", TEMPLATES, ids=lambda page: page.name)
def test_where_no_script_draws_the_scene_a_page_has_something_in_its_place(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert "scene }}" not in text or "scene-picture" in text  # what the script hides when the scene is there
