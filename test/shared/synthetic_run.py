# SPDX-License-Identifier: Apache-2.0
"""A made-up run with the shape of a real one, for tests of files and reports."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sysid_nodes.data.config import to_flat
from sysid_nodes.results import Contradiction, Excitation, IdentificationResult, Status
from sysid_nodes.results.identification import Estimate
from sysid_nodes.sessions.interval.run import IntervalRun, TorqueSeries
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

TRUTH = np.array([2.805, 0.031, -0.012, -0.32, 0.061, 0.0012, 0.064, -0.0042, 0.0017, 0.0113])

_LOWER = np.array([1.2, -0.4, -0.4, -1.0, -0.2, -0.2, -0.2, -0.2, -0.2, -0.2])
_UPPER = np.array([5.2, 0.4, 0.4, -0.1, 0.2, 0.2, 0.2, 0.2, 0.2, 0.2])

ASSUMPTIONS = (
    "Every torque reading is within 2.5 % of the torque that acts on the joint.",
    "Every inertial parameter of every other link is within 5 % of its nominal value.",
    "Positions are exact to half an encoder step, velocities to 0.0001 rad/s.",
    "The body is rigid, and nothing but gravity and the robot acts on it.",
)


def results(status: Status = Status.PROVEN, steps: int = 60) -> tuple[IdentificationResult, ...]:
    """A history whose intervals shrink around the truth."""
    rng = np.random.default_rng(7)
    lower, upper = _LOWER.copy(), _UPPER.copy()
    history = []
    for k in range(steps):
        width = 0.9 * np.exp(-0.08 * k) + 0.02 * rng.uniform(0.2, 1.0, 10)
        lower = np.maximum(lower, TRUTH - width * (TRUTH - _LOWER))
        upper = np.minimum(upper, TRUTH + width * (_UPPER - TRUTH))
        excitation = Excitation(
            condition_number=np.inf if k < 5 else 3e3 * np.exp(-0.05 * k) + 40.0,
            singular_values=np.geomspace(60.0, 0.4, 10) * (k + 1) / steps,
            blind=("Izz", "Ixx + Iyy") if k < 20 else (),
        )
        history.append(
            IdentificationResult(
                status=Status.NOT_EXCITED if k < 20 else Status.PROVEN,
                t=0.1 * (k + 1),
                nominal=0.5 * (lower + upper) + 0.1 * (upper - lower) * np.sin(0.3 * k),
                lower=lower.copy(),
                upper=upper.copy(),
                excitation=excitation,
                window=k,
                samples_used=100 * (k + 1),
                samples_rejected={"duplicate_stamp": 3, "not_finite": 1},
                solve_time=0.004,
                tightened=True,
                costs=costs(),
            )
        )
    if status is Status.INCONSISTENT:
        nothing = np.full(10, np.nan)
        clash = Contradiction(
            windows=(steps - 9, steps - 1),
            times=np.array([[5.1, 5.2], [5.9, 6.0]]),
            assumption="torque_relative",
            factors={"torque_relative": 1.84, "inertia_relative": 3.1, "velocity_error": np.inf},
        )
        history[-1] = replace(
            history[-1], status=status, nominal=nothing, lower=nothing, upper=nothing, contradiction=clash
        )
    else:
        blind = ("Izz", "Ixx + Iyy") if status is Status.NOT_EXCITED else ()
        excitation = replace(history[-1].excitation, blind=blind)
        likely = None if status is Status.ESTIMATED else estimate(history[-1])
        history[-1] = replace(history[-1], status=status, excitation=excitation, estimate=likely)
    return tuple(history)


def estimate(result: IdentificationResult) -> Estimate:
    """A confidence interval of a quarter of the proven one's width about the nominal, and a UR10e's friction."""
    half = 0.125 * (result.upper - result.lower)
    joints = np.linspace(1.0, 2.0, 7)
    return Estimate(
        np.maximum(result.nominal - half, result.lower), np.minimum(result.nominal + half, result.upper),
        10.0 * joints, 5.0 * joints, 0.1 * joints, 0.03 * joints, 0.2 * joints,
    )  # fmt: skip


def costs() -> dict[str, np.ndarray]:
    """Share of each assumption in the ten widths, in the parameters' units."""
    rng = np.random.default_rng(3)
    names = ("torque_relative", "torque_absolute", "inertia_relative", "friction_relative", "armature_relative",
             "velocity_error", "position_error", "quadrature", "excitation")  # fmt: skip
    shares = rng.dirichlet(np.array([5.0, 1.0, 6.0, 3.0, 1.0, 1.0, 0.3, 0.8, 2.0]), size=10).T
    return dict(zip(names, shares * 0.05 * (_UPPER - _LOWER), strict=True))


def torques(samples: int = 2500, joints: int = 7) -> TorqueSeries:
    rng = np.random.default_rng(11)
    t = np.linspace(0.0, 6.0, samples)
    phase = np.arange(joints)
    predicted = np.array([4.0, 30.0, 6.0, 18.0, 2.0, 3.0, 0.6])[:joints] * np.sin(1.7 * t[:, None] + phase)
    predicted += 0.3 * np.sign(np.cos(1.7 * t[:, None] + phase))
    measured = predicted * (1.0 + 0.02 * np.sin(0.4 * t[:, None])) + 0.05 * rng.standard_normal(predicted.shape)
    radius = 0.025 * np.abs(measured) + 0.1
    return TorqueSeries(tuple(f"joint_{k + 1}" for k in range(joints)), t, measured, predicted, radius)


def run(status: Status = Status.PROVEN, *, truth: bool = True, steps: int = 60) -> IntervalRun:
    config = to_flat(IntervalIdentifierConfig())
    return IntervalRun(
        robot="kinova_gen3",
        method="sensitivity" if status is Status.ESTIMATED else "set_membership",
        body="bracelet_link",
        frame="joint_7",
        history=results(status, steps),
        assumptions=ASSUMPTIONS,
        config=config,
        source="bags/dumbbell",
        torques=torques(),
        truth=TRUTH if truth else None,
        relaxed=(("relative torque noise", ("noise.torque_relative",), 1.3),) if status is Status.PROVEN else (),
    )
