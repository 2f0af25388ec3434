# SPDX-License-Identifier: Apache-2.0
"""The end of a demo on a machine that is busy, idle, or does not tell; the kernel's books are written here."""

from __future__ import annotations

import argparse
import select
import subprocess
import sys
from pathlib import Path

import pytest

from sysid_nodes.cli import demo, main
from sysid_nodes.cli.demo import machine as machines
from sysid_nodes.cli.demo.ending import NOT_HELD, NOT_THERE, Ending, exit_status
from sysid_nodes.cli.demo.machine import Machine
from sysid_nodes.exceptions import OverdueError

LATE = Ending(NOT_THERE, "The robot rests short of its goal.", timing=True)


def keep_books(books: Path, busy: int, idle: int) -> None:
    """User, nice, system, idle, disk, two kinds of interrupts, stolen, and two that are parts of the first.

    Half of it on each core of ours; another, of others, is always busy.
    """
    half = f"{busy // 2} 0 0 {idle // 2} 0 0 0 0 {busy // 2} 0"
    other = f"cpu2 {busy + idle} 0 0 0 0 0 0 0 0 0"
    books.write_text(f"cpu 9 9 9 9 9 9 9 9 9 9\ncpu0 {half}\ncpu1 {half}\n{other}\nintr 1\n", encoding="utf-8")


def machine_after(tmp_path: Path, busy: int, idle: int) -> Machine:
    books = tmp_path / "stat"
    keep_books(books, 1000, 5000)
    made = Machine(books)
    keep_books(books, 1000 + busy, 5000 + idle)
    made.end()
    return made


@pytest.fixture(autouse=True)
def two_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})


def overdue() -> Ending:
    raise OverdueError("no reading arrived within 240 s")


def test_a_busy_machine_is_named_as_the_cause(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spent = iter([10.0, 11.0, 12.0])
    monkeypatch.setattr(machines, "_own_time", lambda: next(spent))
    busy = machine_after(tmp_path, busy=990, idle=10)  # hundredths of a second: the demo had two of ten
    with pytest.raises(
        OverdueError,
        match=r"within 240 s; the machine is too slow: its 2 cores were 99 % busy, 79 % with others$",
    ):
        exit_status(overdue, busy)


def test_an_idle_machine_is_not_blamed(tmp_path: Path) -> None:
    with pytest.raises(OverdueError, match=r"the machine's 2 cores were only 20 % busy, so something hangs"):
        exit_status(overdue, machine_after(tmp_path, busy=200, idle=800))


@pytest.mark.parametrize("text", ["", "cpu0 1 2\n", "cpu0 a b c d e f g h\n", "cpu 1 2 3 4 5 6 7 8\n"])
def test_a_kernel_that_does_not_tell_is_no_error(tmp_path: Path, text: str) -> None:
    (tmp_path / "stat").write_text(text)
    for books in (tmp_path / "stat", tmp_path / "none"):
        unknown = Machine(books)
        assert (unknown.so_far.busy, unknown.so_far.full) == (None, False)
        assert "is not known" in unknown.so_far.sentence


def test_a_late_robot_is_the_machine_s_fault_only_where_that_was_busy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_status(lambda: LATE, machine_after(tmp_path, busy=10, idle=990)) == NOT_THERE
    assert capsys.readouterr().err == "sysid: demo: The robot rests short of its goal.\n"
    with pytest.raises(OverdueError, match=r"rests short of its goal; the machine is too slow"):
        exit_status(lambda: LATE, machine_after(tmp_path, busy=999, idle=1))


def test_neither_start_nor_report_of_a_demo_count_against_the_machine(tmp_path: Path) -> None:
    books, late = tmp_path / "stat", "rests short of its goal; .* were 97 % busy"
    for busy, status in ((400, NOT_THERE), (970, None)):
        keep_books(books, 1000, 1000)
        machine = Machine(books)
        keep_books(books, 3000, 1000)  # all cores are busy with the start,
        machine.begin()
        keep_books(books, 3000 + busy, 2000 - busy)
        machine.end()
        keep_books(books, 9000 + busy, 2000 - busy)  # and with the report
        if status is not None:
            assert exit_status(lambda: LATE, machine) == status
            continue
        with pytest.raises(OverdueError, match=late):
            exit_status(lambda: LATE, machine)


def test_a_demo_s_own_time_has_that_of_its_children_and_theirs() -> None:
    spin = "import os, time\nwhile time.process_time() < 0.4: pass\n"
    nested = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {spin!r}]); print(flush=True); input()"
    before = machines._own_time()
    with subprocess.Popen([sys.executable, "-c", nested], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        assert select.select([child.stdout], [], [], 60.0)[0], "the child says nothing"
        child.stdout.readline()
        during = machines._own_time() - before
        child.communicate(b"\n", timeout=60.0)
    assert during >= 0.3
    assert machines._own_time() - before >= 0.3


def test_what_was_proven_has_nothing_to_do_with_the_machine(tmp_path: Path) -> None:
    full = machine_after(tmp_path, busy=999, idle=1)
    assert exit_status(lambda: Ending(NOT_HELD, "a margin was not kept"), full) == NOT_HELD
    assert exit_status(Ending, full) == 0


def test_the_command_line_has_a_status_of_its_own_for_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def late(_: argparse.Namespace) -> int:
        raise OverdueError("too\nlate")

    monkeypatch.setattr(demo, "run", late)
    assert main.main(["demo", "go2"]) == main.OVERDUE == 5
    assert capsys.readouterr().err == "sysid: error: too late\n"
