"""The arm that moves on its own, as a user runs it."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

from diagnostic_msgs.msg import DiagnosticArray
from sensor_msgs.msg import JointState
from shared import children

from sysid_nodes.ros import qos
from sysid_nodes.ros.conversions import to_seconds

pytestmark = pytest.mark.ros


def test_it_waits_for_its_listener_publishes_every_reading_and_tells_the_truth_to_a_file_only(
    bench: Any, tmp_path: Path
) -> None:
    heard = bench.listen(JointState, "/joint_states", qos.stream("reliable", 5000))
    reports = bench.listen(DiagnosticArray, "/diagnostics", 100)
    parameters = {"duration": 0.5, "listeners": 1, "payload": 2.0, "truth_file": tmp_path / "truth.json"}
    given = [word for name, value in parameters.items() for word in ("-p", f"{name}:={value}")]
    process = children.start_heard("-m", "sysid_nodes.ros.nodes.simulated_arm", "--ros-args", *given)
    try:
        bench.until(lambda: reports and reports[-1].status[0].message.startswith("finished"))
        bench.until(lambda: len(heard) == 500)
        process.send_signal(signal.SIGINT)
        _, errors = children.finish(process)
    finally:
        children.kill(process)
    assert process.returncode == 0 and "finished: 500 messages" in errors
    np.testing.assert_allclose(np.diff([to_seconds(message.header.stamp) for message in heard]), 1e-3, atol=1e-6)
    assert json.loads((tmp_path / "truth.json").read_text())["payload"] == 2.0
