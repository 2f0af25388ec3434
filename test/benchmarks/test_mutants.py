# SPDX-License-Identifier: Apache-2.0
"""The table of what is mutated names files that exist; the mutations themselves are cosmic-ray's."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutant_modules import CHOICES, EQUIVALENT, GUESSES, SUBJECTS
from benchmarks.mutants import Mutant, Outcome, least_share, read, write
from benchmarks.report import Report


@pytest.mark.parametrize("name", SUBJECTS)
def test_files_and_their_tests_exist(name: str, project_root: Path) -> None:
    subject = SUBJECTS[name]
    assert all((project_root / "sysid_nodes" / file).is_file() for file in subject.files)
    assert all((project_root / "test" / file).is_file() for file in subject.tests)


def test_what_is_no_mistake_is_of_code_there_is(project_root: Path) -> None:
    """Reasons name functions and lines, which may be renamed: then equivalent mutants would count as survivors."""

    def common_start(one: str, two: str) -> int:
        return next((k for k, (a, b) in enumerate(zip(one, two, strict=False)) if a != b), min(len(one), len(two)))

    def text(file: str) -> str:
        return (project_root / "sysid_nodes" / file).read_text(encoding="utf-8")

    for file, names in GUESSES.items():
        assert {name for name in names if f"def {name}(" in text(file)} == set(names)
    for file, names in CHOICES.items():
        assert all(f"\n{name} = " in text(file) for name in names)
    for file, after in EQUIVALENT:
        wanted, changed = after.replace(" ", ""), []
        for line in text(file).splitlines():
            given = line.strip().replace(" ", "")
            head = common_start(given, wanted)
            changed.append(len(wanted) - head - common_start(given[head:][::-1], wanted[head:][::-1]))
        assert min(changed) <= 15, after  # a number, an operator or a name, not two of them


def test_equivalent_mutants_are_of_files_that_are_mutated() -> None:
    assert {file for file, _ in EQUIVALENT} <= {file for subject in SUBJECTS.values() for file in subject.files}


RUNS = """
import sys
from pathlib import Path
from benchmarks.mutant_run import run
from benchmarks.mutant_server import Server, Trees
folder, test = Path(sys.argv[1]), Path(sys.argv[1]) / "test" / "test_answer.py"
for limit in (None, 20.0):
    print(run(folder, ["test/test_answer.py"], folder / "durations.json", limit))
print((folder / "order").read_text())
source = (folder / "sysid_nodes" / "__init__.py").read_text()
server = Server(Trees(folder, ("__init__.py",), ("test_answer.py",), folder / "traces.json"))
for old, new in (
    ("41 +", "41 -"), ("7 + 7", "7 + 8"), ("== 4", "!= 4"), ("WHOLE = 2", "WHOLE = 3"), ("9", "8")
):
    assert source.count(old) == 1
    print(server.judge("__init__.py", source, source.replace(old, new), ["test_answer.py"]))
print(server.judge("__init__.py", source, source.replace("41 +", "41 -"), []))
server.close()
test.write_text("def test_endless():\\n    while True:\\n        pass\\n")
print(run(folder, ["test/test_answer.py"], folder / "durations.json", 1.0))
"""

MUTATED = """
from __future__ import annotations

WHOLE = 2


def answer() -> int:
    return 41 + 1


def nobody_asks() -> int:
    return 7 + 7


class Even:
    @property
    def holds(self) -> bool:
        return [k for k in (4, 5) if k == 4] == [4]


def imported() -> int:
    return 9


KEPT = imported()
"""

TESTS = """
import time
from pathlib import Path
from sysid_nodes import Even, answer

def note(name):
    with Path("order").open("a") as file:
        file.write(name + " ")

def test_slow():
    time.sleep(0.05)
    note("slow")
    assert Even().holds

def test_quick():
    note("quick")
    assert answer() == 42
"""


@pytest.mark.slow
def test_mutants_are_judged_in_a_tree_of_their_own(tmp_path: Path, project_root: Path) -> None:
    """By import the quick test goes first once it is known; by a server a mutant is put into functions that ran."""
    (tmp_path / "sysid_nodes").mkdir()
    (tmp_path / "sysid_nodes" / "__init__.py").write_text(MUTATED)
    (tmp_path / "test").mkdir()
    (tmp_path / "test" / "conftest.py").touch()
    (tmp_path / "test" / "test_answer.py").write_text(TESTS)
    words = [sys.executable, "-c", RUNS, str(tmp_path)]
    done = subprocess.run(words, cwd=project_root, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    by_import, order = ["True", "True"], ["slow", "quick", "quick", "slow"]
    # A module's constant, and a function that ran on import, only an import can tell.
    by_server = ["killed", "survived", "killed", "None", "None"]
    assert done.stdout.split() == [*by_import, *order, *by_server, "survived", "False"]


def test_few_show_little() -> None:
    """Whoever kills a share p of all kills all of n with probability p^n."""
    assert least_share(10, 10) ** 10 == pytest.approx(0.05)
    p = least_share(8, 10)
    tail = sum(math.comb(10, k) * p**k * (1.0 - p) ** (10 - k) for k in (8, 9, 10))
    assert tail == pytest.approx(0.05)


def test_survivors_are_listed(tmp_path: Path) -> None:
    mutant = Mutant("shift", "systems/certified/certificate/shift.py", "AddNot", 0)
    told = {"killed": (3, "`a` became `b`"), "survived": (7, "`c` became `d`"), "undecided": (9, "`e` became `f`")}
    outcomes = [Outcome(mutant, fate, *words) for fate, words in told.items()]
    write(Report("mutants", "Score", tmp_path, "command"), outcomes, {"shift": 40})
    (page,) = tmp_path.glob("*.md")
    text = page.read_text(encoding="utf-8")
    assert "| shift | 40 | 3 | 1 | 1 | 1 | 0 | 33.3 % |" in text
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
    assert Outcome(mutant, "survived", 7, "`def f(x, *, y):` became `def f(x, /, y):`").reason
    assert Outcome(mutant, "survived", 7, "`zip(x, y, strict=True)` became `zip(x, y, strict=False)`").reason
    tried = Mutant("tracking", "systems/certified/certificate/tracking.py", "NumberReplacer", 3)
    assert Outcome(tried, "survived", 7, "`_DRAG = 0.2` became `_DRAG = 1.2`").reason
    assert not Outcome(tried, "survived", 7, "`_DRAG = 0.2` became `_DRAG = -0.8`").reason
    assert not Outcome(tried, "survived", 7, "`x = _DRAG * 0.2` became `x = _DRAG * 1.2`").reason
    assert not Outcome(mutant, "survived", 7, "`def f(x=1):` became `def f(x=2):`").reason
    line = "grow(x.sum(axis=axes) + n * EPS, 2 * n + 8), grow(y, 16) + z"
    for old, new, enough in (
        ("16", "17", True), ("16", "7", True), ("16", "6", False), ("2 * n", "1 * n", True), ("+ z", "- z", False),
        ("+ 8", "- 8", False), ("2 * n", "2 / n", False), ("2 * n", "2 + n", True), ("n * E", "n / E", False),
    ):  # fmt: skip
        mutated = Outcome(
            Mutant("intervals", "intervals/sums.py", "NumberReplacer", 3), "survived", 7,
            f"`{line}` became `{line.replace(old, new)}`",
        )  # fmt: skip
        assert bool(mutated.reason) == enough, mutated.words
    for old, new, enough in (
        ("n + 2", "n + 3", True), ("n + 2", "n + 1", True), ("n + 2", "n - 2", False), (") * E", ") / E", False),
        ("4.0", "3.0", True), ("4.0", "1.0", False), ("- 8.0", "+ 8.0", False), ("8.0 * r", "4.0 * r", True),
    ):  # fmt: skip
        line = "rest = (n + 2) * EPS * scale + 4.0 * EPS - 8.0 * rounding.EPS"
        for file in ("sums", "rounding"):  # of which the latter is what others count on
            words = f"`{line}` became `{line.replace(old, new)}`"
            mutated = Outcome(Mutant("intervals", f"intervals/{file}.py", "N", 3), "survived", 7, words)
            assert bool(mutated.reason) == (enough and file == "sums"), words
    path = tmp_path / "records.jsonl"
    path.write_text(json.dumps(found[0]._asdict()) + "\n", encoding="utf-8")
    assert read(path) == {mutant: found[0]}
    write(Report("mutants", "Score", tmp_path, "command"), found[:1], {"memory": 40})
    (page,) = tmp_path.glob("*.md")
    text = page.read_text(encoding="utf-8")
    assert "| memory | 40 | 1 | 0 | 0 | 0 | 1 |  |" in text and reason in text
