# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

from shared.legged_readings import make_session

from sysid_nodes.exceptions import SamplesError
from sysid_nodes.sessions.live_session import Level
from sysid_nodes.sessions.prime.live import LivePrime


def test_a_message_that_is_damaged_is_counted_and_no_failure_of_ours() -> None:
    def damaged(*_: object) -> Any:
        raise SamplesError("LowState has a wrong checksum")

    said: list[Any] = []
    live = LivePrime(
        make_session(),
        capacity=5,
        write=lambda path, _: Path(path),
        publish=said.append,
        judged=lambda *both: said.extend(both),
        complain=said.append,
    )
    try:
        live._process((damaged, None, 0.0))
        report = live.report(active=True)
    finally:
        live.stop()
    assert report.values["not used: LowState has a wrong checksum"] == "1"
    assert not said and "internal failure" not in report.sentence


def test_it_saves_by_what_the_node_gives_and_says_what_is_written() -> None:
    written: list[str] = []

    def write(path: str, session: Any) -> Path:
        written.append(path)
        return Path(path) / "result.json"

    session = make_session()
    live = LivePrime(
        session, capacity=5, write=write, publish=lambda _: None, judged=lambda *_: None, complain=lambda _: None
    )
    try:
        assert live.save("folder") == (Path("folder/result.json"), session.judgement.sentence)
        assert live.report(active=False).sentence == "inactive"
        assert live.report(active=True).level is Level.WARN, "no estimate yet"
    finally:
        live.stop()
    assert written == ["folder"]
