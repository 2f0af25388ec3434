# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import importlib
import operator
import os
import signal
import time
from pathlib import Path

import pytest

from sysid_nodes.cli.demo.call_in_process import call_in_process
from sysid_nodes.data.packaged import required_file
from sysid_nodes.exceptions import SysidError


def test_a_result_an_error_and_an_end_come_from_the_other_process() -> None:
    with call_in_process(operator.add, 1, 2) as total, call_in_process(os.getpid) as other:
        assert total() == 3
        assert other() != os.getpid()
    with call_in_process(required_file, "nowhere.yaml") as found, pytest.raises(SysidError, match=r"nowhere\.yaml"):
        found()
    with call_in_process(os._exit, 3) as never, pytest.raises(SysidError, match=r"'_exit' ended with status 3"):
        never()


def test_an_interrupt_ends_it_without_a_word_while_it_still_imports(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "interrupted.py").write_text(
        "import multiprocessing, os, signal\n"
        "if multiprocessing.current_process().name != 'MainProcess':\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "def work(): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    ended = f"ended with status -{int(signal.SIGINT)}"
    with call_in_process(importlib.import_module("interrupted").work) as never, pytest.raises(SysidError, match=ended):
        never()
    assert capfd.readouterr().err == ""
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_nobody_waits_for_what_is_no_longer_wanted() -> None:
    begun = time.monotonic()
    with call_in_process(time.sleep, 900.0):
        pass
    assert time.monotonic() - begun < 300.0
