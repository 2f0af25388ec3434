# SPDX-License-Identifier: Apache-2.0
"""From an assumption by name to the options behind it, and a configuration in which it is relaxed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sysid_nodes.data.config import from_flat, options, to_flat
from sysid_nodes.results.identification import Contradiction, times_text
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

_ENOUGH = 1.02
"""Factor on the smallest relaxation: that explains the rows that were kept, and there were more."""

_GROWTH = 1.5
"""By how much more an assumption grows each time the data still contradict: what later data need is not known, and so
no number of small steps runs out before."""

MOST_RELAXED = 20
"""Times that assumptions are relaxed; the last one grows at least by 1 + .02 * 1.5^19 = 45."""

_KEYS = {
    "relative torque noise": ("noise.torque_relative",),
    "absolute torque noise": ("noise.torque_absolute",),
    "torque between samples": ("noise.torque_rate", "noise.torque_curvature"),
    "position error": ("noise.position_error",),
    "velocity error": ("noise.velocity_error",),
    "acceleration between samples": ("noise.acceleration", "noise.jerk"),
    "sign of friction at standstill": ("known_robot.friction_relative",),
    "link inertia": ("known_robot.inertia_relative",),
    "Coulomb friction": ("known_robot.friction_relative",),
    "viscous friction": ("known_robot.friction_relative",),
    "armature": ("known_robot.armature_relative",),
    "torque offset": ("known_robot.offset_absolute",),
    "torque gain": ("known_robot.gain_relative",),
    "prior of the body": ("prior.lower", "prior.upper"),
}
"""Options behind the assumptions of `relaxations`."""

_MAXIMA = {item.name: item.maximum for item in options(IntervalIdentifierConfig)}


def option_names(assumption: str, config: IntervalIdentifierConfig) -> tuple[str, ...]:
    """Options that an assumption rests on; none where a calibration has taken their place."""
    names = _KEYS.get(assumption, ())
    if config.calibration and names == ("noise.torque_absolute",):
        return ("noise.torque_factor",)
    if config.calibration and any(name.startswith("known_robot.") for name in names):
        return ()
    return names


def calibrated_assumptions(config: IntervalIdentifierConfig, assumptions: Collection[str]) -> frozenset[str]:
    """Those of some assumptions that rest on a calibration."""
    names = {assumption: _KEYS.get(assumption, ()) for assumption in assumptions}
    return frozenset(name for name, keys in names.items() if keys != option_names(name, config))


def unstated_assumptions(
    config: IntervalIdentifierConfig, stated: Collection[str], assumptions: Collection[str]
) -> frozenset[str]:
    """Those of some assumptions that rest on options nobody stated."""
    names = {assumption: option_names(assumption, config) for assumption in assumptions}
    return frozenset(name for name, keys in names.items() if keys and not set(keys) & set(stated))


@dataclass(frozen=True)
class Relaxation:
    """Attributes: assumption, which; keys, its options; factor, by which its uncertainty grows; config, with that."""

    assumption: str
    keys: tuple[str, ...]
    factor: float
    config: IntervalIdentifierConfig

    @property
    def sentence(self) -> str:
        """In words."""
        return f"{self.assumption} {times_text(self.factor)} times as large ({', '.join(self.keys)})"


def relax(config: IntervalIdentifierConfig, contradiction: Contradiction, *, before: int = 0) -> Relaxation | None:
    """The mildest relaxation that an option can make; None where there is none.

    Args:
        config: that the data contradict.
        contradiction: with the smallest factor of each assumption alone, as far as the data were understood.
        before: times that assumptions were relaxed for these data, and it was not enough.
    """
    flat = to_flat(config)
    for assumption, least in sorted(contradiction.factors.items(), key=lambda entry: entry[1]):
        keys = option_names(assumption, config)
        if not keys or not np.isfinite(least):
            continue
        factor = 1.0 + _GROWTH**before * (_ENOUGH * least - 1.0)
        factor = min(factor, *(_room(key, flat[key]) for key in keys))
        if factor < least:
            continue
        changed = _wider_prior(flat, factor) if keys[0].startswith("prior.") else {
            key: _scale(key, flat[key], factor) for key in keys
        }  # fmt: skip
        keys = tuple(key for key in keys if changed[key] != flat[key])  # a bound of zero does not grow
        if not keys:
            continue
        return Relaxation(assumption, keys, factor, from_flat(IntervalIdentifierConfig, {**flat, **changed}))
    return None


def growth(steps: Sequence[Relaxation]) -> tuple[tuple[str, tuple[str, ...], float], ...]:
    """Each relaxed assumption, its options, and the factor by which these grew in all: for other assumptions, too."""
    keys = {step.assumption: step.keys for step in steps}
    return tuple(
        (name, own, float(np.prod([step.factor for step in steps if set(step.keys) & set(own)])))
        for name, own in keys.items()
    )


def _room(key: str, value: Any) -> float:
    """Factor by which an option can grow."""
    most, largest = _MAXIMA[key], float(np.max(value))
    return np.inf if most is None or largest <= 0.0 else most / largest


def _scale(key: str, value: Any, factor: float) -> Any:
    """The option's value, or all of them, times a factor; what is to reach its maximum is not rounded beyond."""
    if isinstance(value, tuple):
        return tuple(_scale(key, x, factor) for x in value)
    most = _MAXIMA[key]
    return factor * value if most is None else min(factor * value, most)


def _wider_prior(flat: dict[str, Any], factor: float) -> dict[str, Any]:
    """The prior box grown about its centre; no mass below zero."""
    lower, upper = np.array(flat["prior.lower"]), np.array(flat["prior.upper"])
    centre, half = 0.5 * (lower + upper), 0.5 * factor * (upper - lower)
    lower, upper = centre - half, centre + half
    lower[0] = max(lower[0], 0.0)
    return {"prior.lower": lower.tolist(), "prior.upper": upper.tolist()}
