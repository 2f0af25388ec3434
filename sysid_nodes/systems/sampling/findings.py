# SPDX-License-Identifier: Apache-2.0
"""Words on a fit beside its numbers."""

from __future__ import annotations

import numpy as np

from sysid_nodes.systems.sampling.estimates import Quantity, jacobian
from sysid_nodes.systems.sampling.gauss_newton import Fit
from sysid_nodes.systems.sampling.log import MotionLog
from sysid_nodes.systems.sampling.unknowns import Unknowns

_BENDS = 0.02  # dry friction that bends, from which on its law matters [N m]
_MUCH = 0.5  # of a standard deviation


def told(log: MotionLog, fit: Fit, held: dict[str, str], unknowns: Unknowns) -> tuple[str, ...]:
    """Lines for the user of a fit; `held` are words for the unknowns that a bound holds, by their names."""
    found = list(log.faults)
    hole = 1.0 - float(log.usable.mean())
    if hole > 0.02:
        stands = "the robot stands or lies there"
        why = f"a stream is silent, or {stands}" if log.faults else stands
        found.append(f"{100.0 * hole:.0f} % of the log are not used: {why}")
    if not fit.converged:
        found.append("the search ended at its limit of iterations, not by itself")
    found += [f"at a bound: {words}" for words in dict.fromkeys(held.values())]
    place = unknowns.index.get("bristle_friction")
    if place is not None and fit.vector[place] > _BENDS and np.isfinite(fit.covariance).all():
        law = f"gears bend before they slide ({fit.vector[place]:.2f} N m), and intervals are for Dahl's law of that"
        found.append(f"{law}: simulated gears of LuGre's had strengths up to 3.4 standard deviations off")
    return tuple(found)


def rough_words(found: tuple[Quantity, ...], fit: Fit) -> tuple[str, ...]:
    """A line on the parameters whose intervals are much of what landings do to the correction for steps' size."""
    slopes = jacobian(found, fit.vector)
    variances, bent = np.einsum("qk,kl,ql->q", slopes, fit.covariance, slopes), slopes @ fit.bent
    names = [q.name for q, rough in zip(found, bent**2 > _MUCH**2 * variances, strict=True) if rough and q.wanted]
    if not names:
        return ()
    return (
        "the correction for the size of simulated steps is unsure by more than half a standard deviation, "
        f"as where a robot hardly ever stands: {', '.join(names)}",
    )


def bound_words(name: str, fit: Fit, k: int) -> str:
    """Which unknown a bound holds, and which one."""
    side = "lower" if fit.lower[k] else "upper"
    words = {"alpha": "mass", "t1": "centre x", "t2": "centre y", "t3": "centre z"}
    kind, _, group = name.partition(":")
    if kind == "saturation":  # the less, the stronger
        side, kind = ("upper" if side == "lower" else "lower"), f"strength of {group}"
    return f"{words.get(kind, kind)} ({side})"
