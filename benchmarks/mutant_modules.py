# SPDX-License-Identifier: Apache-2.0
"""What is mutated and which tests have to notice, and the mutants that are no mistakes."""

from __future__ import annotations

from typing import NamedTuple


class Subject(NamedTuple):
    """Files of the package, and test files that are run for each of their mutants, the likeliest to fail first."""

    files: tuple[str, ...]
    tests: tuple[str, ...]


_CERTIFICATE = "systems/certified/certificate"
_PROOF = tuple(
    f"{_CERTIFICATE}/test_{name}.py"
    for name in ("scalar_terms", "single_body_terms", "tracking", "disturbance", "certifier", "monotone")
)


def _proof(*names: str, first: str = "") -> Subject:
    tests = (f"{_CERTIFICATE}/test_{first}.py", *_PROOF) if first else _PROOF
    return Subject(tuple(f"{_CERTIFICATE}/{name}.py" for name in names), tuple(dict.fromkeys(tests)))


_INTERVALS = ("interval", "affine", "affine_shape", "affine_trigonometry", "polynomial_enclosure")

SUBJECTS = {
    "intervals": Subject(
        tuple(
            f"intervals/{name}.py"
            for name in (
                "affine",
                "affine_form",
                "interval",
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
        tuple(f"systems/interval/{name}.py" for name in ("error_radius", "reach", "positions")),
        tuple(
            f"systems/interval/test_{name}.py" for name in ("error_radius_slopes", "reach", "positions", "row_builder")
        ),
    ),
    "rows": Subject(
        tuple(f"systems/interval/{name}.py" for name in ("row_builder", "momentum_rows")),
        tuple(f"systems/interval/test_{name}.py" for name in ("row_builder", "error_radius_slopes", "pipeline")),
    ),
    "tracking": _proof("tracking", "closed_loop", "error_proof", first="tracking"),
    "disturbance": _proof("disturbance", "motion", first="disturbance"),
    "bodies": Subject(
        tuple(f"{_CERTIFICATE}/{name}.py" for name in ("bodies", "recursion")),
        (f"{_CERTIFICATE}/test_bodies.py", *_PROOF),
    ),
    "shift": _proof("shift", first="shift"),
    "handover": _proof("handover", first="handover"),
    "delayed": Subject(
        (f"{_CERTIFICATE}/delayed.py",),
        tuple(f"{_CERTIFICATE}/test_{name}.py" for name in ("delayed", "memory", "delayed_certificates")),
    ),
    "memory": Subject(
        (f"{_CERTIFICATE}/memory.py",), tuple(f"{_CERTIFICATE}/test_{name}.py" for name in ("memory", "delayed"))
    ),
    "judgement": _proof("judgement", "occupancy", first="certifier"),
    "own_stop": _proof("own_stop", first="own_stop"),
    "self_collision": Subject(
        ("models/self_collision.py",), ("models/test_self_collision.py", f"{_CERTIFICATE}/test_monotone.py")
    ),
    "separation": Subject(
        ("models/separation.py", "models/closest_point.py"),
        ("models/test_separation.py", f"{_CERTIFICATE}/test_occupancy.py"),
    ),
}
"""By name; paths below sysid_nodes/ and test/."""

EQUIVALENT: dict[tuple[str, str], str] = {
    (
        f"{_CERTIFICATE}/memory.py",
        "self._least = np.maximum(self.begin[:, None] - self.begin, -1.0)",
    ): "what is below 0 belongs to intervals that have not begun, and is multiplied by 0",
    (
        "intervals/taylor.py",
        "errors = rounding.grow((2 * n + 3) * rounding.EPS * sizes + underflow, 2 * n + 8)",
    ): "there are fewer than 2 n + 4 roundings, as the docstring counts them",
    (
        f"{_CERTIFICATE}/handover.py",
        "reference, further = norm(moved), (age * entry.speed / np.sqrt(box.armature_lower) + moved) / INFLATE",
    ): "roundings are allowed for once more where it is used",
    (
        "models/self_collision.py",
        "_SAMPLES = 501",
    ): "random postures behind a warning; nothing is proven by their number",
}
"""Reason why nobody can tell a mutant from the original, by file and mutated line (stripped)."""
