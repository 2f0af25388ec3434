# SPDX-License-Identifier: Apache-2.0
"""From the coordinates of the search to parameters with names and intervals, and whether the motion tells them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import parameters_to_com
from sysid_nodes.results.sampling import SamplingEstimate
from sysid_nodes.solvers.shooting import bounded_interval
from sysid_nodes.systems.sampling.config import VerdictConfig
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_STEP = 1e-5
_NUISANCE = "fitted so that the others are right; what it is in truth is not claimed"


@dataclass(frozen=True)
class Quantity:
    """A parameter as people know it.

    Attributes:
        name, unit, group: as of SamplingEstimate.
        value: from a vector (K,) of the unknowns.
        coordinate: the only one that the value depends on, monotonously: an interval is then that of the coordinate,
            taken through the curve between them.
        wanted: half-width of a 95 % interval that is good enough, from the value; None where it is not asked for.
        nuisance: whether it is there for the others' sake: gears and ground follow no simple law, and what fits best is
            no measurement of them.
        least: what it cannot be below.
    """

    name: str
    unit: str
    group: str
    value: Callable[[Array], float]
    wanted: Callable[[float], float] | None = None
    coordinate: str = ""
    nuisance: bool = False
    least: float = -np.inf


def quantities(unknowns: Unknowns, config: VerdictConfig) -> tuple[Quantity, ...]:
    """All parameters of a robot."""
    found: list[Quantity] = []
    for k, body in enumerate(unknowns.links):
        found += _inertia(unknowns, k, f"{body}." if len(unknowns.links) > 1 else "", config)

    for name in unknowns.index:
        if (quantity := _scalar(unknowns, name, config)) is not None:
            found.append(quantity)
    return tuple(found)


def _scalar(unknowns: Unknowns, name: str, config: VerdictConfig) -> Quantity | None:
    """The parameter that a single coordinate stands for; None for those of an inertia."""
    kind, _, group = name.partition(":")
    place = unknowns.index[name]

    def own(vector: Array) -> float:
        return float(vector[place])

    def strength(vector: Array) -> float:
        return float(unknowns.strength_guess / np.sqrt(max(own(vector), 1e-12)))

    def scale(nominal: float) -> Callable[[Array], float]:
        return lambda vector: nominal * float(np.exp(own(vector)))

    def relative(value: float) -> float:
        return config.relative * abs(value)

    ground = unknowns.ground
    known = {
        "saturation": Quantity(f"strength.{group}", "N m", "motors", strength, relative, name),
        "gain": Quantity(f"gain.{group}", "1", "motors", own, relative, name),
        "dry_friction": Quantity(name, "N m", "drives", own, nuisance=True),
        "holding_friction": Quantity(name, "N m", "drives", own, nuisance=True),
        "bristle_friction": Quantity(name, "N m", "drives", own, nuisance=True),
        "friction": Quantity(name, "1", "ground", scale(ground.friction), nuisance=True),
        "compliance": Quantity(name, "s", "ground", scale(ground.time_constant), nuisance=True),
        "pose_delay": Quantity(name, "s", "sensors", own),
    }
    if name.startswith(("gyro_bias", "alignment")):
        return Quantity(name, "rad/s" if name.startswith("gyro") else "rad", "sensors", own)
    return known.get(kind)


def jacobian(found: tuple[Quantity, ...], vector: Array) -> Array:
    """(Q, K) derivatives of the quantities."""
    moves = _STEP * np.eye(len(vector))
    columns = [[(q.value(vector + move) - q.value(vector - move)) / (2.0 * _STEP) for q in found] for move in moves]
    return np.array(columns).T


def estimates(
    found: tuple[Quantity, ...],
    unknowns: Unknowns,
    vector: Array,
    covariance: Array,
    freedom: Array,
    held: dict[str, str],
    *,
    point: bool = False,
) -> tuple[SamplingEstimate, ...]:
    """Estimates with 95 % intervals.

    Args:
        found: the quantities.
        vector, covariance, freedom: of the coordinates (K,), (K, K), (K,).
        held: coordinates that a bound holds, and the bound in words.
        point: whether values are given although nothing is known of their errors.
    """
    slopes = jacobian(found, vector)
    sigmas = np.sqrt(np.maximum(np.einsum("qk,kl,ql->q", slopes, covariance, slopes), 0.0))
    nominal = unknowns.column("guess")
    out = []
    for q, sigma, slope in zip(found, sigmas, slopes, strict=True):
        named = (q.name, q.unit, q.group, q.value(nominal))
        value, moved = q.value(vector), np.abs(slope) > 1e-9
        blamed = [held[name] for name in held if moved[unknowns.index[name]]]
        # The quantity's freedom: the least of those of the coordinates that make up its variance.
        shares = np.abs(slope) * np.sqrt(np.maximum(np.diag(covariance), 0.0))
        weighty = shares >= 0.3 * max(float(shares.max()), 1e-300)
        nu = float(freedom[weighty].min()) if weighty.any() else 1.0
        # A coordinate at its bound is free to be anything on the other side of it; nothing is said of such a quantity.
        if point:
            bound = blamed[0] if blamed else ""
            out.append(SamplingEstimate(*named, value, None, None, None, bound))
            continue
        if q.nuisance:
            out.append(SamplingEstimate(*named, None, None, None, None, "", _NUISANCE))
            continue
        if not np.isfinite(sigma):
            out.append(SamplingEstimate(*named, None, None, None, None, "", "nothing is known of its error"))
            continue
        if blamed:
            reason = f"held at a bound: {', '.join(dict.fromkeys(blamed))}"
            out.append(SamplingEstimate(*named, None, None, None, None, blamed[0], reason))
            continue
        low, high = _interval(q, unknowns, vector, float(sigma), covariance, nu)
        reason = ""
        if q.wanted is not None and not 0.5 * (high - low) <= q.wanted(value):
            reason = f"known to {0.5 * (high - low):.2g} {q.unit} only"
        estimate = None if reason else value
        out.append(SamplingEstimate(*named, estimate, float(sigma), low, high, "", reason))
    return tuple(out)


def _interval(
    q: Quantity, unknowns: Unknowns, vector: Array, sigma: float, covariance: Array, freedom: float
) -> tuple[float, float]:
    if not q.coordinate:
        return bounded_interval(q.value(vector), sigma, freedom, q.least, np.inf)
    k = unknowns.index[q.coordinate]
    item, own = unknowns.items[k], float(np.sqrt(covariance[k, k]))
    ends = []
    for end in bounded_interval(float(vector[k]), own, freedom, item.lower, item.upper):
        at = vector.copy()
        at[k] = end
        ends.append(q.value(at))
    return min(ends), max(ends)


_MOMENTS = (("Ixx", 0, 0), ("Iyy", 1, 1), ("Izz", 2, 2), ("Ixy", 0, 1), ("Ixz", 0, 2), ("Iyz", 1, 2))


def _inertia(unknowns: Unknowns, k: int, prefix: str, config: VerdictConfig) -> list[Quantity]:
    def mass(vector: Array) -> float:
        return float(unknowns.inertia(vector, k)[0])

    found = [Quantity(f"{prefix}mass", "kg", "inertia", mass, lambda v: config.relative * abs(v), least=0.0)]
    for i, axis in enumerate("xyz"):

        def centre(vector: Array, i: int = i) -> float:
            return float(parameters_to_com(unknowns.inertia(vector, k))[1][i])

        found.append(Quantity(f"{prefix}centre_{axis}", "m", "inertia", centre, lambda _: config.distance))
    largest = float(np.trace(parameters_to_com(unknowns.inertia(unknowns.column("guess"), k))[2])) / 2.0
    for name, i, j in _MOMENTS:

        def moment(vector: Array, i: int = i, j: int = j) -> float:
            return float(parameters_to_com(unknowns.inertia(vector, k))[2][i, j])

        wanted: Callable[[float], float] = lambda v: config.inertia * abs(v)  # noqa: E731
        if i != j:
            wanted = lambda _: config.inertia * largest  # noqa: E731
        least = 0.0 if i == j else -np.inf
        found.append(Quantity(f"{prefix}{name}", "kg m2", "inertia", moment, wanted, least=least))
    return found
