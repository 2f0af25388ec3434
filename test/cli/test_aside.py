# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import operator
import os
import time

import pytest

from sysid_nodes.cli.demo.aside import aside
from sysid_nodes.data.packaged import required_file
from sysid_nodes.exceptions import SysidError


def test_a_result_an_error_and_an_end_come_from_the_other_process() -> None:
    with aside(operator.add, 1, 2) as total, aside(os.getpid) as other:
        assert total() == 3
        assert other() != os.getpid()
    with aside(required_file, "nowhere.yaml") as found, pytest.raises(SysidError, match=r"nowhere\.yaml"):
        found()
    with aside(os._exit, 3) as never, pytest.raises(SysidError, match=r"'_exit' ended with status 3"):
        never()


def test_nobody_waits_for_what_is_no_longer_wanted() -> None:
    begun = time.monotonic()
    with aside(time.sleep, 900.0):
        pass
    assert time.monotonic() - begun < 300.0
