# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")

from diagnostic_msgs.msg import DiagnosticStatus

from sysid_nodes.data.key_file import AuthorityConfig, create_key
from sysid_nodes.ros import qos
from sysid_nodes.ros.authority import Authority

pytestmark = pytest.mark.ros

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@pytest.mark.parametrize(("level", "refused", "reported"), [(OK, 0, OK), (OK, 1, WARN), (ERROR, 1, ERROR)])
def test_what_was_refused_raises_the_level_to_a_warning_and_never_lowers_it(
    level: bytes, refused: int, reported: bytes
) -> None:
    authority = Authority(SimpleNamespace(), AuthorityConfig())
    authority.refused, authority.text = refused, "nobody refused"
    status = authority.amend(DiagnosticStatus(level=level, message="as before"))
    assert status.level == reported
    assert status.message == ("nobody refused; as before" if refused else "as before")
    again = authority.amend(DiagnosticStatus(level=OK, message="as before"))
    assert (again.level, again.message) == (OK, "as before"), "once"


@pytest.mark.parametrize(
    ("profile", "once", "timers"),
    [(qos.LATCHED, False, 1), (qos.LATCHED, True, 0), (qos.stream("reliable", 10), False, 0)],
)
def test_what_is_latched_is_signed_anew_in_time(tmp_path: Path, profile: Any, once: bool, timers: int) -> None:
    """Twice before its signature is too old, so that a late joiner may miss one; what is to be obeyed once is not."""
    create_key(str(tmp_path / "key"))
    silent = SimpleNamespace(info=lambda _line: None)
    node = SimpleNamespace(
        get_fully_qualified_name=lambda: "/planner", get_logger=lambda: silent, create_service=lambda *_given: None
    )
    authority = Authority(node, AuthorityConfig(key_file=str(tmp_path / "key"), max_age=8.0))
    periods: list[float] = []
    publisher = SimpleNamespace(topic_name="/t", qos_profile=profile)
    authority.publisher(publisher, lambda period, *_given, **_named: periods.append(period), once=once)
    assert len(periods) == timers
    assert all(period <= 4.0 for period in periods)
