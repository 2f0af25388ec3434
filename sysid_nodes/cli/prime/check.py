# SPDX-License-Identifier: Apache-2.0
"""sysid check of a legged robot's recording: its streams, what is off of robot and ground, and what it cannot tell.

The whole log's estimate with everything unknown that the configuration leaves unknown: a constant far from its prior, a
stream whose residuals its noise does not explain, and velocities that are not the rate of positions are to be mended.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator

import numpy as np

from sysid_nodes.cli.conclusion import CONTRADICTION
from sysid_nodes.cli.prime.configuration import configuration, topics
from sysid_nodes.cli.prime.replay import check_joints, open_log
from sysid_nodes.cli.progress import track
from sysid_nodes.results.prime import PrimeEstimate
from sysid_nodes.sessions.prime.batch import Gatherer, StreamRecord, solve_batch
from sysid_nodes.sessions.prime.session import PrimeSession, prime_robot
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.systems.prime import build_model
from sysid_nodes.systems.prime.parameters import Parameters

_LONGEST = 30.0  # looked at, from the first reading [s]
_FAR = 3.0  # prior standard deviations beyond which a constant is to be mended
_SLOPE = 0.2  # by which a velocity may differ from its position's rate
_MOVES = 0.1  # root mean square of a rate that tells its velocity's sign and unit [rad/s]


def run(args: argparse.Namespace) -> int:
    """Looks it over and returns the exit status."""
    config = configuration(args)
    robot = prime_robot(config)
    log = open_log(args.bag, config, topics(args))
    check_joints(log, robot, str(args.bag))
    gathered, record = Gatherer(), StreamRecord.empty()
    session = PrimeSession(robot, config, lambda: gathered, clock=lambda: 0.0)
    stamps: dict[str, list[float]] = {}
    first = None
    for readings in track(log, f"read {args.bag.name}"):
        first = readings.stamp if first is None else first
        if readings.stamp > first + _LONGEST:
            break
        session.take(readings)
        record.look(session)
        for name, value in readings.values.items():
            if len(value):
                stamps.setdefault(name, []).append(readings.stamp)
    steps, _ = gathered.longest_stretch()
    update, left = solve_batch(session, gathered, record)
    estimate = update.estimate
    parameters = build_model(robot, config.prime).parameters
    findings = [
        *(f"no readings on '{topic}'" for topic in log.missing),
        *(finding.message for finding in update.judgement.findings),
        *_velocities(robot.joint_names, steps),
        *_constants(estimate, parameters),
    ]
    span = float(estimate.t[-1] - estimate.t[0])
    lines = [f"{args.bag}: {len(log)} messages; looked at {span:.1f} s" + (f", {left} steps left out" if left else "")]
    lines += [*_streams(stamps, session, estimate), *_mass_lines(estimate)]
    lines += [f"to mend ({len(findings)}):", *(f"  {one}" for one in findings)] if findings else ["nothing to mend"]
    sys.stdout.write("\n".join(lines) + "\n")
    return CONTRADICTION if findings else 0


def _streams(stamps: dict[str, list[float]], session: PrimeSession, estimate: PrimeEstimate) -> Iterator[str]:
    """A line for each stream: rate, largest gap, residuals in units of the stated noise, readings not taken."""
    yield f"{'stream':<18} {'rate [Hz]':>9} {'gap [ms]':>8} {'residuals':>9}  not taken"
    for name, rejected in session.rejected.items():
        steps = np.diff(np.unique(stamps.get(name, [])))
        rate, gap = (1.0 / np.median(steps), 1e3 * steps.max()) if len(steps) else (0.0, np.nan)
        fit = f"{estimate.fit[name].rms:.2f}" if name in estimate.fit else "-"
        lost = ", ".join(f"{count} {reason}" for reason, count in Counter(rejected).items()) or "-"
        yield f"{name:<18} {rate:>9.0f} {gap:>8.1f} {fit:>9}  {lost}"


def _mass_lines(estimate: PrimeEstimate) -> Iterator[str]:
    """Mass of each body, and the parameters that the motion does not tell."""
    for body in estimate.bodies:
        mass = (
            f"{body.mass:.2f} +- {2.0 * body.mass_sigma:.2g} kg (two sigma)"
            if body.observed[0]
            else "mass not observed"
        )
        blind = ", ".join(body.unobserved)
        yield f"{body.link}: {mass}" + (f"; this motion does not tell {blind}" if blind else "")


def _velocities(joints: tuple[str, ...], steps: AlignedSteps) -> Iterator[str]:
    """Joints whose velocity is not the rate of their position: another sign, another unit."""
    position, velocity = (steps.samples.get(f"joint_{name}") for name in ("position", "velocity"))
    if position is None or velocity is None or not len(position) or not len(velocity):
        return
    both, at, own = np.intersect1d(position.steps, velocity.steps, return_indices=True)
    inner = np.flatnonzero((np.diff(both[:-1]) == 1) & (np.diff(both[1:]) == 1)) + 1
    span = steps.times[both[inner + 1]] - steps.times[both[inner - 1]]
    rate = (position.values[at[inner + 1]] - position.values[at[inner - 1]]) / span[:, None]
    speed = velocity.values[own[inner]]
    for j, name in enumerate(joints):
        square = float(np.sum(rate[:, j] ** 2))
        slope = float(rate[:, j] @ speed[:, j]) / square if square else 1.0
        if square > _MOVES**2 * len(rate) and abs(slope - 1.0) > _SLOPE:
            yield f"the velocity of '{name}' is {slope:.3g} times the rate of its position: sign or unit"


def _constants(estimate: PrimeEstimate, known: Parameters) -> Iterator[str]:
    """Constants of sensors, feet and ground that are far from what was known of them."""
    spread = np.sqrt(np.diag(estimate.parameter_covariance))
    bodies = 10 * len(estimate.bodies)
    off = estimate.parameters - known.mean
    told = zip(estimate.parameter_names, estimate.parameter_units, estimate.parameters, off, spread, strict=True)
    for (name, unit, value, away, left), prior in list(zip(told, known.sigma, strict=True))[bodies:]:
        if abs(away) > _FAR * prior:
            size = f"{value:+.3g} +- {2.0 * left:.2g} {unit} (two sigma)"
            yield f"{name} is {size}, where {prior:.2g} was expected at most"
