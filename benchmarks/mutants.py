# SPDX-License-Identifier: Apache-2.0
"""Mutation score of the proof core: of small mistakes put in on purpose, how many do the tests notice?

Mutations are those of cosmic-ray (`pip install -e ".[mutants]"`, which `make mutants` does): signs and operators
exchanged, comparisons turned or made strict, conditions negated, numbers off by one. Each mutant is one of them in a
copy of the working tree; the test files that mutant_modules.py names for it are run until one fails, the quickest tests
first, in a process forked from one that has the libraries loaded (mutant_run.py). All draws are by --seed, so that a
sample can be repeated; survivors are listed with their line.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks import report
from benchmarks.mutant_modules import EQUIVALENT, SUBJECTS
from benchmarks.mutant_run import run

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

_PATIENCE = 3.0
"""A mutant may take this many times the processor of the original, and _GRACE, before it counts as killed."""
_GRACE = 10.0
"""[s]"""


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
    """What the tests made of a mutant: killed, survived or equivalent; the line, and how it is mutated."""

    mutant: Mutant
    fate: str
    line: int
    words: str


def mutated(source: str, mutant: Mutant) -> str | None:
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
    """A copy of the working tree, as git has it and with what was built.

    Args:
        folder: to make it in.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        listed = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines()
        built = [str(path.relative_to(ROOT)) for path in (ROOT / "sysid_nodes" / "kernel").glob("_*.so")]
        for name in (*listed, *built):
            if (ROOT / name).is_file():
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, folder / name)

    def passes(self, tests: Sequence[str], limit: float | None) -> bool:
        """Whether these tests pass within a time of a processor [s]; the quickest that are known go first."""
        paths = [f"test/{name}" for name in tests if (self.folder / "test" / name).exists()]
        durations = self.folder / "durations.json"
        return run(self.folder, paths, durations, limit)

    def judge(self, mutant: Mutant, limit: float) -> Outcome:
        """What the tests make of a mutant."""
        path = self.folder / "sysid_nodes" / mutant.file
        source = path.read_text(encoding="utf-8")
        text = mutated(source, mutant)
        assert text is not None
        pairs = zip(source.splitlines(), text.splitlines(), strict=False)
        line, before, after = next((k, a.strip(), b.strip()) for k, (a, b) in enumerate(pairs, 1) if a != b)
        path.write_text(text, encoding="utf-8")
        try:
            fate = "survived" if self.passes(SUBJECTS[mutant.subject].tests, limit) else "killed"
        finally:
            path.write_text(source, encoding="utf-8")
        if fate == "survived" and (mutant.file, after) in EQUIVALENT:
            fate = "equivalent"
        return Outcome(mutant, fate, line, f"`{before}` became `{after}`")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark."""
    parser = report.parser("mutants", __doc__)
    parser.add_argument("--modules", nargs="+", choices=SUBJECTS, default=list(SUBJECTS), help="what to mutate")
    parser.add_argument("--sample", type=int, default=0, help="mutants of each, drawn by the seed; 0: all")
    parser.add_argument("--budget", type=float, default=0.0, help="time after which no more are begun [s]; 0: none")
    args = parser.parse_args(argv)
    page = report.Report("mutants", "Mutation score of the proof core", args.out, args.command)
    rng, begun, outcomes, total = np.random.default_rng(args.seed), time.monotonic(), list[Outcome](), {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Tree(Path(folder))
        for name in args.modules:
            every = list(mutants(name))
            total[name] = len(every)
            chosen = rng.permutation(len(every))[: args.sample or None]
            started = os.times().children_user
            if not tree.passes(SUBJECTS[name].tests, None):
                parser.exit(1, f"the tests of '{name}' fail as they are\n")
            limit = _GRACE + _PATIENCE * (os.times().children_user - started)
            for k in report.progress([int(k) for k in chosen], name):
                if args.budget and time.monotonic() - begun > args.budget:
                    break
                outcomes.append(tree.judge(every[k], limit))
    write(page, outcomes, total)
    return 0


def write(page: report.Report, outcomes: Sequence[Outcome], total: dict[str, int]) -> None:
    """The report: scores, then every survivor."""
    rows = []
    for name in (*total, "all"):
        fates = [outcome.fate for outcome in outcomes if name in ("all", outcome.mutant.subject)]
        killed, survived, same = (fates.count(fate) for fate in ("killed", "survived", "equivalent"))
        score = f"{100.0 * killed / (killed + survived):.0f} %" if killed + survived else ""
        number = sum(total.values()) if name == "all" else total[name]
        rows.append((name, number, len(fates), killed, survived, same, score))
    page.text(
        "Mutants are single small mistakes; a score is the share of those tried, equivalent ones left out, that a test "
        "notices. Where fewer were tried than there are, they were drawn at random."
    )
    page.table(("module", "mutants", "tried", "killed", "survived", "equivalent", "score"), rows)
    page.section("Survivors")
    left = [outcome for outcome in outcomes if outcome.fate == "survived"]
    page.text("\n".join(f"- {one.mutant.file}:{one.line}: {one.words}" for one in left) or "None.")
    known = [outcome for outcome in outcomes if outcome.fate == "equivalent"]
    if known:
        page.section("Equivalent")
        lines = (f"- {one.mutant.file}:{one.line}: {one.words}: {_reason(one)}" for one in known)
        page.text("\n".join(lines))
    print(page.write())


def _reason(outcome: Outcome) -> str:
    after = outcome.words.split("`")[3]
    return EQUIVALENT[outcome.mutant.file, after]


if __name__ == "__main__":
    sys.exit(main())
