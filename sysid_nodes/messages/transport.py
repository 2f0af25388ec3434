# SPDX-License-Identifier: Apache-2.0
"""Keeps a process out of Fast DDS's shared memory, where its death would hold up everybody who publishes to it.

Of a process that is killed the shared memory stays. Whoever sends to it opens it anew with every message until the dead
one's lease is over, 20 s by default: milliseconds each instead of a tenth of one, up to a second where the reader died
at work (`healthy_check_timeout_ms`), whatever the quality of service. A driver at 1 kHz falls behind, and the robot
stops. Where a reader has no shared memory nothing of this happens; `python -m benchmarks.dead_listener` measures both.
"""

from __future__ import annotations

from collections.abc import MutableMapping
from pathlib import Path

_RANGE, _LOCAL_ONLY, _PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS"
_BUILTIN, _UDP = "FASTDDS_BUILTIN_TRANSPORTS", "UDPv4"
_PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # of Fast DDS 2, and 3
_LOOPBACK = Path(__file__).with_name("loopback.xml")


def use_udp(variables: MutableMapping[str, str]) -> None:
    """Has Fast DDS talk over UDP, unless somebody has chosen its transports already.

    rmw_fastrtps gives processes that stay on this machine a shared memory, whatever Fast DDS's variable says: for
    them a profile does what it would, without that. It knows no static peers, so that with these nothing changes.

    Args:
        variables: of a process's environment, before its context is made.
    """
    if any(map(variables.get, _PROFILES)) or variables.get(_BUILTIN, _UDP) != _UDP:
        return
    variables[_BUILTIN] = _UDP
    local = variables.get(_RANGE) == "LOCALHOST" or variables.get(_LOCAL_ONLY) == "1"
    if local and not variables.get(_PEERS):
        variables.pop(_LOCAL_ONLY, None)
        variables.update({_RANGE: "SYSTEM_DEFAULT"} | dict.fromkeys(_PROFILES, str(_LOOPBACK)))
