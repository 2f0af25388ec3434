# SPDX-License-Identifier: Apache-2.0
"""Closed loops of a robot from an MJCF's `connect` and `weld`, or from an SDF's joints to links that have one already.

Bodies and joints of the file are those of the URDF by name. Whether their frames are, too, is checked at some positions
of the joints (MJCF), or at the position in which all joints are at zero (SDF).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pinocchio

from sysid_nodes.exceptions import RobotError
from sysid_nodes.robots.loops import HINGE, POINT, SLIDER, WELD, Loop, LoopEnd, is_file, parse_loop
from sysid_nodes.robots.robot import Robot

_AGREES = 1e-4  # [m], of axes [1]: what numbers rounded to some digits may differ by
_POSITIONS = 3
_WORLD = "universe"
_NOT_READ, _OFF = ("relative_to", "expressed_in", "degrees"), (None, "", "0", "false")
"""Attributes that change what an SDF's numbers mean, and values with which they do not."""

_SDF_KINDS = {"revolute": HINGE, "continuous": HINGE, "ball": POINT, "fixed": WELD, "prismatic": SLIDER}


def read_loops(robot: Robot, words: Sequence[str]) -> tuple[Loop, ...]:
    """Loops of a configuration: "LINK:LINK", "LINK:LINK:KIND", or files.

    Raises:
        RobotError: a word says nothing, or a file cannot be read, has no loop or does not fit the robot.
    """
    found: list[Loop] = []
    for word in filter(None, words):
        if not is_file(word):
            found.append(parse_loop(word))
            continue
        try:
            own = (_sdf_loops if _is_sdf(Path(word)) else _mjcf_loops)(Path(word), robot)
        except RobotError as error:
            raise RobotError(str(error), source=word) from None
        except (OSError, ValueError, ElementTree.ParseError) as error:
            raise RobotError(str(error).partition("\n")[0], source=word) from None
        if not own:
            raise RobotError("has no closed loop", source=word)
        found += own
    return tuple(found)


def _is_sdf(path: Path) -> bool:
    return ElementTree.parse(path).getroot().tag == "sdf"


def _mjcf_loops(path: Path, robot: Robot) -> list[Loop]:
    import mujoco  # a second, which no other robot should wait for

    model = mujoco.MjModel.from_xml_path(str(path))
    point, weld = int(mujoco.mjtEq.mjEQ_CONNECT), int(mujoco.mjtEq.mjEQ_WELD)
    found = []
    for k in range(model.neq):
        if int(model.eq_type[k]) not in (point, weld) or not model.eq_active0[k]:
            continue
        ids, data = (int(model.eq_obj1id[k]), int(model.eq_obj2id[k])), model.eq_data[k]
        if int(model.eq_objtype[k]) == int(mujoco.mjtObj.mjOBJ_SITE):
            sites = [model.site(i) for i in ids]
            ends = [_end(model.body(int(site.bodyid[0])).name, site.pos, site.quat) for site in sites]
        else:
            names = [model.body(i).name for i in ids]
            if int(model.eq_type[k]) == point:
                ends = [_end(names[0], data[:3]), _end(names[1], data[3:6])]
            else:
                ends = [_end(names[0], data[3:6], data[6:10]), _end(names[1], data[:3])]
        if not all(end.link for end in ends):
            raise RobotError("closes a loop at a body without a name")
        found.append(Loop(ends[0], ends[1], POINT if int(model.eq_type[k]) == point else WELD))
    _check_mjcf(model, mujoco.MjData(model), mujoco.mj_kinematics, robot, found)
    return found


def _check_mjcf(model: Any, data: Any, kinematics: Any, robot: Robot, loops: Sequence[Loop]) -> None:
    joints = {model.joint(k).name: int(model.jnt_qposadr[k]) for k in range(model.njnt)}
    if missing := [name for name in robot.joint_names if name not in joints]:
        raise RobotError(f"has no joint '{missing[0]}', which robot '{robot.name}' has")
    rng = np.random.default_rng(0)
    for _ in range(_POSITIONS):
        q = rng.uniform(-1.0, 1.0, robot.n)
        data.qpos[[joints[name] for name in robot.joint_names]] = q
        kinematics(model, data)
        for loop in loops:
            here = [
                _placement(data.body(name).xpos, data.body(name).xquat)
                for name in (end.link if end.link != _WORLD else 0 for end in (loop.first, loop.second))
            ]
            _check(robot, q, loop, here[0].actInv(here[1]))


def _sdf_loops(path: Path, robot: Robot) -> list[Loop]:
    root = ElementTree.parse(path).getroot()
    models = list(root.iter("model"))
    if len(models) != 1:
        raise RobotError(f"has {len(models)} models, one is needed")
    if [int(part) for part in root.get("version", "1.5").split(".")] < [1, 5]:
        raise RobotError(f"is of version {root.get('version')}; axes are in the joints' frames from 1.5 on")
    for element in models[0].iter():
        strange = [name for name in _NOT_READ if element.get(name, "") not in _OFF]
        if element.tag == "include" or (element.tag == "use_parent_model_frame" and element.text not in _OFF):
            strange.append(element.tag)
        if strange:
            raise RobotError(f"uses {strange[0]}, which is not read here: state loops in words")
    links = {str(link.get("name")): _pose(link) for link in models[0].findall("link")}
    links["world"] = pinocchio.SE3.Identity()
    own = {frame.name for frame in robot.model.frames if frame.type != pinocchio.FrameType.BODY}
    # The robot's own joints come first, wherever they are in the file: what joins a link once more closes a loop.
    held, found = set[str](), []
    for joint in sorted(models[0].findall("joint"), key=lambda joint: joint.get("name") not in own):
        parent, child = (str(joint.findtext(tag, "")).strip() for tag in ("parent", "child"))
        if strange := [name for name in (parent, child) if name not in links]:
            raise RobotError(f"joint '{joint.get('name')}' names '{strange[0]}', which is no link")
        if child not in held or joint.get("name") in own:
            held.add(child)
            continue
        kind = _SDF_KINDS.get(str(joint.get("type")))
        if kind is None:
            raise RobotError(f"joint '{joint.get('name')}' closes a loop by a {joint.get('type')}, which is not known")
        axis = np.array((joint.findtext("axis/xyz") or "0 0 1").split(), dtype=np.float64)
        if axis.shape != (3,) or not axis.any():
            raise RobotError(f"the axis of '{joint.get('name')}' is not a direction")
        inside = _pose(joint)
        about = inside * pinocchio.SE3(
            pinocchio.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), axis).matrix(), np.zeros(3)
        )
        at = links[parent].actInv(links[child])
        loop = Loop(_end_at(parent, at * about), _end_at(child, about), kind)
        _check(robot, np.zeros(robot.n), loop, at)
        found.append(loop)
    return found


def _check(robot: Robot, q: Any, loop: Loop, expected: Any) -> None:
    """Refuses a file whose second link is elsewhere in the first's frame than the robot's."""
    data = robot.model.createData()
    pinocchio.framesForwardKinematics(robot.model, data, q)
    places = []
    for link in (loop.first.link, loop.second.link):
        if not robot.model.existFrame(link):
            raise RobotError(f"closes a loop at '{link}', which is no link of robot '{robot.name}'")
        places.append(data.oMf[robot.model.getFrameId(link)])
    off = float(np.abs(places[0].actInv(places[1]).homogeneous - expected.homogeneous).max())
    if off > _AGREES:
        names = f"'{loop.first.link}' and '{loop.second.link}'"
        raise RobotError(f"has {names} elsewhere in one another than robot '{robot.name}', by {off:.2g}")


def _placement(place: Any, wxyz: Any = (1.0, 0.0, 0.0, 0.0)) -> Any:
    w, x, y, z = (float(part) for part in wxyz)
    return pinocchio.SE3(pinocchio.Quaternion(w, x, y, z).normalized().matrix(), np.array(place, dtype=np.float64))


def _end(body: str, place: Any, wxyz: Any = (1.0, 0.0, 0.0, 0.0)) -> LoopEnd:
    return _end_at(body, _placement(place, wxyz))


def _end_at(link: str, placement: Any) -> LoopEnd:
    turn = pinocchio.Quaternion(placement.rotation).coeffs()
    return LoopEnd(_WORLD if link == "world" else link, tuple(placement.translation.tolist()), tuple(turn.tolist()))


def _pose(element: ElementTree.Element) -> Any:
    """SDF's pose: x y z roll pitch yaw."""
    numbers = np.array((element.findtext("pose") or "0 0 0 0 0 0").split(), dtype=np.float64)
    if numbers.shape != (6,):
        raise RobotError(f"the pose of '{element.get('name')}' is not six numbers")
    return pinocchio.SE3(pinocchio.rpy.rpyToMatrix(*numbers[3:].tolist()), numbers[:3])
