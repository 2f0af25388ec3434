# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

FILES = sorted((Path(__file__).resolve().parents[2] / "rviz").glob("*.rviz"))

# The plugins that come with RViz itself.
DISPLAYS = {"Grid", "RobotModel", "TF", "MarkerArray"}
PUBLISHED = {
    "/robot_description",
    "/contact_markers",
    "/interval_identifier/markers",
    "/certified_planner/markers",
    "/exploration_planner/markers",
    "/actuator_identifier/markers",
    "/bayesian_identifier/markers",
    "/spi_identifier/markers",
    "/certified_planner/obstacle_markers",
}


@pytest.fixture(params=FILES, ids=lambda path: path.name)
def manager(request: pytest.FixtureRequest) -> Any:
    return yaml.safe_load(request.param.read_text(encoding="utf-8"))["Visualization Manager"]


def test_there_is_a_view_of_the_gen3() -> None:
    assert "kinova.rviz" in {path.name for path in FILES}


def test_a_view_shows_the_robot_its_frames_and_a_grid(manager: Any) -> None:
    kinds = [display["Class"] for display in manager["Displays"]]
    assert all(kind.startswith("rviz_default_plugins/") for kind in kinds)
    assert {"Grid", "RobotModel", "TF"} <= {kind.split("/")[1] for kind in kinds} <= DISPLAYS
    names = [display["Name"] for display in manager["Displays"]]
    assert len(set(names)) == len(names)


def test_topics_are_ones_this_suite_or_a_robot_publishes(manager: Any) -> None:
    for display in manager["Displays"]:
        for field in ("Topic", "Description Topic"):
            if field in display:
                assert display[field]["Value"] in PUBLISHED
                assert display[field]["Reliability Policy"] in ("Reliable", "Best Effort")
    robot = next(d for d in manager["Displays"] if d["Class"].endswith("/RobotModel"))
    assert robot["Description Topic"]["Durability Policy"] == "Transient Local", "descriptions are latched"


def test_there_is_a_view_of_contacts() -> None:
    from sysid_nodes.messages.prime.estimate import MARKERS

    path = next(path for path in FILES if path.name == "prime.rviz")
    displays = yaml.safe_load(path.read_text(encoding="utf-8"))["Visualization Manager"]["Displays"]
    assert [d["Topic"]["Value"] for d in displays if d["Enabled"] and "Topic" in d] == [f"/{MARKERS}"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_the_fixed_frame_is_a_link_of_the_robot_or_the_world_of_one_that_walks(path: Path) -> None:
    from sysid_nodes.robots import load_robot
    from sysid_nodes.sessions.prime.update import Frames

    manager = yaml.safe_load(path.read_text(encoding="utf-8"))["Visualization Manager"]
    frame = manager["Global Options"]["Fixed Frame"]
    if path.stem in ("prime", "sampling"):
        assert frame == Frames.world
    else:
        robot = {"kinova": "kinova_gen3", "actuators": "go2", "bayesian": "fourbar_leg"}[path.stem]
        assert frame in {found.name for found in load_robot(robot).model.frames}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_panel_has_its_place_in_the_window(path: Path) -> None:
    """Without Qt's own state RViz stacks the panels; a dock is in it as its name, and the size that follows."""
    tree = yaml.safe_load(path.read_text(encoding="utf-8"))
    geometry = tree["Window Geometry"]
    state = bytes.fromhex(geometry["QMainWindow State"])
    assert state.startswith(bytes.fromhex("000000ff 00000000 fd 00000003"))  # version 0, three areas with docks
    for panel in tree["Panels"]:
        name = panel["Name"].encode("utf-16-be")
        assert b"\xfb" + len(name).to_bytes(4, "big") + name + b"\x01" in state, f"{panel['Name']} is not to be seen"
        assert not geometry[panel["Name"]]["collapsed"]
    area = state.index(bytes.fromhex("fd00000003")) + 5
    assert state[area : area + 4] == bytes(4), "the first area is the one to the left"
    width = int.from_bytes(state[area + 4 : area + 8], "big")
    assert 250 <= width <= geometry["Width"] / 3, "names and values of displays can be read, and the scene has room"


def test_a_view_of_one_robot_among_several_has_its_frames() -> None:
    pytest.importorskip("launch_ros", reason="launch_ros is not installed: it comes with a ROS install, not from PyPI")
    from sysid_nodes.ros.launching import with_frames

    views = {path.stem: yaml.safe_load(path.read_text(encoding="utf-8")) for path in FILES}
    arm = with_frames(views["kinova"], "left/", "map")["Visualization Manager"]
    assert arm["Global Options"]["Fixed Frame"] == "left/base_link"
    # RViz puts the slash between them.
    assert [display["TF Prefix"] for display in arm["Displays"] if "TF Prefix" in display] == ["left"]
    assert views["kinova"]["Visualization Manager"]["Global Options"]["Fixed Frame"] == "base_link"
    for world, frame in (("map", "map"), ("", "world")):
        walking = with_frames(views["prime"], "left/", world)["Visualization Manager"]
        assert walking["Global Options"]["Fixed Frame"] == frame
    with pytest.raises(ValueError, match="ends in '/', got 'left_'"):
        with_frames(views["kinova"], "left_", "")


def check_is_scalar(topics: Any, name: str, field: str) -> None:
    """`field`, with the index where it is a list, is one number in the messages of topic `name`."""
    topic = next(topic for topic in topics if topic.name == name)
    part, index = re.fullmatch(r"(\w+)(\[\d+\])?", field).groups()  # type: ignore[union-attr]
    kind = topic.message.get_fields_and_field_types()[part]
    assert ("sequence" in kind or kind.endswith("]")) == bool(index), field


def test_the_layout_for_foxglove_shows_topics_of_the_demos_bag() -> None:
    """Panels are where the layout says, and each path is one number over time: a slice would be drawn as a zigzag."""
    pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")
    from sysid_nodes.messages.robot_view import DESCRIPTION
    from sysid_nodes.ros.certified.recorder import TOPICS

    layout = json.loads((FILES[0].parent / "foxglove_kinova.json").read_text(encoding="utf-8"))
    panels = layout["configById"]
    assert set(panels["3D!arm"]["topics"]) <= {topic.name for topic in TOPICS} | {f"/{DESCRIPTION}"}
    plots = [panel for name, panel in panels.items() if name.startswith("Plot!")]
    for plot in plots:
        # What Foxglove and Lichtblick call a panel's title; "title" is read by neither.
        assert plot["foxglovePanelTitle"] == plot["lichtblickPanelTitle"] and "title" not in plot
        for path in plot["paths"]:
            check_is_scalar(TOPICS, *path["value"].split("."))
    # Without these Lichtblick refuses a layout.
    assert layout["globalVariables"] == {} and layout["playbackConfig"]["speed"] == 1

    def placed(node: Any) -> list[str]:
        return [node] if isinstance(node, str) else placed(node["first"]) + placed(node["second"])

    assert plots and sorted(placed(layout["layout"])) == sorted(panels)


def test_the_layout_for_plotjuggler_shows_fields_of_the_demos_bag() -> None:
    """It names a curve TOPIC/field, with the index where the field is a list."""
    pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")
    from sysid_nodes.ros.certified.recorder import TOPICS

    root = ElementTree.parse(FILES[0].parent / "plotjuggler_kinova.xml").getroot()
    curves = [curve.get("name", "") for curve in root.iter("curve")]
    assert len(curves) > 10
    for curve in curves:
        name, _, field = curve.rpartition("/")
        check_is_scalar(TOPICS, name, field)
    # PlotJuggler looks for its window by this name, and crashes where there is none.
    assert [window.get("name") for window in root.iter("tabbed_widget")] == ["Main Window"]
    for area in root.iter("DockSplitter"):
        assert int(area.get("count", 0)) == len(area) == len(area.get("sizes", "").split(";"))
