# SPDX-License-Identifier: Apache-2.0
"""Our processes stay out of shared memory, and are heard by drivers that do not."""

from __future__ import annotations

import os
import runpy
from pathlib import Path
from typing import Any

import pytest
from shared import children

from sysid_nodes.messages.transport import use_udp

_PROFILE = "FASTRTPS_DEFAULT_PROFILES_FILE"


@pytest.mark.parametrize(
    "chosen",
    [
        {_PROFILE: "mine.xml"},
        {"FASTDDS_DEFAULT_PROFILES_FILE": "mine.xml"},
        {"FASTDDS_BUILTIN_TRANSPORTS": "DEFAULT"},
        {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp"},
        {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", "ROS_LOCALHOST_ONLY": "1"},
    ],
)
def test_what_somebody_chose_stays(chosen: dict[str, str]) -> None:
    variables = chosen | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    before = dict(variables)
    use_udp(variables)
    assert variables == before


@pytest.mark.parametrize("name", ["DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml"])
def test_so_does_the_profile_file_that_fast_dds_finds(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).touch()
    variables = {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    use_udp(variables)
    assert variables == {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    unread = variables | {"SKIP_DEFAULT_XML": "1"}
    use_udp(unread)
    assert _PROFILE in unread


@pytest.mark.parametrize("middleware", ["", "rmw_fastrtps_cpp", "rmw_fastrtps_dynamic_cpp"])
def test_fast_dds_is_known_by_its_name_and_the_default(middleware: str) -> None:
    variables = {"RMW_IMPLEMENTATION": middleware}
    use_udp(variables)
    assert variables["FASTDDS_BUILTIN_TRANSPORTS"] == "UDPv4"


@pytest.mark.parametrize(
    "theirs",
    [{"FASTDDS_BUILTIN_TRANSPORTS": "SHM"}, {_PROFILE: "mine.xml"}, {"ROS_STATIC_PEERS": "192.0.2.1"}],
    ids=["transports", "profile", "peers"],
)
def test_the_tests_have_no_shared_memory_whatever_the_caller_chose(
    theirs: dict[str, str], project_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, variables = dict(os.environ), dict(os.environ) | theirs
    monkeypatch.setattr(os, "environ", variables)
    runpy.run_path(str(project_root / "test" / "conftest.py"))
    del variables["AMENT_PREFIX_PATH"], before["AMENT_PREFIX_PATH"]  # which grows
    assert variables == before


@pytest.mark.parametrize(
    ("local", "profile"),
    [
        ({}, False),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, False),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, True),
        ({"ROS_LOCALHOST_ONLY": "1"}, True),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "ROS_STATIC_PEERS": "192.0.2.1"}, False),
    ],
)
def test_those_on_this_machine_alone_need_a_profile(local: dict[str, str], profile: bool) -> None:
    variables = dict(local)
    use_udp(variables)
    assert variables["FASTDDS_BUILTIN_TRANSPORTS"] == "UDPv4"
    assert (_PROFILE in variables) is profile
    range_ = variables.get("ROS_AUTOMATIC_DISCOVERY_RANGE")
    assert range_ == ("SYSTEM_DEFAULT" if profile else local.get("ROS_AUTOMATIC_DISCOVERY_RANGE"))
    again = dict(variables)
    use_udp(again)
    assert again == variables


_TALKER = """
import sys, time
import rclpy
if sys.argv[1] == "ours":
    from sysid_nodes.ros.spinning import start
    start([])
else:
    rclpy.init(args=[])
from std_msgs.msg import Header
node = rclpy.create_node("talker")
publisher = node.create_publisher(Header, "/talk", 10)
shared = sum("/dev/shm/fast" in line for line in open("/proc/self/maps"))
while True:
    publisher.publish(Header(frame_id=str(shared)))
    time.sleep(0.05)
"""


@pytest.mark.ros
@pytest.mark.parametrize(("whose", "shares"), [("ours", False), ("a driver's", True)])
def test_a_process_of_ours_has_no_shared_memory_and_is_heard(bench: Any, whose: str, shares: bool) -> None:
    """And hears a driver that has, which ROS's own way of staying on this machine brings with it."""
    from std_msgs.msg import Header

    heard = bench.listen(Header, "/talk")
    plain = {name: value for name, value in os.environ.items() if "PROFILES" not in name}
    talker = children.start("-c", _TALKER, whose, env=plain | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"})
    try:
        bench.until(lambda: heard)
    finally:
        children.kill(talker)
    assert (heard[0].frame_id != "0") is shares
