# SPDX-License-Identifier: Apache-2.0
"""Unitree's commands and states over real DDS: driver and identifier in processes of their own.

The vendor's message package comes with its SDK only; a stand-in with the fields that are read is built for the test.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from online_sysid.msg import ActuatorModels
from shared import children
from shared.actuator_session import run

from sysid_nodes.ros import qos

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope="module")
def paths(tmp_path_factory: pytest.TempPathFactory, project_root: Path) -> dict[str, str]:
    """Beginnings of the paths of processes that have the package unitree_go."""
    folder, prefix = tmp_path_factory.mktemp("unitree"), sys.prefix
    source, build, install = project_root / "test" / "shared" / "unitree_go", folder / "build", folder / "install"
    configure = [
        "cmake", "-G", "Ninja", "-S", source, "-B", build, "-DBUILD_TESTING=OFF", f"-DCMAKE_PREFIX_PATH={prefix}",
        f"-DCMAKE_INSTALL_PREFIX={install}", f"-DPython3_EXECUTABLE={prefix}/bin/python",
        f"-DCMAKE_PROJECT_INCLUDE={project_root}/cmake/ros_wheels.cmake",
    ]  # fmt: skip
    for command in (configure, ["cmake", "--build", build], ["cmake", "--install", build]):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=children.LIMIT)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    packages = next(install.glob("lib/python*/site-packages"))
    return {
        "PYTHONPATH": f"{packages}:{project_root}:{project_root / 'test'}",
        "AMENT_PREFIX_PATH": str(install),
        "LD_LIBRARY_PATH": f"{install}/lib",
    }


def test_a_robot_s_low_level_messages_are_identified_live(bench: Any, paths: dict[str, str]) -> None:
    surroundings = os.environ | {key: f"{value}:{os.environ.get(key, '')}" for key, value in paths.items()}
    heard = bench.listen(ActuatorModels, "/actuator_identifier/actuator_models", qos.LATCHED)
    chosen = ("command_type:=low_cmd", "commands:=lowcmd", "joints:=FL_", "online.window:=2.0")
    words = [word for choice in chosen for word in ("-p", choice)]
    module = "sysid_nodes.ros.nodes.actuator_identifier"
    node = children.start_heard("-m", module, "--ros-args", *words, env=surroundings)
    driver = children.start_heard("-m", "shared.low_driver", env=surroundings)
    try:
        bench.until(lambda: (heard and heard[-1].window >= 0) or driver.poll() or node.poll() is not None)
        assert heard, "a process has ended"
        # What the numbers are worth depends on when the messages came; test_actuator_node.py compares them.
        assert heard[-1].status != "WAITING"
        assert [model.joint for model in heard[-1].models] == list(run().robot.joint_names)
        _, errors = children.finish(driver)
        assert driver.returncode == 0, errors
        node.send_signal(signal.SIGINT)
        _, errors = children.finish(node)
        assert node.returncode == 0, errors
    finally:
        children.kill(node, driver)
