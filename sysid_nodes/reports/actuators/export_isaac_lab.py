# SPDX-License-Identifier: Apache-2.0
"""A result of the pipeline `actuators` as Isaac Lab's actuator configuration.

A group of actuators there has one delay for all its joints, so joints are grouped by it; those whose delay is not
identified have drives without one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sysid_nodes.reports.actuators.export import driven_joints
from sysid_nodes.robots.export_joints import DrivenJoint


def isaac_lab(document: Mapping[str, Any], step: float) -> str:
    """Python source of `ACTUATORS`, groups by name, as an articulation's configuration takes them.

    Args:
        document: valid result.
        step: of the physics there, in which delays are counted [s].
    """
    joints = driven_joints(document)
    groups: dict[int | None, list[DrivenJoint]] = {}
    for joint in joints:
        groups.setdefault(round(joint.told["delay"] / step) if "delay" in joint.told else None, []).append(joint)
    missing = [name for name in ("stiffness", "damping") if any(getattr(joint, name) is None for joint in joints)]
    lines = [
        f"# Actuators of {document['robot']}, identified from {document['source']}.",
        "# Frictions are torques [N m] and [N m s/rad], as Isaac Sim 5 and later take them.",
        *([f"# Nobody states the {' and '.join(missing)} of all drives: give them."] if missing else []),
        *(
            f"# {joint.name}: {name} is not identified, {reason}"
            for joint in joints
            for name, reason in joint.untold.items()
        ),
        "from isaaclab.actuators import DelayedPDActuatorCfg, IdealPDActuatorCfg",
        "",
        "ACTUATORS = {",
    ]
    for delay in sorted(groups, key=lambda steps: -1 if steps is None else steps):
        lines += _group(groups[delay], delay, step)
    return "\n".join([*lines, "}"]) + "\n"


def _group(joints: Sequence[DrivenJoint], delay: int | None, step: float) -> list[str]:
    """Lines of the joints with a delay of so many steps; None for those of whom it is not known."""
    fields = {
        "stiffness": {joint.name: joint.stiffness for joint in joints},
        "damping": {joint.name: joint.damping for joint in joints},
        "effort_limit": {joint.name: joint.torque_limit for joint in joints},
        "velocity_limit": {joint.name: joint.no_load_speed for joint in joints},
        "armature": {joint.name: joint.told.get("armature") for joint in joints},
        "friction": {joint.name: joint.told.get("coulomb") for joint in joints},
        "dynamic_friction": {joint.name: joint.told.get("coulomb") for joint in joints},
        "viscous_friction": {joint.name: joint.told.get("viscous") for joint in joints},
    }
    name, kind = ("delay_unknown", "IdealPDActuatorCfg")
    if delay is not None:
        name, kind = f"delay_{delay}", "DelayedPDActuatorCfg"
    lines = [
        f'    "{name}": {kind}(',
        f"        joint_names_expr={json.dumps([joint.name for joint in joints])},",
        *(f"        {key}={_entries(values)}," for key, values in fields.items() if _entries(values) != "{}"),
    ]
    if delay is not None:
        told = _entries({joint.name: joint.told["delay"] for joint in joints})
        lines += [f"        min_delay={delay},  # steps of {step:g} s; identified: {told} s"]
        lines += [f"        max_delay={delay},"]
    return [*lines, "    ),"]


def _entries(values: Mapping[str, float | None]) -> str:
    """A dictionary's source, with what is known."""
    return "{" + ", ".join(f'"{name}": {float(x)!r}' for name, x in values.items() if x is not None) + "}"
