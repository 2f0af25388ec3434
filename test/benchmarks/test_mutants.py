# SPDX-License-Identifier: Apache-2.0
"""The table of what is mutated names files that exist; the mutations themselves are cosmic-ray's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutant_modules import EQUIVALENT, SUBJECTS
from benchmarks.mutants import Mutant, Outcome, read, write
from benchmarks.report import Report


@pytest.mark.parametrize("name", SUBJECTS)
def test_files_and_their_tests_exist(name: str, project_root: Path) -> None:
    subject = SUBJECTS[name]
    assert all((project_root / "sysid_nodes" / file).is_file() for file in subject.files)
    assert all((project_root / "test" / file).is_file() for file in subject.tests)


def test_equivalent_mutants_are_of_files_that_are_mutated() -> None:
    assert {file for file, _ in EQUIVALENT} <= {file for subject in SUBJECTS.values() for file in subject.files}


RUNS = """
import sys
from pathlib import Path
from benchmarks.mutant_run import run
folder, test = Path(sys.argv[1]), Path(sys.argv[1]) / "test_answer.py"
for limit in (None, 20.0):
    print(run(folder, [test.name], folder / "durations.json", limit))
test.write_text("def test_endless():\\n    while True:\\n        pass\\n")
print(run(folder, [test.name], folder / "durations.json", 1.0))
"""


def test_tests_run_in_a_tree_of_their_own_the_quickest_first(tmp_path: Path, project_root: Path) -> None:
    (tmp_path / "sysid_nodes").mkdir()
    (tmp_path / "sysid_nodes" / "__init__.py").write_text("ANSWER = 42\n")
    (tmp_path / "test_answer.py").write_text(
        "import time\nfrom pathlib import Path\nfrom sysid_nodes import ANSWER\n\n"
        "def test_slow():\n    time.sleep(0.05)\n    assert not Path('quick').exists()\n\n"
        "def test_quick():\n    Path('quick').touch()\n    assert ANSWER == 42\n"
    )
    words = [sys.executable, "-c", RUNS, str(tmp_path)]
    done = subprocess.run(words, cwd=project_root, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["True", "False", "False"], "once it is known the quick one goes first"


def test_survivors_are_listed(tmp_path: Path) -> None:
    mutant = Mutant("shift", "systems/certified/certificate/shift.py", "AddNot", 0)
    outcomes = [Outcome(mutant, "killed", 3, "`a` became `b`"), Outcome(mutant, "survived", 7, "`c` became `d`")]
    write(Report("mutants", "Score", tmp_path, "command"), outcomes, {"shift": 40})
    (page,) = tmp_path.glob("*.md")
    text = page.read_text(encoding="utf-8")
    assert "| shift | 40 | 2 | 1 | 1 | 0 | 50 % |" in text
    assert "shift.py:7: `c` became `d`" in text and "shift.py:3" not in text


def test_outcomes_are_read_again_and_equivalent_ones_are_no_survivors(tmp_path: Path) -> None:
    assert not read(None) and not read(tmp_path / "none.jsonl")
    (file, line), reason = next(iter(EQUIVALENT.items()))
    mutant = Mutant("memory", file, "NumberReplacer", 3)
    found = [
        Outcome(mutant, "survived", 7, f"`a` became `{line}`"),
        Outcome(mutant, "killed", 7, f"`a` became `{line}`"),
    ]
    assert [one.reason for one in found] == [reason, ""]
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(found[0]._asdict()) + "\n", encoding="utf-8")
    assert read(path) == {mutant: found[0]}
    write(Report("mutants", "Score", tmp_path, "command"), found[:1], {"memory": 40})
    (page,) = tmp_path.glob("*.md")
    text = page.read_text(encoding="utf-8")
    assert "| memory | 40 | 1 | 0 | 0 | 1 |  |" in text and reason in text
