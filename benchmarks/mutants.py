# SPDX-License-Identifier: Apache-2.0
"""Mutation score of the proof core: of small mistakes put in on purpose, how many do the tests notice?

Mutations are those of cosmic-ray (`pip install -e ".[mutants]"`, which `make mutants` does): signs and operators
exchanged, comparisons turned or made strict, conditions negated, numbers off by one. Each mutant is one of them in a
copy of the working tree; of the test files that mutant_modules.py names for it those tests are run that call what it
changes, the quickest first, until one fails, in a fork of a process that has collected them (mutant_server.py); where
that cannot tell, all of them in one that imports the mutant (mutant_run.py). All draws are by --seed, so that a sample
can be repeated; survivors are listed with their line.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from benchmarks import report
from benchmarks.mutant_modules import SUBJECTS, guesses, reason, same_but_counts
from benchmarks.mutant_run import run
from benchmarks.mutant_server import GRACE, PATIENCE, Server, Trees

ROOT = Path(__file__).resolve().parents[1]

OPERATORS = (
    *(f"ReplaceBinaryOperator_{pair}" for pair in ("Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "Mul_Add", "Pow_Mul")),
    *(
        f"ReplaceComparisonOperator_{pair}"
        for pair in (
            "Lt_LtE", "Lt_Gt", "LtE_Lt", "LtE_GtE", "Gt_GtE", "Gt_Lt", "GtE_Gt", "GtE_LtE", "Eq_NotEq", "NotEq_Eq",
            "Is_IsNot", "IsNot_Is",
        )
    ),
    "ReplaceUnaryOperator_USub_UAdd", "ReplaceUnaryOperator_Delete_Not", "ReplaceAndWithOr", "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse", "ReplaceFalseWithTrue", "AddNot", "NumberReplacer",
)  # fmt: skip


_QUICK = 3.0
"""Time of the tests that all mutants are shown to first [s]."""


class Mutant(NamedTuple):
    """One small mistake.

    Attributes:
        subject: key of SUBJECTS.
        file: below sysid_nodes/.
        operator, occurrence: of cosmic-ray.
    """

    subject: str
    file: str
    operator: str
    occurrence: int


class Outcome(NamedTuple):
    """Fate of a mutant in the tests: killed, survived or undecided; the line, and how it is mutated."""

    mutant: Mutant
    fate: str
    line: int
    words: str

    @property
    def reason(self) -> str:
        """Why nobody can tell it from the original; empty where it is none such."""
        if self.fate == "killed":
            return ""
        before, after = self.words.split("`")[1::2]
        if self.fate == "survived" and same_but_counts(self.mutant.file, before, after):
            return "more roundings than there are are still allowed for"
        if self.fate == "survived" and guesses(self.mutant.file, self.line):
            return "where errors are looked for; what is found is proven afterwards"
        return reason(self.mutant.file, before, after)


def apply_mutant(source: str, mutant: Mutant) -> str | None:
    """The source with the mistake; None where there are fewer of the kind."""
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator

    found: str | None = mutate_code(source, get_operator(f"core/{mutant.operator}")(), mutant.occurrence)
    return found


def mutants(subject: str) -> Iterator[Mutant]:
    """All of a subject."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator

    for file in SUBJECTS[subject].files:
        nodes = list(ast_nodes(get_ast((ROOT / "sysid_nodes" / file).read_text(encoding="utf-8"))))
        for name in OPERATORS:
            operator = get_operator(f"core/{name}")()
            count = sum(1 for node in nodes for _ in operator.mutation_positions(node))
            yield from (Mutant(subject, file, name, occurrence) for occurrence in range(count))


class Tree:
    """A copy of the working tree, as git has it and with what was built, and what judges mutants of it.

    Args:
        folder: to make it in.
        subjects: what may be mutated.
        traces: file that keeps those of tests from run to run; None: none.

    Raises:
        RuntimeError: a test fails as it is.
    """

    def __init__(self, folder: Path, subjects: Sequence[str], traces: Path | None) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        built = [str(path.relative_to(ROOT)) for path in (ROOT / "sysid_nodes" / "kernel").glob("_*.so")]
        for name in (*listed, *built):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)
        files = dict.fromkeys(file for name in subjects for file in SUBJECTS[name].files)
        tests = dict.fromkeys(file for name in subjects for file in SUBJECTS[name].tests)
        self._server = Server(Trees(folder, tuple(files), tuple(tests), traces))
        self._durations = folder / "durations.json"
        self._durations.write_text(json.dumps(self._server.durations))

    def close(self) -> None:
        """Ends what judges."""
        self._server.close()

    def judge(self, mutant: Mutant, *, thorough: bool) -> Outcome:
        """Fate of a mutant in the tests; undecided where the quickest and no import cannot tell, unless thorough."""
        path, tests = self.folder / "sysid_nodes" / mutant.file, SUBJECTS[mutant.subject].tests
        source = path.read_text(encoding="utf-8")
        text = apply_mutant(source, mutant)
        assert text is not None
        pairs = zip(source.splitlines(), text.splitlines(), strict=False)
        line, before, after = next((k, a.strip(), b.strip()) for k, (a, b) in enumerate(pairs, 1) if a != b)
        fate = self._server.judge(mutant.file, source, text, tests, np.inf if thorough else _QUICK)
        if fate is None and thorough:
            paths = [f"test/{name}" for name in tests]
            took = sum(time for name, time in self._server.durations.items() if name.split("::")[0] in paths)
            path.write_text(text, encoding="utf-8")
            try:
                passed = run(self.folder, paths, self._durations, GRACE + PATIENCE * took)
            finally:
                path.write_text(source, encoding="utf-8")
            fate = "survived" if passed else "killed"
        return Outcome(mutant, fate or "undecided", line, f"`{before}` became `{after}`")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = report.parser("mutants", __doc__)
    parser.add_argument("--modules", nargs="+", choices=SUBJECTS, default=list(SUBJECTS), help="what to mutate")
    parser.add_argument("--sample", type=int, default=0, help="mutants drawn from all of them by the seed; 0: all")
    parser.add_argument("--budget", type=float, default=0.0, help="time after which no more are begun [s]; 0: none")
    parser.add_argument("--records", type=Path, help="JSON lines, one a mutant; continued where it ends")
    args = parser.parse_args(argv)
    page = report.Report("mutants", "Mutation score of the proof core", args.out, args.command)
    begun, traces = time.monotonic(), None if args.records is None else args.records.with_suffix(".traces.json")
    every = {name: list(mutants(name)) for name in args.modules}
    pool = [mutant for of in every.values() for mutant in of]
    order = [pool[int(k)] for k in np.random.default_rng(args.seed).permutation(len(pool))[: args.sample or None]]
    found = read(args.records)
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree: Tree | None = None
        # What lives long takes longest and goes last.
        for thorough in (False, True):
            todo = [
                one
                for one in order
                if one not in found or (thorough and found[one].fate == "undecided" and not found[one].reason)
            ]
            for mutant in report.progress(todo, "mutants"):
                if args.budget and time.monotonic() - begun > args.budget:
                    break
                tree = tree or Tree(Path(folder), args.modules, traces)
                found[mutant] = tree.judge(mutant, thorough=thorough)
                if args.records is not None:
                    with args.records.open("a", encoding="utf-8") as file:
                        file.write(json.dumps(found[mutant]._asdict()) + "\n")
        if tree is not None:
            tree.close()
    write(page, [found[one] for one in order if one in found], {name: len(of) for name, of in every.items()})
    return 0


def read(path: Path | None) -> dict[Mutant, Outcome]:
    """Outcomes of a file of records, by mutant; none where there is no file."""
    if path is None or not path.exists():
        return {}
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    outcomes = (Outcome(Mutant(*row["mutant"]), row["fate"], row["line"], row["words"]) for row in rows)
    return {outcome.mutant: outcome for outcome in outcomes}


def least_share(killed: int, of: int) -> float:
    """Share of a population that is killed at least, with 95 % confidence, by a sample of it."""
    return float(betaincinv(killed, of - killed + 1, 0.05))


def write(page: report.Report, outcomes: Sequence[Outcome], total: dict[str, int]) -> None:
    """The report: scores, then every survivor."""
    rows = []
    for name in (*total, "all"):
        of = [one for one in outcomes if name in ("all", one.mutant.subject)]
        killed, same = sum(one.fate == "killed" for one in of), sum(bool(one.reason) for one in of)
        open_, rest = sum(one.fate == "undecided" and not one.reason for one in of), len(of) - same
        score = f"{100.0 * killed / rest:.1f} %" if rest else ""
        number = sum(total.values()) if name == "all" else total[name]
        rows.append((name, number, len(of), killed, rest - killed - open_, open_, same, score))
    page.text(
        "Mutants are single small mistakes; a score is the share of those tried, equivalent ones left out, that a test "
        "notices. Where fewer were tried than there are, they were drawn at random. Those undecided survived the "
        f"quickest tests, {_QUICK:g} s of them, or have to be imported, and met no more; they count as survivors."
    )
    page.table(("module", "mutants", "tried", "killed", "survived", "undecided", "equivalent", "score"), rows)
    killed, rest = sum(one.fate == "killed" for one in outcomes), sum(not one.reason for one in outcomes)
    if killed:
        page.text(
            f"At least {100.0 * least_share(killed, rest):.1f} % of all but equivalent ones, with 95 % confidence "
            "(Clopper and Pearson), if those tried were drawn by chance and no test was written for one of them."
        )
    for title, fate in (("Survivors", "survived"), ("Undecided", "undecided")):
        page.section(title)
        left = [one for one in outcomes if one.fate == fate and not one.reason]
        page.text("\n".join(f"- {one.mutant.file}:{one.line}: {one.words}" for one in left) or "None.")
    known = [one for one in outcomes if one.reason]
    if known:
        page.section("Equivalent")
        page.text("\n".join(f"- {one.mutant.file}:{one.line}: {one.words}: {one.reason}" for one in known))
    print(page.write())


if __name__ == "__main__":
    sys.exit(main())
