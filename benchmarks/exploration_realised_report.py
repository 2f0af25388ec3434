# SPDX-License-Identifier: Apache-2.0
"""Words and tables of `exploration_realised`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.records import Record
from benchmarks.report import Report
from sysid_nodes.systems.sampling import SamplingConfig

Array = npt.NDArray[np.float64]

NAMES = (
    "mass",
    "centre_x",
    "centre_y",
    "centre_z",
    "Ixx",
    "Iyy",
    "Izz",
    "Ixy",
    "Ixz",
    "Iyz",
    "strength.hip",
    "strength.thigh",
    "strength.calf",
)
_NEAR = 1.5  # factor within which promised standard deviations are to be found again


def in_units(found: Array, truth: Mapping[str, float]) -> Array:
    """Errors (..., Q) in units of the precision that `sampling.verdict` asks of each parameter.

    Strengths by what they take away from torques, as plans are made: the square of the guess over the strength.
    Products of inertia by half the trace, the most that one can be.
    """
    config = SamplingConfig()
    verdict, guess = config.verdict, config.unknowns.strength_guess
    own, half = np.array([truth[name] for name in NAMES]), 0.5 * (truth["Ixx"] + truth["Iyy"] + truth["Izz"])

    def wanted(name: str) -> float:
        if name.startswith("centre"):
            return verdict.distance
        if name.startswith("I"):
            return verdict.inertia * (truth[name] if name[1] == name[2] else half)
        return verdict.relative * truth[name]

    asked = np.array([wanted(name) for name in NAMES])
    curved = np.array([name.startswith("strength") for name in NAMES])
    taken = (guess / np.maximum(own + found, 1e-3)) ** 2 - (guess / own) ** 2
    return np.asarray(np.where(curved, taken / (2.0 * verdict.relative), found / asked))


def tell(report: Report, found: Mapping[str, Sequence[Record]], truth: Mapping[str, float]) -> None:
    column = {
        what: {name: np.array([row[what] for row in rows]) for name, rows in found.items()}
        for what in ("errors", "promised", "claimed")
    }
    first = np.array([row["first"] for row in next(iter(found.values()))])
    report.section("Root mean square of the errors")
    after = {name: _root(values) for name, values in column["errors"].items()}
    report.table(
        ("parameter", "first motion alone", *(f"and `{name}`" for name in found)),
        [
            (name, f"{_root(first)[k]:.3g}", *(f"{values[k]:.3g}" for values in after.values()))
            for k, name in enumerate(NAMES)
        ],
    )
    if "chance" in after:
        report.section("Squared errors, relative to those after chance")
        units = {name: _root(in_units(values, truth)) for name, values in column["errors"].items()}
        sums = {name: float((values**2).sum()) for name, values in units.items()}
        middle, hoped = (
            {name: float(np.median((in_units(v, truth) ** 2).sum(axis=1))) for name, v in column[what].items()}
            for what in ("errors", "promised")
        )
        ratios = {name: (values / units["chance"]) ** 2 for name, values in units.items() if name != "chance"}
        report.table(
            ("parameter", *(f"`{name}`" for name in ratios)),
            [(name, *(f"{ratio[k]:.2f}" for ratio in ratios.values())) for k, name in enumerate(NAMES)]
            + [("geometric mean", *(f"{np.exp(np.mean(np.log(ratio))):.2f}" for ratio in ratios.values()))]
            + [("sum, in units of the precision asked", *(f"{sums[name] / sums['chance']:.2f}" for name in ratios))]
            + [("the same, of the median robot", *(f"{middle[name] / middle['chance']:.2f}" for name in ratios))]
            + [("the same, as promised", *(f"{hoped[name] / hoped['chance']:.2f}" for name in ratios))],
        )
        report.text(
            "Asked for is 0.5. What is promised has no luck of single errors in it: of ten robots with right promises "
            "and one plan by chance each, nine tenths of the median robot's ratios lie within four times either way."
        )
    report.section("Realised errors over promised standard deviations, root mean square")
    off = {name: _root(column["errors"][name] / column["promised"][name]) for name in found}
    claims = {name: _root(column["errors"][name] / _known(column["claimed"][name])) for name in found}
    report.table(
        ("parameter", *(f"`{name}`" for name in found)),
        [(name, *(f"{values[k]:.2f}" for values in off.values())) for k, name in enumerate(NAMES)]
        + [("median", *(f"{np.median(values):.2f}" for values in off.values()))]
        + [("all", *(f"{np.sqrt(np.mean(values**2)):.2f}" for values in off.values()))],
    )
    told = ", ".join(f"`{name}` {np.median(values[np.isfinite(values)]):.2f}" for name, values in claims.items())
    report.text(
        "Asked for is between 0.67 and 1.5. Over the standard deviations that the identification states afterwards, "
        f"median of the parameters: {told}."
    )
    _tell_promises(report, found)
    _tell_intervals(report, found)
    report.text("Gaits: " + "; ".join(f"`{n}` {_gaits(rows)}" for n, rows in found.items()) + ".")


def _tell_promises(report: Report, found: Mapping[str, Sequence[Record]]) -> None:
    """How many errors are within a factor of what was promised, and how many standard deviations are found again so."""
    for name, rows in found.items():
        promised = np.array([row["promised"] for row in rows])
        off = np.abs(np.array([row["errors"] for row in rows])) / promised
        ratios = _known([row["claimed"] for row in rows]) / promised
        near = np.abs(np.log(ratios)) <= np.log(_NEAR)
        told, times = np.isfinite(ratios).sum(), f"{np.nanmin(ratios):.2f} to {np.nanmax(ratios):.2f} times it"
        report.text(
            f"`{name}`: {(off <= _NEAR).sum()} of {off.size} errors are within {_NEAR:g} standard deviations promised. "
            f"Of {told} that are stated afterwards {near.sum()} are within a factor of {_NEAR:g} of it, {times}."
        )


def _tell_intervals(report: Report, found: Mapping[str, Sequence[Record]]) -> None:
    """How often errors are within 1.96 of the standard deviations that each fit states."""
    fits = {"first motion alone": ("first", "now", next(iter(found.values())))}
    fits |= {f"and `{name}`": ("errors", "claimed", rows) for name, rows in found.items()}
    off = {
        title: np.abs(np.array([row[error] for row in rows]) / _known([row[sigma] for row in rows]))
        for title, (error, sigma, rows) in fits.items()
    }
    report.section("Errors within 1.96 of the standard deviations stated")
    report.table(
        ("parameter", *off),
        [
            (name, *(f"{(each[:, k] <= 1.96).sum()} of {np.isfinite(each[:, k]).sum()}" for each in off.values()))
            for k, name in enumerate(NAMES)
        ]
        + [("root mean square of all", *(f"{np.sqrt(np.nanmean(each**2)):.2f}" for each in off.values()))],
    )
    report.text("Intervals that are stated are Student's, wider where clips are few. What a bound holds states none.")


def _known(sigmas: npt.ArrayLike) -> Array:
    """Standard deviations (R, Q); not a number where none is stated."""
    values = np.array(sigmas)
    return np.asarray(np.where(values > 0.0, values, np.nan))


def _root(values: Array) -> Array:
    """Root mean square over the first axis."""
    return np.asarray(np.sqrt(np.mean(np.square(values), axis=0)))


def _gaits(rows: Sequence[Record]) -> str:
    names = [name for row in rows for name in row["gaits"]]
    return ", ".join(f"{names.count(name)} {name}" for name in dict.fromkeys(names))
