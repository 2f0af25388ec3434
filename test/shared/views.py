# SPDX-License-Identifier: Apache-2.0
"""Views of `rviz/` against a recording: topics, types, frames, meshes, numbers that are drawn over time."""

from __future__ import annotations

import json
import math
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlparse

import yaml

from sysid_nodes.logs.reader import read_messages, read_topics

VIEWS = Path(__file__).resolve().parents[2] / "rviz"
KINDS = {"RobotModel": "std_msgs/msg/String", "MarkerArray": "visualization_msgs/msg/MarkerArray"}
"""Types of messages that RViz's displays take."""


def check_view(name: str, recording: Path) -> None:
    """RViz and Foxglove find a message of the right type behind each display, and a frame behind each thing drawn."""
    manager = yaml.safe_load((VIEWS / name).read_text(encoding="utf-8"))["Visualization Manager"]
    topics = {topic.name: topic for topic in read_topics(recording)}
    frames, drawn = {manager["Global Options"]["Fixed Frame"]}, set()
    for _, message in read_messages(recording, "/tf", "tf2_msgs/msg/TFMessage"):
        frames |= {transform.child_frame_id for transform in message.transforms}
    for display in manager["Displays"]:
        kind = display["Class"].split("/")[1]
        if kind not in KINDS:
            continue
        topic = topics[display["Topic" if kind == "MarkerArray" else "Description Topic"]["Value"]]
        assert topic.type == KINDS[kind] and topic.count > 0, topic.name
        for _, message in read_messages(recording, topic.name, topic.type):
            if kind == "MarkerArray":
                drawn |= {marker.header.frame_id for marker in message.markers}
            else:
                drawn |= visible_links(message.data)
    assert drawn and drawn <= frames, f"{sorted(drawn - frames)} are nowhere"


def visible_links(urdf: str) -> set[str]:
    """Links of a description that are drawn; their meshes are files."""
    root = ElementTree.fromstring(urdf)
    for mesh in root.iter("mesh"):
        address = urlparse(mesh.get("filename"))
        assert address.scheme == "file" and Path(unquote(address.path)).is_file(), mesh.get("filename")
    return {link.get("name", "") for link in root.iter("link") if link.find("visual") is not None}


def curves() -> Iterator[tuple[str, str, str]]:
    """File, topic and field, indexed where it is a list, of all that Foxglove's and PlotJuggler's layouts plot."""
    for path in VIEWS.glob("foxglove_*.json"):
        for name, panel in json.loads(path.read_text(encoding="utf-8"))["configById"].items():
            for line in panel["paths"] if name.startswith("Plot!") else ():
                topic, _, field = line["value"].partition(".")
                yield path.name, topic, field
    for path in VIEWS.glob("plotjuggler_*.xml"):
        for curve in ElementTree.parse(path).getroot().iter("curve"):
            topic, _, field = curve.get("name", "").rpartition("/")
            yield path.name, topic, field


def check_curves(recording: Path) -> None:
    """Each is a finite number in the recording; a list is empty while nothing is known."""
    types = {topic.name: topic.type for topic in read_topics(recording)}
    for file, topic, field in curves():
        name, index = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", field).groups()  # type: ignore[union-attr]
        values = [getattr(message, name) for _, message in read_messages(recording, topic, types[topic])]
        numbers = [float(value[int(index)] if index else value) for value in values if not index or len(value)]
        assert numbers and all(map(math.isfinite, numbers)), f"{file}: {topic} {field}"
