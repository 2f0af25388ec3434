# SPDX-License-Identifier: Apache-2.0
"""Of a joint that slides, all is in metres and newtons; of one that turns, in radians and newton metres."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from sysid_nodes.reports.bayesian.run import BayesianRun, write_bayesian_run
from sysid_nodes.robots.description import build_robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.systems.bayesian import BayesianConfig, MechanismLog, identify
from sysid_nodes.systems.bayesian.config import DrivePriorConfig, FrictionPriorConfig, PowerPriorConfig
from sysid_nodes.systems.bayesian.mechanism import Motion, build_mechanism

BODY = '<inertial><origin xyz="0.02 0.03 0.1"/><mass value="2"/><inertia ixx="0.03" iyy="0.02" izz="0.025" ixy="0" '
CART = f"""<robot name="cart"><link name="base"/><link name="cart">{BODY}ixz="0" iyz="0"/></inertial></link>
<link name="pole">{BODY}ixz="0" iyz="0"/></inertial></link>
<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="0 1 0"/>
<limit effort="50" velocity="9" lower="-3" upper="3"/></joint>
<joint name="hinge" type="revolute"><parent link="cart"/><child link="pole"/><axis xyz="1 0 0"/>
<limit effort="50" velocity="9" lower="-3" upper="3"/></joint></robot>"""
UNITS = {
    "coulomb": ("N", "N m"),
    "stiction": ("N", "N m"),
    "viscous": ("N s/m", "N m s/rad"),
    "turning_speed": ("m/s", "rad/s"),
    "stribeck_speed": ("m/s", "rad/s"),
    "armature": ("kg", "kg m2"),
    "offset": ("N", "N m"),
    "loss": ("W/N^2", "W/(N m)^2"),
}


def test_units(tmp_path: Path) -> None:
    robot = build_robot(CART, name="cart")
    config = BayesianConfig(
        friction=FrictionPriorConfig(motors="stribeck", turning_sigma=0.5),
        drive=DrivePriorConfig(armature_sigma=0.1, offset_sigma=1.0),
        power=PowerPriorConfig(),
    )
    mechanism = build_mechanism(robot, config, power=True)
    x, t = mechanism.parameters.mean, 0.01 * np.arange(150.0)
    phase, rate = t[:, None] * [4.1, 2.7] + [0.3, 1.1], np.array([4.1, 2.7])
    q, v, a = 0.5 * np.sin(phase), 0.5 * np.cos(phase) * rate, -0.5 * np.sin(phase) * rate**2
    motion, rng = Motion(q, v, a, np.zeros((150, 0))), np.random.default_rng(0)
    torque = mechanism.torque(motion, x)
    power = mechanism.power(motion, torque, x) + 0.1 * rng.standard_normal(150)
    read = q + 1e-4 * rng.standard_normal(q.shape), torque + 0.01 * rng.standard_normal(q.shape), power
    result = identify(MechanismLog(0.0, 0.01, *read), robot, config)
    session = replace(BayesianSessionConfig(), bayesian=config)
    document = write_bayesian_run(tmp_path, BayesianRun(result, robot, "cart", 0.1, session))
    units = {row["name"]: row["unit"] for row in document["parameters"]}
    for name, both in UNITS.items():
        assert (units[f"slide.{name}"], units[f"hinge.{name}"]) == both
    noise = {row["name"]: row["unit"] for row in document["noise"]}
    assert (noise["position of slide"], noise["position of hinge"]) == ("m", "rad")
    assert (noise["torque of slide"], noise["torque of hinge"]) == ("N", "N m")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for word in ("speed [m/s or rad/s]", "slide [N]", "hinge [N m]", '<td class="unit">N·s/m</td>'):
        assert word in page
