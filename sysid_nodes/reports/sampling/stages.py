# SPDX-License-Identifier: Apache-2.0
"""Two stages of an exploration: what was known before it, what was promised, and what it brought."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.inertia import parameters_to_com
from sysid_nodes.messages.sampling.plan import plan_fields
from sysid_nodes.results.exploration import ExplorationPlan, Posterior
from sysid_nodes.robots import Robot
from sysid_nodes.robots.kinds import joint_kinds
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.estimates import jacobian, quantities
from sysid_nodes.systems.sampling.unknowns import Unknowns

Array = npt.NDArray[np.float64]

_WIDE = 1.96


@dataclass(frozen=True)
class Known:
    """A parameter after a stage; sigma is not a number where a bound holds it."""

    name: str
    unit: str
    value: float
    sigma: float

    def holds(self, truth: float) -> bool:
        """Whether two sigmas hold the truth, or nothing is claimed."""
        return not np.isfinite(self.sigma) or abs(self.value - truth) <= _WIDE * self.sigma


def promised_sigma(plan: ExplorationPlan, known: Known) -> float:
    """Standard deviation that a plan promises of a parameter; not a number where it promises none.

    Of what a bound holds and the plan will not tell either, it is but the slope of a value far from the truth.
    """
    sigma = {row.name: row.after for row in plan.spreads}.get(known.name, np.nan)
    return sigma if np.isfinite(known.sigma) or sigma < abs(known.value) else float("nan")


def known_after(posterior: Posterior, robot: Robot, config: SamplingConfig) -> list[Known]:
    """Inertia and motors in people's terms."""
    unknowns = Unknowns(robot, config)
    asked = [q for q in quantities(unknowns, config.verdict) if q.group in ("inertia", "motors")]
    slopes = jacobian(tuple(asked), posterior.values)
    variance = np.einsum("qk,kl,ql->q", slopes, posterior.covariance, slopes)
    held = (np.diag(posterior.covariance) <= 0.0) & (np.abs(slopes) > 1e-9)
    sigma = np.where(held.any(axis=1), np.nan, np.sqrt(np.maximum(variance, 0.0)))
    return [Known(q.name, q.unit, q.value(posterior.values), float(s)) for q, s in zip(asked, sigma, strict=True)]


def true_values(theta: Sequence[float], strength: Sequence[float], robot: Robot) -> dict[str, float]:
    """True values by the names that results have for them, from (10,) parameters and a strength a kind of joint."""
    mass, centre, inertia = parameters_to_com(np.asarray(theta, dtype=np.float64))
    found = {"mass": float(mass)} | {f"centre_{axis}": float(x) for axis, x in zip("xyz", centre, strict=True)}
    for name, i, j in (("Ixx", 0, 0), ("Iyy", 1, 1), ("Izz", 2, 2), ("Ixy", 0, 1), ("Ixz", 0, 2), ("Iyz", 1, 2)):
        found[name] = float(inertia[i, j])
    return found | {f"strength.{kind}": float(k) for kind, k in zip(joint_kinds(robot)[0], strength, strict=True)}


def stages_document(
    plan: ExplorationPlan,
    before: list[Known],
    after: list[Known],
    truth: Mapping[str, float],
    walked: Array,
    *,
    same: bool,
) -> dict[str, Any]:
    """Part of result.json.

    Args:
        plan: that was followed.
        before, after: what was known.
        truth: by name.
        walked: (P, 3) time since the plan's start [s] and place of the base [m], relative to that at the start.
        same: whether a replay of the recording gives the live estimate's numbers.
    """
    return {
        "plan": plan_fields(plan),
        "replay_equals_live": same,
        "walked": walked.tolist(),
        "parameters": [
            {
                "name": first.name,
                "unit": first.unit,
                "truth": truth.get(first.name),
                "before": _number(first.value),
                "sigma_before": _number(first.sigma),
                "sigma_promised": _number(promised_sigma(plan, first)),
                "after": _number(second.value),
                "sigma_after": _number(second.sigma),
            }
            for first, second in zip(before, after, strict=True)
        ],
    }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
