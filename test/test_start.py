# SPDX-License-Identifier: Apache-2.0
"""Start and end of commands and nodes: Ctrl-C, or a library that is missing, while they still import what they need."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

import pytest

from sysid_nodes.cli.main import main
from sysid_nodes.start import INTERRUPTED, missing_library

INTERRUPTED_IMPORT = """
import ctypes, os, signal, sys
os.kill(os.getpid(), signal.SIGINT)
ctypes.pythonapi.PyErr_CheckSignals()
raise ImportError("a compiled module that met the interrupt")
"""


def load(folder: Path, source: str, before: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "slow.py").write_text(source, encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); {before}from sysid_nodes.start import load_program; "
    code += "print(load_program('slow', 'a_node').main())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60.0, check=False)


def test_an_interrupt_during_an_import_is_one_line(tmp_path: Path) -> None:
    found = load(tmp_path, INTERRUPTED_IMPORT)
    assert (found.returncode, found.stderr) == (INTERRUPTED, "a_node: interrupted\n")


def test_an_interrupt_that_was_held_back_is_one_line(tmp_path: Path) -> None:
    """As by a node's executable, until it can be taken."""
    held = (
        "import signal; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}); signal.raise_signal(signal.SIGINT); "
    )
    found = load(tmp_path, "main = lambda: 'went on'", held)
    assert (found.returncode, found.stdout, found.stderr) == (INTERRUPTED, "", "a_node: interrupted\n")


def test_an_interrupt_later_is_the_programs_own(tmp_path: Path) -> None:
    source = "def main():\n    try:\n        import signal; signal.raise_signal(signal.SIGINT)\n"
    found = load(tmp_path, source + "    except KeyboardInterrupt:\n        return 'mine'\n")
    assert (found.returncode, found.stdout) == (0, "mine\n")


MISSING = "raise ImportError('libgomp.so.1: cannot open shared object file: No such file or directory')"


def test_a_library_that_the_system_lacks_is_one_line(tmp_path: Path) -> None:
    """As in a container without a compiler, where pinocchio's wheel finds no libgomp."""
    found = load(tmp_path, MISSING)
    line = "the system lacks the library libgomp.so.1 (Debian: apt install libgomp1)"
    assert (found.returncode, found.stderr) == (2, f"a_node: error: {line}\n")
    assert "Traceback" in load(tmp_path, "raise ImportError('cannot import name')").stderr
    other = ImportError("libx.so: cannot open shared object file")
    assert missing_library(other) == "the system lacks the library libx.so"
    assert not missing_library(OSError("libx.so: cannot open shared object file"))


def test_a_command_that_meets_it_is_one_line_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Commands import what they need when they run."""
    args = {"run": lambda _: exec(MISSING, {})}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sysid_nodes.cli.main._parse", lambda _: argparse.Namespace(**args))
        assert main(["replay"]) == 2
    line = "the system lacks the library libgomp.so.1 (Debian: apt install libgomp1)"
    assert capsys.readouterr().err == f"sysid: error: {line}\n"


@pytest.mark.parametrize("handler", ["SIG_IGN", "SIG_DFL"])
def test_a_stated_way_to_take_interrupts_is_kept(tmp_path: Path, handler: str) -> None:
    source = "import signal\nmain = lambda: signal.getsignal(signal.SIGINT).name"
    found = load(tmp_path, source, f"import signal; signal.signal(signal.SIGINT, signal.{handler}); ")
    assert found.stdout == f"{handler}\n"


LEAVING = """
import atexit, ctypes

class Library:
    def __del__(self):
        print("taken apart", flush=True)

library = Library()
atexit.register(print, "given back")

def main():
    print("done")
    c = ctypes.CDLL(None)
    c.fopen.restype = ctypes.c_void_p
    c.fputs(b"by C", ctypes.c_void_p(c.fopen(b"log", b"w")))  # as ROS's logger, whose file is closed by nobody
    return 3
"""


def run(folder: Path, source: str) -> subprocess.CompletedProcess[str]:
    """A node's process, of a module with that source."""
    (folder / "node.py").write_text(source, encoding="utf-8")
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); "
    code += "from sysid_nodes.start import run_program; run_program('node', 'a_node')"
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, timeout=60.0, check=False, cwd=folder)


def test_a_node_ends_without_taking_its_libraries_apart(tmp_path: Path) -> None:
    """Its status stays, what is registered for the end runs, and no buffer is lost."""
    found = run(tmp_path, LEAVING)
    assert (found.returncode, found.stderr) == (3, "")
    assert found.stdout.splitlines() == ["done", "given back"]
    assert (tmp_path / "log").read_text() == "by C"


def test_an_interrupt_between_import_and_the_nodes_own_handler_is_one_line(tmp_path: Path) -> None:
    found = run(tmp_path, "def main():\n    import signal; signal.raise_signal(signal.SIGINT)")
    assert (found.returncode, found.stderr) == (INTERRUPTED, "a_node: interrupted\n")


def test_a_node_that_breaks_off_ends_as_python_does(tmp_path: Path) -> None:
    found = run(tmp_path, "def main(): raise RuntimeError('broken')")
    assert found.returncode == 1 and found.stderr.endswith("RuntimeError: broken\n")


def test_programs_start_by_it(project_root: Path) -> None:
    """Before it, nothing but the interpreter's own is imported: that takes some hundredths of a second."""
    assert "run_program(" in (project_root / "cmake/executable.py.in").read_text(encoding="utf-8")
    assert 'sysid = "sysid_nodes.start:sysid"' in (project_root / "pyproject.toml").read_text(encoding="utf-8")
    code = "import sys; before = set(sys.modules); import sysid_nodes.start; print(*set(sys.modules) - before)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60.0, check=True)
    assert not {"numpy", "argparse", "rclpy", "importlib.metadata"} & set(found.stdout.split())
