# SPDX-License-Identifier: Apache-2.0
"""A trial of the Bayesian paper's tables: one of nine methods on one hidden robot (bayesian_tables.py)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.bayesian_robots import BenchRobot, bench_robot
from benchmarks.bayesian_world import RATE, Truth, bench_log, readings, simulate, true_mechanism
from benchmarks.limited import within
from benchmarks.peers import fddp, fddp_constants, figaroh_fit, mujoco_constants
from benchmarks.peers.mujoco_sysid import AVAILABLE
from benchmarks.peers.smoothed_regression import (
    SmoothMotion,
    closed_positions,
    energy,
    inverse_dynamics,
    smooth,
)
from benchmarks.records import Record
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.models.stribeck import friction
from sysid_nodes.results.bayesian import BayesianResult
from sysid_nodes.systems.bayesian import identify
from sysid_nodes.systems.bayesian.config import PowerPriorConfig
from sysid_nodes.systems.bayesian.initial_motion import initial_positions
from sysid_nodes.systems.bayesian.mechanism import Mechanism

Array = npt.NDArray[np.float64]

NOISE = (1e-4, 3e-4, 1e-3)
"""Of positions [rad, m] at 500 Hz; of torques and power ten times that, of their root mean squares."""
MIDDLE = NOISE[1]
WINDOWS = (0.03, 0.05, 0.1, 0.2, 0.3)
"""Of the peers' local cubics [s]."""
PEER_STEP = 0.01
OURS, COMMANDED, METER = "ours", "with commanded energy", "with a power meter"
METER_ALONE = "with a power meter and no torques"
ERRORS = ("friction", "rigid-body torque", "coordinates")
_STATED = 0.05  # torque noise that the identification begins with, of the torques' root mean squares
_THIN = 10  # samples between those at which rigid-body torques are compared
_TOOLBOX_WINDOW = {1e-4: 0.03, 3e-4: 0.05, 1e-3: 0.1}  # of speeds at which the toolbox's pieces begin [s]
_FDDP_ITERATIONS = 20
_TOLD = 20  # draws
_KNOWN = 1e-9  # sigma of losses of which the commanded energy has none


def rigid_rows(mechanism: Mechanism, truth: Truth) -> Array:
    """(K, f, 11 n) derivative of rigid-body torques along a motion by bodies' inertial parameters and rotors, where
    loops leave f directions."""
    some = slice(None, None, _THIN)
    rotors = np.eye(mechanism.chain.n) * truth.a[some, None]
    links = standard_regressor(mechanism.chain, truth.q[some], truth.v[some], truth.a[some])
    rows = np.concatenate([links, rotors], axis=2)
    if count := mechanism.closures.count:
        rows = np.linalg.svd(mechanism.closures.linearise(truth.q[some])[1])[2][:, count:] @ rows
    return rows


def errors(mechanism: Mechanism, truth: Truth, x: Array) -> list[float]:
    """Relative errors of friction over the speeds of the motion, mean over joints, and of rigid-body torques along it,
    rotors included; root mean square error of the bodies' log-Cholesky coordinates in prior sigmas.
    """
    own, rows = mechanism.parameters, rigid_rows(mechanism, truth)
    found, there = (rows @ np.concatenate([own.inertia(c).ravel(), own.constants(c, "armature")]) for c in (x, truth.x))
    wrong = found - there
    speeds = np.linspace(-1.0, 1.0, 80)[:, None] * np.quantile(np.abs(truth.v), 0.95, axis=0)
    curve, true = (friction(own.friction(value), speeds, own.viscous_power)[:, own.motors] for value in (x, truth.x))
    size = np.linalg.norm(true, axis=0)
    rubs = size > 0.0
    bodies = own.free[own.free < 10 * own.n]
    return [
        float(np.mean(np.linalg.norm(curve - true, axis=0)[rubs] / size[rubs])) if rubs.any() else float("nan"),
        float(np.linalg.norm(wrong) / np.linalg.norm(there)),
        float(np.sqrt(np.mean(((x - truth.x)[bodies] / own.sigma[bodies]) ** 2))),
    ]


def trial(robot: str, seed: int, duration: float, noise: float, method: str, limit: float = 0.0) -> Record:
    """Errors of a method on one hidden robot, at one noise; one that cannot, within a limit of CPU [s], says why."""
    own, truth = bench_robot(robot), _truth(robot, seed, duration)
    mechanism = true_mechanism(own)
    found: Record = {"gap": truth.gap, "lifted": truth.lifted}
    found["prior"] = errors(mechanism, truth, mechanism.parameters.mean)
    found["expected"] = errors(mechanism, truth, expected_constants(mechanism))
    work = partial(_found, METHODS[method], own, mechanism, truth, noise, seed)
    ended = within(limit, work) if limit else work()
    return found | (_nothing(f"over {limit:g} s of CPU") if ended is None else ended)


def _found(method: Callable[..., Record], *arguments: Any) -> Record:
    began = time.process_time()
    try:
        found = method(*arguments)
    except _CannotError as why:
        return _nothing(str(why))
    return {"seconds": time.process_time() - began} | found


def _nothing(why: str) -> Record:
    return {"errors": [float("nan")] * len(ERRORS), "why": why}


def expected_constants(mechanism: Mechanism) -> Array:
    """(P,) the prior's mean within its bounds."""
    own = mechanism.parameters
    half = np.isfinite(own.lower) & (own.mean == own.lower)
    return np.asarray(own.mean + np.where(half, np.sqrt(2.0 / np.pi) * own.sigma, 0.0))


@cache
def _truth(robot: str, seed: int, duration: float) -> Truth:
    return simulate(bench_robot(robot), seed, duration)


class _CannotError(Exception):
    """A method is not for such a robot, or not there."""


def _smoothed(own: BenchRobot, mechanism: Mechanism, truth: Truth, noise: float, seed: int) -> list[SmoothMotion]:
    """By each window."""
    q, torque, _ = readings(own, truth, noise, seed)
    fine = bench_log(replace(own, config=replace(own.config, step=PEER_STEP)), q, torque, None)
    positions = closed_positions(mechanism, fine)
    return [smooth(mechanism, fine, positions, window) for window in WINDOWS]


def _regression(regress: Callable[[Mechanism, SmoothMotion], Array]) -> Callable[..., Record]:
    """With the window of each error that is best in hindsight."""

    def run(own: BenchRobot, mechanism: Mechanism, truth: Truth, noise: float, seed: int) -> Record:
        each = []
        for motion in _smoothed(own, mechanism, truth, noise, seed):
            with suppress(ValueError):  # figaroh's solver gives up now and then
                each.append(errors(mechanism, truth, regress(mechanism, motion)))
        if not each:
            raise _CannotError("gave up")
        return {"errors": np.min(each, axis=0).tolist()}

    return run


def _figaroh(own: BenchRobot, mechanism: Mechanism, truth: Truth, noise: float, seed: int) -> Record:
    if mechanism.closures.count:
        raise _CannotError("trees only")
    if not figaroh_fit.AVAILABLE:
        raise _CannotError("not installed")
    return _regression(figaroh_fit.fit)(own, mechanism, truth, noise, seed)


def _toolbox(own: BenchRobot, mechanism: Mechanism, truth: Truth, noise: float, seed: int) -> Record:
    """MuJoCo's, its pieces begun where a window smooths the motion to."""
    if not AVAILABLE:
        raise _CannotError("not installed")
    q, torque, _ = readings(own, truth, noise, seed)
    each = bench_log(replace(own, config=replace(own.config, step=1.0 / RATE)), q, torque, None)
    motion = smooth(mechanism, each, closed_positions(mechanism, each), _TOOLBOX_WINDOW[noise])
    first = round((motion.t[0] - each.t[0]) * RATE)
    own_part = slice(first, first + len(motion.q))
    x = mujoco_constants.fit(own, mechanism, (motion.q, motion.v), q[own_part], torque[own_part], noise)
    return {"errors": errors(mechanism, truth, x)}


def _fddp(own: BenchRobot, mechanism: Mechanism, truth: Truth, noise: float, seed: int) -> Record:
    if not fddp.AVAILABLE:
        raise _CannotError("not installed")
    q, torque, _ = readings(own, truth, noise, seed)
    log = bench_log(own, q, torque, None)
    averaged = noise / np.sqrt(RATE * own.config.step)
    known = averaged, 10.0 * averaged * float(np.sqrt(np.mean(torque**2)))
    found = fddp_constants.fit(mechanism, log, initial_positions(mechanism, log), known, _FDDP_ITERATIONS)
    return {"errors": errors(mechanism, truth, found.x), "iterations": found.iterations, "ended": found.converged}


def _posterior(energy_from: str) -> Callable[..., Record]:
    """Ours, with energy as the commands have it, a power meter's, this alone, or none."""

    def run(own: BenchRobot, mechanism: Mechanism, truth: Truth, noise: float, seed: int) -> Record:
        q, torque, power = readings(own, truth, noise, seed)
        stated = replace(own.config.noise, torque=_STATED * float(np.sqrt(np.mean(torque**2))))
        own = replace(own, config=replace(own.config, noise=stated))
        log = bench_log(own, q, torque, power if energy_from in (METER, METER_ALONE) else None)
        if energy_from == METER_ALONE:
            log = replace(log, torque=np.full_like(log.torque, np.nan))
        if energy_from != COMMANDED:
            return _ours(own, mechanism, truth, log, own.config.power)
        moved = np.full_like(log.position, np.nan)
        moved[1:-1] = (log.position[2:] - log.position[:-2]) / (2.0 * log.step)
        effort = np.sum(log.torque * moved[:, mechanism.parameters.motors], axis=1)
        lossless = PowerPriorConfig(loss_sigma=_KNOWN, idle_sigma=_KNOWN)
        return _ours(own, mechanism, truth, replace(log, power=effort), lossless)

    return run


METHODS: dict[str, Callable[..., Record]] = {
    "inverse dynamics": _regression(inverse_dynamics),
    "energy": _regression(energy),
    "figaroh": _figaroh,
    "mujoco.sysid": _toolbox,
    "FDDP": _fddp,
    **{name: _posterior(name) for name in (OURS, COMMANDED, METER, METER_ALONE)},
}
PEERS = tuple(METHODS)[:5]
SLOW = ("mujoco.sysid", "FDDP")
"""Peers that take minutes."""


def _ours(own: BenchRobot, mechanism: Mechanism, truth: Truth, log: Any, power: PowerPriorConfig) -> Record:
    began = time.process_time()
    result = identify(log, own.robot, replace(own.config, power=power))
    x, layout = mechanism.parameters.mean.copy(), mechanism.parameters
    x[layout.free] = result.theta[: len(layout.free)]  # a meter's losses come last
    means = {row.name: row.mean for row in result.parameters}  # of what is positive, not the most probable
    for name in ("coulomb", "viscous"):
        x[layout.joint(name)] = [
            means.get(f"{joint}.{name}", value)
            for joint, value in zip(layout.joints, layout.constants(x, name), strict=True)
        ]
    inside = intervals_that_hold(result, layout.links, layout.inertia(truth.x))
    return {
        "errors": errors(mechanism, truth, x),
        "told": told_errors(mechanism, truth, result),
        "status": result.status.name,
        "iterations": result.iterations,
        "seconds": time.process_time() - began,
        "observed": len(inside),
        "inside": sum(inside),
    }


def told_errors(mechanism: Mechanism, truth: Truth, result: BayesianResult) -> list[float]:
    """Median errors of constants that are as far from the truth as the posterior says that it may be."""
    own, rng = mechanism.parameters, np.random.default_rng(0)
    count = len(own.free)
    drawn = rng.multivariate_normal(np.zeros(count), result.covariance[:count, :count], _TOLD, method="eigh")
    each = np.tile(truth.x, (_TOLD, 1))
    each[:, own.free] += drawn
    found = np.median([errors(mechanism, truth, np.maximum(x, own.lower)) for x in each], axis=0)
    return [float(value) for value in found]


def intervals_that_hold(result: BayesianResult, links: Sequence[str], inertia: Array) -> list[bool]:
    """Whether the 95 % interval of each inertial parameter that is observed holds the truth."""
    true = {
        f"{link}.{name}": value
        for link, theta in zip(links, inertia, strict=True)
        for name, value in zip(PARAMETER_NAMES, theta, strict=True)
    }
    seen = [p for p in result.parameters if p.verdict == "observed" and p.name in true]
    return [bool(p.lower <= true[p.name] <= p.upper) for p in seen]
