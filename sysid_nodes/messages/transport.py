# SPDX-License-Identifier: Apache-2.0
"""Keeps a process out of Fast DDS's shared memory, where its death would hold up everybody who publishes to it.

Of a process that is killed the shared memory stays. Whoever sends to it opens it anew with every message until the dead
one's lease is over, 20 s by default, whatever the quality of service. `python -m benchmarks.dead_listener` measured
0.54 to 0.78 ms a message in the mean instead of 0.07 to 0.23 ms while it lived, 24 to 51 ms the longest; where the
reader died at work it may be up to a second (`healthy_check_timeout_ms`). A driver at 1 kHz falls behind, and the robot
stops. Over UDP the same took 0.16 to 0.22 ms, 1 to 20 ms the longest.
"""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from pathlib import Path

_RANGE, _LOCAL_ONLY, _PEERS = "ROS_AUTOMATIC_DISCOVERY_RANGE", "ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS"
_BUILTIN, _UDP = "FASTDDS_BUILTIN_TRANSPORTS", "UDPv4"
_PROFILES = ("FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE")  # of Fast DDS 2, and 3
_FOUND = ("DEFAULT_FASTRTPS_PROFILES.xml", "DEFAULT_FASTDDS_PROFILES.xml")  # in the working directory, likewise
_LOOPBACK = Path(__file__).with_name("loopback.xml")


def use_udp(variables: MutableMapping[str, str]) -> None:
    """Has Fast DDS talk over UDP, unless somebody has chosen its transports, or another middleware, already.

    rmw_fastrtps gives processes that stay on this machine a shared memory, whatever Fast DDS's variable says: for
    them a profile does what it would, without that. It knows no static peers, so that with these nothing changes.

    Args:
        variables: of a process's environment, before its context is made.
    """
    middleware = variables.get("RMW_IMPLEMENTATION") or "rmw_fastrtps_cpp"
    if not middleware.startswith("rmw_fastrtps") or _is_chosen(variables):
        return
    variables[_BUILTIN] = _UDP
    local = variables.get(_RANGE) == "LOCALHOST" or variables.get(_LOCAL_ONLY) == "1"
    if local and not variables.get(_PEERS):
        variables.pop(_LOCAL_ONLY, None)
        variables.update({_RANGE: "SYSTEM_DEFAULT"} | dict.fromkeys(_PROFILES, str(_LOOPBACK)))


def _is_chosen(variables: Mapping[str, str]) -> bool:
    """Whether a variable, or a profile file that Fast DDS finds by itself, says which transports there are."""
    found = variables.get("SKIP_DEFAULT_XML") != "1" and any(Path(name).exists() for name in _FOUND)
    return found or any(map(variables.get, _PROFILES)) or variables.get(_BUILTIN, _UDP) != _UDP
