# SPDX-License-Identifier: Apache-2.0
"""The command itself: help, exit statuses, one line an error, nothing imported in vain."""

from __future__ import annotations

import os
import re
import runpy
import signal
import subprocess
import sys
import time
import types
from pathlib import Path
from xml.etree import ElementTree

import pytest
from shared import children

from sysid_nodes import __version__
from sysid_nodes.cli import main as command
from sysid_nodes.data import versions
from sysid_nodes.data.versions import source_commit
from sysid_nodes.exceptions import LogError

AVAILABLE = ("demo", "replay", "batch", "init", "check", "calibrate", "tracking", "report", "export", "verify", "key")


def stand_in(monkeypatch: pytest.MonkeyPatch, run: object, name: str = "demo") -> None:
    """A sub-command that does what a test wants."""
    module = types.ModuleType(f"sysid_nodes.cli.{name}", "Stands in.\n\nexamples:\n  none")
    module.add_arguments = lambda parser: parser.add_argument("--out")
    module.run = run
    monkeypatch.setitem(sys.modules, module.__name__, module)


def test_help_lists_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--help"]) == 0
    text = capsys.readouterr().out
    for name, summary in command.COMMANDS.items():
        assert name in text
        assert summary in text


@pytest.mark.parametrize("name", AVAILABLE)
def test_every_command_has_help_with_examples(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert "examples:" in text
    assert f"  sysid {name} " in text


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out.startswith(f"sysid {__version__}")


def test_the_version_of_a_source_tree_has_its_commit(tmp_path: Path) -> None:
    assert source_commit(tmp_path) == ""
    (tmp_path / "file").write_text("as committed")
    for words in ("init", "add file", "-c user.name=n -c user.email=e commit -m first"):
        subprocess.run(["git", "-C", tmp_path, *words.split()], check=True, capture_output=True)
    commit = source_commit(tmp_path)
    assert re.fullmatch("[0-9a-f]{7,}", commit)
    (tmp_path / "file").write_text("changed")
    assert source_commit(tmp_path) == f"{commit}-dirty"


def test_the_version_of_a_wheel_has_the_commit_it_was_built_of(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Its folder is no checkout; PEP 440 has room for it behind a plus sign, without a hyphen."""
    monkeypatch.setattr(versions, "SOURCE", tmp_path)
    monkeypatch.setattr(versions, "__version__", "0.1.0+g2ca98d32.dirty")
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out == "sysid 0.1.0 (commit 2ca98d32-dirty)\n"


@pytest.mark.parametrize("commit", ["2ca98d32", "01234567-dirty", ""])
def test_a_build_puts_the_commit_behind_the_version(
    commit: str, project_root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, object] = {}
    monkeypatch.setattr("setuptools.setup", lambda **given: seen.update(given))
    monkeypatch.setenv("SYSID_COMMIT", commit)
    runpy.run_path(str(project_root / "setup.py"))
    plain = ElementTree.parse(project_root / "package.xml").findtext("version")
    assert seen["version"] == (f"{plain}+g{commit.replace('-', '.')}" if commit else plain)
    wheel = (project_root / "Makefile").read_text(encoding="utf-8").partition("\nwheel:")[2].partition("\n\n")[0]
    assert "SYSID_COMMIT=" in wheel
    assert 'SYSID_COMMIT="$COMMIT"' in (project_root / "Dockerfile").read_text(encoding="utf-8")
    assert "rm -rf sysid_nodes.egg-info" in wheel, "else the installed package has the wheel's version in this folder"


@pytest.mark.parametrize(
    ("line", "words"),
    [("sysid re", {"replay", "report"}), ("sysid replay --conf", {"--config"}), ("sysid demo ki", {"kinova"})],
)
def test_the_shell_completes_commands_options_and_choices(line: str, words: set[str], tmp_path: Path) -> None:
    found = tmp_path / "words"
    asked = {
        "_ARGCOMPLETE": "1", "_ARGCOMPLETE_STDOUT_FILENAME": str(found), "_ARGCOMPLETE_IFS": "\n",
        "COMP_LINE": line, "COMP_POINT": str(len(line)),
    }  # fmt: skip
    command_line = [sys.executable, "-m", "sysid_nodes.cli"]
    ended = subprocess.run(command_line, env=os.environ | asked, timeout=600.0, capture_output=True)
    assert ended.returncode == 0, ended.stderr
    assert {word.strip() for word in found.read_text().split("\n")} == words


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["weigh"], "invalid choice: 'weigh'"),
        (["rpelay"], "did you mean 'replay'?"),
        (
            ["replay", "bag", "--out", "o", "--confg", "c"],
            "unrecognized arguments: --confg c; did you mean '--config'?",
        ),
        (["demo", "kinov"], "did you mean 'kinova'?"),
        (["replay", "bag", "--uot", "o"], "unrecognized arguments: --uot; did you mean '--out'?"),
        (["report", "a", "--format", "pdf"], "unrecognized arguments: --format pdf (see"),
        (["replay"], "the following arguments are required: BAG, --out"),
        (
            ["replay", "bag", "--out", "o", "--method", "guess"],
            "argument --method: invalid choice: 'guess' (choose from",
        ),
        (["export", "result.json"], "the following arguments are required: --out"),
        (["report", "a", "b"], "unrecognized arguments: b"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(words) == 2
    text = capsys.readouterr().err
    assert text.startswith("sysid: error: ")
    assert message in text
    assert "--help')" in text
    assert text.count("\n") == 1
    assert len(text) < 200, "is read at a glance"


def test_an_error_is_one_line_and_status_2(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(_: object) -> int:
        raise LogError("two\nlines", source="bag")

    stand_in(monkeypatch, run)
    assert command.main(["demo"]) == 2
    assert capsys.readouterr().err == "sysid: error: bag: two lines\n"


def test_a_bug_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_: object) -> int:
        raise ZeroDivisionError

    stand_in(monkeypatch, run)
    with pytest.raises(ZeroDivisionError):
        command.main(["demo"])


def test_an_interrupt_is_clean(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def run(_: object) -> int:
        raise KeyboardInterrupt

    stand_in(monkeypatch, run)
    assert command.main(["demo"]) == 130
    assert capsys.readouterr().err.count("\n") == 1


def test_an_interrupt_while_importing_is_clean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(_: str) -> None:
        raise ImportError("initialization failed") from KeyboardInterrupt()

    monkeypatch.setattr(command.importlib, "import_module", interrupted)
    assert command.main(["demo"]) == 130
    assert capsys.readouterr().err == "sysid: interrupted\n"


def test_a_broken_module_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: str) -> None:
        raise ImportError("undefined symbol")

    monkeypatch.setattr(command.importlib, "import_module", broken)
    with pytest.raises(ImportError, match="undefined symbol"):
        command.main(["demo"])


def test_the_status_of_a_command_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(monkeypatch, lambda _: 3)
    assert command.main(["demo", "--out", "x"]) == 3


@pytest.mark.parametrize(
    ("missing", "message"),
    [
        ("sysid_nodes.cli.demo", "'demo' is not part of this installation (sysid_nodes.cli.demo is missing)"),
        ("mujoco", "'demo' needs the Python package 'mujoco', which is not installed"),
        (
            "cloudpickle",
            "'demo' needs the Python package 'cloudpickle', which is not installed; "
            "pip install 'sysid-nodes[batch]' brings it",
        ),
    ],
)
def test_what_is_not_installed_is_said(
    missing: str, message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def absent(_: str) -> None:
        raise ModuleNotFoundError(name=missing)

    monkeypatch.setattr(command.importlib, "import_module", absent)
    assert command.main(["demo"]) == 2
    assert capsys.readouterr().err == f"sysid: error: {message}\n"


def test_help_needs_no_heavy_import() -> None:
    code = (
        "import sys; from sysid_nodes.cli.main import main; main(['--help']);"
        "sys.exit(bool({'numpy', 'pinocchio', 'matplotlib', 'rclpy'} & set(sys.modules)))"
    )
    assert children.run("-c", code)[0] == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_termination_and_hangup_end_a_command_like_an_interrupt(
    number: signal.Signals, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def terminated(_: object) -> int:
        os.kill(os.getpid(), number)
        time.sleep(5.0)
        return 0

    stand_in(monkeypatch, terminated)
    outside = signal.signal(number, signal.SIG_DFL)  # whoever runs the tests may ignore hangups, as nohup does
    try:
        assert command.main(["demo"]) == 130
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, outside)
    assert capsys.readouterr().err == "sysid: interrupted\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_one_line() -> None:
    command = [sys.executable, "-m", "sysid_nodes.cli.main", "--version"]
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (2, "sysid: error: output: cannot write: No space left on device\n")
