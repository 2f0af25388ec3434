# SPDX-License-Identifier: Apache-2.0
"""Modules that are mutated and tests that have to notice, and the mutants that are no mistakes."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

_PACKAGE = Path(__file__).resolve().parents[1] / "sysid_nodes"


class Subject(NamedTuple):
    """Files of the package, and test files that are run for each of their mutants, the likeliest to fail first."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


_CERTIFICATE = "systems/certified/certificate"
_PROOF = tuple(
    f"{_CERTIFICATE}/test_{name}.py"
    for name in (
        "scalar_terms",
        "single_body_terms",
        "rounded_outward",
        "tracking_by_hand",
        "demand_by_hand",
        "tracking",
        "disturbance",
        "certifier",
        "monotone",
    )
)


def _proof(*names: str, first: Sequence[str]) -> Subject:
    """Files of the certificate's proof, and those of the proof's tests that are of them."""
    tests = (*(f"{_CERTIFICATE}/test_{name}.py" for name in first), *_PROOF)
    return Subject(tuple(f"{_CERTIFICATE}/{name}.py" for name in names), tuple(dict.fromkeys(tests)))


_INTERVALS = ("affine", "affine_shape", "affine_trigonometry", "polynomial_enclosure", "allowances")

SUBJECTS = {
    "intervals": Subject(
        tuple(
            f"intervals/{name}.py"
            for name in (
                "affine",
                "affine_form",
                "parts",
                "products",
                "rounding",
                "sums",
                "taylor",
                "trigonometry",
            )
        ),
        tuple(f"intervals/test_{name}.py" for name in _INTERVALS),
    ),
    "certificate": Subject(
        ("solvers/certificate.py",), ("solvers/test_certificate.py", "systems/interval/test_feasible_set.py")
    ),
    "error_radius": Subject(
        tuple(f"systems/interval/{name}.py" for name in ("error_radius", "nominal_radius", "reach", "positions")),
        tuple(
            f"systems/interval/test_{name}.py"
            for name in (
                "radius_by_hand",
                "nominal_radius",
                "rows_by_hand",
                "error_radius_slopes",
                "reach",
                "positions",
                "row_builder",
            )
        ),
    ),
    "rows": Subject(
        tuple(
            f"systems/interval/{name}.py"
            for name in (
                "measured_windows",
                "row_builder",
                "row_parts",
                "momentum_rows",
                "torque_integrals",
                "transmitted_torque",
                "windowed_samples",
            )
        ),
        tuple(
            f"systems/interval/test_{name}.py"
            for name in (
                "rows_by_hand",
                "row_parts",
                "torque_integrals",
                "radius_by_hand",
                "row_builder",
                "error_radius_slopes",
                "window_spans",
                "window_sums",
                "transmitted_torque",
                "pipeline",
            )
        ),
    ),
    "tracking": _proof("tracking", "closed_loop", "error_proof", first=("tracking_by_hand", "delayed_by_hand")),
    "disturbance": _proof("disturbance", "motion", first=("demand_by_hand", "motion", "tracked_terms")),
    "bodies": _proof("bodies", "recursion", first=("bodies",)),
    "shift": _proof("shift", first=("shift_by_hand", "shift")),
    "handover": _proof("handover", first=("handover_by_hand", "handover")),
    "delayed": Subject(
        (f"{_CERTIFICATE}/delayed.py",),
        tuple(
            f"{_CERTIFICATE}/test_{name}.py"
            for name in ("delayed_by_hand", "delayed", "memory", "delayed_certificates")
        ),
    ),
    "memory": Subject(
        (f"{_CERTIFICATE}/memory.py",),
        tuple(f"{_CERTIFICATE}/test_{name}.py" for name in ("memory", "delayed", "rounded_outward")),
    ),
    "judgement": _proof("judgement", "occupancy", first=("judgement", "occupancy", "tracked_terms")),
    "own_stop": _proof("own_stop", first=("own_stop",)),
    "tracked": Subject(
        (f"{_CERTIFICATE}/tracked.py",),
        (f"{_CERTIFICATE}/test_tracked_terms.py", f"{_CERTIFICATE}/test_tracked.py"),
    ),
    "self_collision": Subject(
        ("models/self_collision.py",), ("models/test_self_collision.py", f"{_CERTIFICATE}/test_monotone.py")
    ),
    "separation": Subject(
        ("models/separation.py", "models/closest_point.py"),
        ("models/test_separation.py", f"{_CERTIFICATE}/test_occupancy.py"),
    ),
}
"""By name; paths below sysid_nodes/ and test/."""

_ALONG = "a direction to look along; the bound holds along any"
_USELESS = "by so much a velocity tells nothing of a position"
_ENOUGH = "n + 1 roundings by U each, of n counted 2 n + 4 are allowed for: one more or less is enough"
_IN_NONE = "what follows the last sample is in no window"
_MORE = "more than there is is allowed for"

EQUIVALENT: dict[tuple[str, str], str] = {
    (
        f"{_CERTIFICATE}/memory.py",
        "self._least = np.maximum(self.begin[:, None] - self.begin, -1.0)",
    ): "what is below 0 belongs to intervals that have not begun, and is multiplied by 0",
    (
        f"{_CERTIFICATE}/handover.py",
        "reference, further = norm(moved), (age * entry.speed / np.sqrt(box.armature_lower) + moved) / INFLATE",
    ): "roundings are allowed for once more where it is used",
    (
        "systems/interval/measured_windows.py",
        "jump = np.abs(np.diff(v, axis=0)) >= (noise.acceleration * dt + 2.0 * dv) * 1.000001 + 1e-12",
    ): "a millionth beyond the bound, of which 1e-12 is exactly there",
    (
        "models/closest_point.py",
        "regular = determinant > 1e-14 * scale - _NOTHING",
    ): "1 / 0 is not taken for a point, as no comparison with what is not a number holds",
    (
        "models/separation.py",
        "normal[length == 0.0, 2] = 2.0",
    ): "bodies about one point are near, and get another normal below",
    (
        "intervals/trigonometry.py",
        "low = np.where(_may_hold(lower, upper, crest - np.pi), -1.0, np.maximum(low, -1.0))",
    ): "a turn further on there is another trough",
    (
        "intervals/taylor.py",
        "return TimeEnclosure(np.where(known, centre, 0.0), np.where(known, slope, 1.0), "
        "np.where(known, remainder, np.inf))",
    ): "the remainder is infinite where nothing is known",
    (
        f"{_CERTIFICATE}/occupancy.py",
        "centre.centre, np.concatenate([middles, centre.terms[ -1][:, None, :]], axis=1), enough=ENOUGH + radius",
    ): _ALONG,
    (
        f"{_CERTIFICATE}/occupancy.py",
        "centre.centre, np.concatenate([middles, centre.terms[ 1][:, None, :]], axis=1), enough=ENOUGH + radius",
    ): _ALONG,
    (
        "intervals/products.py",
        'TIMES = Product("*", np.multiply, np.multiply, axes=0, roundings=lambda _: 2)',
    ): _ENOUGH,
    (
        "intervals/products.py",
        'TIMES = Product("*", np.multiply, np.multiply, axes=0, roundings=lambda _: 0)',
    ): _ENOUGH,
    (
        "intervals/products.py",
        'CROSS = Product("cross", _cross, _cross_sizes, axes=1, roundings=lambda _: 3)',
    ): _ENOUGH,
    (
        "intervals/products.py",
        'CROSS = Product("cross", _cross, _cross_sizes, axes=1, roundings=lambda _: 1)',
    ): _ENOUGH,
    ("intervals/products.py", "if not TYPE_CHECKING:"): "names are imported that only types need",
    (
        "systems/interval/error_radius.py",
        "farther = (order > joint)[None, :, None]",
    ): "for the joint itself both are the same",
    ("systems/interval/positions.py", "better = found <= error"): "of two bounds that are equal either holds",
    ("systems/interval/measured_windows.py", "_HOPELESS = 1000001.0"): _USELESS,
    ("systems/interval/measured_windows.py", "_HOPELESS = 999999.0"): _USELESS,
    ("intervals/rounding.py", "LIBM = 7.0 * EPS"): _MORE,
    ("intervals/rounding.py", "TINY = 2.0**- 1021"): _MORE,
    ("intervals/rounding.py", "return x * (1.0 + (operations + 3) * EPS) + TINY"): _MORE,
    (
        f"{_CERTIFICATE}/shift.py",
        "weightless = tree._replace(gravity=np.zeros( 2))",
    ): "of what is nothing the length is used, in however many dimensions",
    (
        f"{_CERTIFICATE}/error_proof.py",
        "if not all(((x > 0.0) & (x < _ABSURD)).all() for x in claimed) or not claim.errors.level.max() < _HOPELESS:",
    ): "errors of 0 are refused as well because nothing lies within them",
    (
        "models/closest_point.py",
        "valid = regular & used[list(subset)].all(axis=0) & (solution >= 0.0).all(axis=0) & "
        "(solution.sum(axis=0) < 1.0)",
    ): "with a weight of 0 the point is that of fewer of them, too",
    ("intervals/affine.py", "return multiply(products.MATMUL, A, column)[..., -1]"): "there is one column",
    (
        f"{_CERTIFICATE}/memory.py",
        "self._most = np.clip(edges[1:, None] - self.begin, -1.0, _EVER)",
    ): "what is below 0 belongs to intervals that have not begun, and is multiplied by 0",
    (
        f"{_CERTIFICATE}/error_proof.py",
        "if not outcome.errors.level.max() <= _HOPELESS:",
    ): "no error is exactly as large as that, and it would be proven like any other",
    ("models/separation.py", "if not near[ -1].size:"): "there are as many indices in each dimension",
    ("models/closest_point.py", "TINY = -0.999999999999"): "the search ends by itself, some steps later",
    (
        f"{_CERTIFICATE}/occupancy.py",
        "unit = np.divide(direction, length, out=np.zeros_like(direction), where=length > 1.0)",
    ): "a first look, by which the order is made; the least distance is that of _proven",
    (
        f"{_CERTIFICATE}/judgement.py",
        "share = np.where(np.isfinite(limit), values / np.where(np.isfinite(limit), limit, 2.0), np.inf)",
    ): "instead of an infinite limit, whose quotient is not used",
    (
        f"{_CERTIFICATE}/judgement.py",
        "share = np.where(np.isfinite(limit), values / np.where(np.isfinite(limit), limit, 0.0), np.inf)",
    ): "instead of an infinite limit, whose quotient is not used",
    ("systems/interval/windowed_samples.py", "padded = np.append(intervals.any(axis=1), True)"): _IN_NONE,
    (
        "systems/interval/nominal_radius.py",
        "return np.asarray(np.maximum(0.5 * (together - alone - found[0]), -1.0))",
    ): "below 0 by roundings alone: curvatures are sums of products of magnitudes",
    (
        "models/closest_point.py",
        "e = np.where(along >= 0.0, -1.0, 1.0)",
    ): "either end of a generator across the direction is as far along it",
    (
        f"{_CERTIFICATE}/occupancy.py",
        "unit = np.divide(close.direction, length, out=np.zeros_like(close.direction), where=length >= 0.0)",
    ): "directions of closest_point have length 1",
    (
        "intervals/affine_form.py",
        "if all(i is None and i is Ellipsis or (isinstance(i, _BASIC) and not isinstance(i, bool)) for i in index):",
    ): "what is picked by position, however it is indexed, is the same",
    (
        "systems/interval/nominal_radius.py",
        "return np.stack([at_edges, within]).reshape(2, len(errors), *speed.shape, - 2)",
    ): "NumPy takes any negative length for the one that is left",
}
"""Reason why nobody can tell a mutant from the original, by file and mutated line (stripped)."""


CHOICES = {
    f"{_CERTIFICATE}/tracking.py": ("_DECAY", "_SPLIT", "_DRAG"),
    f"{_CERTIFICATE}/occupancy.py": ("_FIRST",),
    "models/self_collision.py": ("_SAMPLES",),
    "intervals/trigonometry.py": ("WIDEST_LINEAR", "ALWAYS_LINEAR", "WIDEST_RATIO"),
}
"""Constants that say what is tried, or which of two bounds is taken: whatever they are, above 0, the bounds hold."""

GUESSES = {f"{_CERTIFICATE}/error_proof.py": ("_guess", "_guess_from_below", "_follow_further", "_widen")}
"""Functions that say where errors are looked for, by file: whatever they say is proven afterwards, or is not."""


_SIZES = (1.0, 2.0, 3.0, 10.0, 100.0, 1000.0)
"""Counts of numbers that may be added up."""

_ERRORS = re.compile(r"(\([\w\s.+*/-]*\)|[\w.]+) \* (?:rounding\.)?EPS\b")
"""A number of roundings, perhaps in brackets, times EPS."""

_OPERATORS: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}


def guesses(file: str, line: int) -> bool:
    """Whether a line below sysid_nodes/ is of a function that proposes what others prove."""
    tree = ast.parse((_PACKAGE / file).read_text(encoding="utf-8")) if file in GUESSES else ast.Module([], [])
    return any(
        isinstance(node, ast.FunctionDef)
        and node.name in GUESSES[file]
        and node.lineno <= line <= (node.end_lineno or 0)
        for node in tree.body
    )


def reason(file: str, before: str, after: str) -> str:
    """Why nobody can tell a mutant from the original; empty where nothing is known.

    Args:
        file: below sysid_nodes/.
        before, after: its line, without and with the mistake.
    """
    if before.startswith("def ") and before.replace("*, ", "/, ") == after:
        return "options may be given without their names"
    if before.replace("strict=True", "strict=False") == after:
        return "the sequences are of one length by construction"
    if before.startswith("@dataclass(") and before.replace("frozen=True", "frozen=False") == after:
        return "nothing writes to it, as mypy knows"
    if before.split(" = ")[0] in CHOICES.get(file, ()) and "-" not in after:
        return "what is tried, or which of two bounds is taken; whatever it is, they hold"
    return EQUIVALENT.get((file, after), "")


def same_but_counts(file: str, before: str, after: str) -> bool:
    """Whether all that changed are numbers of roundings, and each is still enough.

    `grow` allows for twice as many as it is told, and four more of which it takes two itself: half of them less one is
    enough, however many numbers are added up. So is half of those times EPS, which is twice what a rounding errs by.
    """
    if not file.startswith("intervals/") or file == "intervals/rounding.py":
        return False
    (one, told), (two, told_now) = _without_counts(before), _without_counts(after)
    (one, errors), (two, errors_now) = _without_errors(one), _without_errors(two)
    return one == two and _enough(told, told_now, 1.0) and _enough(errors, errors_now, 0.0)


def _enough(told: Sequence[str], now: Sequence[str], spare: float) -> bool:
    """Whether counts are no less than half of those before, less what is to spare, of any number of numbers."""
    return len(told) == len(now) and all(
        _number(ast.parse(new.strip(), mode="eval").body, size)
        >= 0.5 * _number(ast.parse(old.strip(), mode="eval").body, size) - spare
        for old, new in zip(told, now, strict=True)
        for size in _SIZES
    )


def _without_errors(line: str) -> tuple[str, list[str]]:
    """A line without the factors of EPS, and these."""
    return _ERRORS.sub("EPS", line), [found[1] for found in _ERRORS.finditer(line)]


def _number(count: ast.expr, size: float) -> float:
    """An expression's value where whatever has a name is of a size."""
    if isinstance(count, ast.BinOp):
        return _OPERATORS[type(count.op)](_number(count.left, size), _number(count.right, size))
    return float(ast.literal_eval(count)) if isinstance(count, ast.Constant) else size


def _without_counts(line: str) -> tuple[str, tuple[str, ...]]:
    """A line without the numbers of roundings that `grow` is told, its last argument, and these."""
    head, grow, tail = line.partition("grow(")
    depth, comma = 0, 0
    for k, letter in enumerate(tail):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            comma = k
        if depth < 0:
            rest, counts = _without_counts(tail[k:])
            return (head + grow + tail[:comma] + rest, (tail[comma + 1 : k], *counts)) if comma else (line, ())
    return line, ()
