# SPDX-License-Identifier: Apache-2.0
"""One seed of benchmarks.actuators_rig: a servo, its logs, and every model fitted to the first."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np
from scipy import optimize

from benchmarks.peers.bench_model import fit_bench, replay_bench
from benchmarks.records import Record
from benchmarks.servo_rig import Servo, bar, fourier_command, run_servo
from sysid_nodes.models.actuator import INDEX
from sysid_nodes.solvers.shooting.problem import Array, segments
from sysid_nodes.systems.actuators.config import ActuatorConfig, FittedConfig, MotionConfig, ShootingOptions
from sysid_nodes.systems.actuators.fit import fit_joint, known_law, parameters_of
from sysid_nodes.systems.actuators.joint_problem import JointProblem
from sysid_nodes.systems.actuators.method_config import NetworkConfig
from sysid_nodes.systems.actuators.methods import SmoothedJoint, smooth_joint
from sysid_nodes.systems.actuators.methods.apply import METHODS
from sysid_nodes.systems.actuators.methods.method import JointModel, StructuredModel
from sysid_nodes.systems.actuators.methods.network import train_untested
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_error, replay_joint

T = TypeVar("T")

HORIZONS = (0.02, 0.1, 0.5, 2.0)
WEIGHTS = (0.0, 1e-4, 1e-2, 1.0)
SHORTEST = 2e-3
FREE = (SHORTEST, 0.01, 0.05, 0.1, 0.5)
"""Horizons of the free oracle [s]."""

TRAINED = {"span": 0.8, "speed": 3.0}
INSIDE = {"span": 0.55, "speed": 2.2}
OUTSIDE = {"span": 1.3, "speed": 4.2}

_BASE = ActuatorConfig(
    fitted=FittedConfig(gain=True, position_friction=False),
    motion=MotionConfig(step=2e-3),
    network=NetworkConfig(iterations=40, labels=100),
)
_THREE = FittedConfig(**{name: name in ("armature", "gain", "viscous") for name in vars(FittedConfig())})


@dataclass(frozen=True)
class OracleScore:
    """RMS error over the torque's RMS and over its standard deviation, and how often the band holds the truth."""

    error: float
    error_of_std: float
    coverage: float


@dataclass
class Trial:
    """Of one seed; errors are MAEs [rad] by model and case."""

    errors: dict[str, dict[str, float]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    ratios: dict[str, dict[str, float]] = field(default_factory=dict)
    gave_way: dict[str, bool] = field(default_factory=dict)
    oracle: OracleScore = OracleScore(np.nan, np.nan, np.nan)
    free: dict[float, float] = field(default_factory=dict)
    free_error: float = np.nan
    sweeps: dict[str, dict[str, dict[float, float]]] = field(default_factory=dict)

    def record(self) -> Record:
        """As JSON has it, whose keys are texts."""
        return dict(json.loads(json.dumps(asdict(self), default=float)))

    @classmethod
    def from_record(cls, record: Record) -> Trial:
        """The trial that `record` gave."""
        sweeps = {
            key: {name: _by_number(values) for name, values in curves.items()}
            for key, curves in record["sweeps"].items()
        }
        own = {"oracle": OracleScore(**record["oracle"]), "free": _by_number(record["free"]), "sweeps": sweeps}
        return cls(**{**record, **own})


def run_trial(seed: int, sweeps: bool = True) -> Trial:
    """Everything of a seed."""
    rng, trial = np.random.default_rng(seed), Trial()
    servo = Servo.draw(rng)
    config = replace(_BASE, network=replace(_BASE.network, seed=seed), evolution=replace(_BASE.evolution, seed=seed))
    runs = {
        case: run_servo(servo, *fourier_command(duration, rng, **kind), rng=rng)
        for case, duration, kind in (("own", 20.0, TRAINED), ("inside", 10.0, INSIDE), ("outside", 10.0, OUTSIDE))
    }
    motions = {case: prepare(run.log, bar(), config)[0] for case, run in runs.items()}
    law = _time(trial, "structured", lambda: _law(motions["own"], config))
    smoothed = smooth_joint(motions["own"], law, config)
    _oracles(trial, smoothed, law, config, runs["own"].torque)
    _paper(trial, motions, smoothed, servo, config, rng)
    _score(trial, "structured", StructuredModel(law, config), motions)
    for name in ("residual", "network"):
        model = _time(trial, name, partial(METHODS[name], smoothed, law, config))
        _score(trial, name, model, motions)
        trial.gave_way[name] = isinstance(model, StructuredModel)
        trial.ratios[name] = {
            case: replay_error(motions[case], model.replay(motions[case]).position).rmse
            / replay_error(motions[case], replay_joint(motions[case], law, config)).rmse
            for case in ("inside", "outside")
        }
    if sweeps:
        _sweeps(trial, motions, smoothed, law, config)
    return trial


def _by_number(values: dict[str, float]) -> dict[float, float]:
    return {float(key): value for key, value in values.items()}


def _law(motion: JointMotion, config: ActuatorConfig) -> Array:
    return fit_joint(motion, known_law(config, 0), config, config.fitted.names).law


def _time(trial: Trial, name: str, work: Callable[[], T]) -> T:
    began = time.process_time()
    found = work()
    trial.seconds[name] = time.process_time() - began
    return found


def _mae(motion: JointMotion, position: Array) -> float:
    return replay_error(motion, position).mae


def _score(trial: Trial, name: str, model: JointModel, motions: dict[str, JointMotion]) -> None:
    trial.errors[name] = {case: _mae(motion, model.replay(motion).position) for case, motion in motions.items()}


def _oracles(trial: Trial, smoothed: SmoothedJoint, law: Array, config: ActuatorConfig, true: Array) -> None:
    motion, error = smoothed.motion, smoothed.torque - true
    rms = float(np.sqrt(np.mean(error**2)))
    trial.oracle = OracleScore(
        rms / float(np.sqrt(np.mean(true**2))),
        rms / float(np.std(true)),
        float(np.mean(np.abs(error) < 1.96 * smoothed.sigma)),
    )
    trial.errors["oracle"] = {"own": _mae(motion, METHODS["oracle"](smoothed, law, config).replay(motion).position)}
    errors = []
    for horizon in FREE:
        chosen = replace(config, oracle=replace(config.oracle, free_horizon=horizon, free_iterations=200))
        model = METHODS["free_oracle"](smoothed, law, chosen)
        trial.free[horizon] = _mae(motion, model.replay(motion).position)
        off = model.torque(smoothed) - true
        errors.append(float(np.sqrt(np.mean(off**2) / np.mean(true**2))))
    trial.free_error = min(errors)
    trial.errors["Torque-Oracle"] = {"own": min(trial.free.values())}


def _paper(
    trial: Trial,
    motions: dict[str, JointMotion],
    smoothed: SmoothedJoint,
    servo: Servo,
    config: ActuatorConfig,
    rng: np.random.Generator,
) -> None:
    """Its models: no delay, friction or bias but what a network makes of them, segments from measured states."""
    bench = _time(trial, "Bench-Sup", lambda: fit_bench(servo, rng))
    trial.errors["Bench-Sup"] = {case: _mae(motion, replay_bench(bench, motion)) for case, motion in motions.items()}
    _score(
        trial, "Param-ES", _time(trial, "Param-ES", lambda: METHODS["cma_es"](smoothed, np.zeros(12), config)), motions
    )
    three = replace(config, fitted=_THREE, shooting=ShootingOptions(horizons=(0.25, 0.5), speed_sigma=1e-3))
    param = _time(trial, "TrajID-Param", lambda: _law(motions["own"], three))
    _score(trial, "TrajID-Param", StructuredModel(param, three), motions)
    plain = smooth_joint(motions["own"], param, three)
    for name, kind in (("Residual-RL", True), ("TrajID-NN", False)):
        model = _time(trial, name, partial(train_untested, plain, param, three, residual=kind))
        _score(trial, name, model, motions)
    assert param[INDEX["delay"]] == 0.0


def weigh_speed(smoothed: SmoothedJoint, law: Array, config: ActuatorConfig, weight: float) -> Array:
    """(15,) the law with the velocity weighed beside the position [s2], as networks are trained with it.

    Plain least squares on segments of the networks' horizon that begin at the oracle's states, from the fitted law on.
    """
    motion, names = smoothed.motion, config.fitted.names
    problem, fitted = JointProblem(motion, config, law, names), parameters_of(names)
    length = max(round(config.network.horizon / (motion.step * motion.stride)), 2)
    first = segments(len(motion.t), length, motion.breaks)
    start = np.stack([smoothed.position[first], smoothed.velocity[first]], axis=1)

    def residual(values: Array) -> Array:
        found = problem.simulate(values, first, start)
        off = np.where(motion.measured, found.position - motion.q, 0.0)
        return np.concatenate([off, np.sqrt(weight) * (found.velocity - smoothed.velocity)])

    lower, upper = np.array([p.lower for p in fitted]), np.array([p.upper for p in fitted])
    begin = np.clip(law[problem.active], lower + 1e-9, upper - 1e-9)
    scale = np.maximum(np.abs(begin), 1e-3)
    return problem.with_parameters(optimize.least_squares(residual, begin, bounds=(lower, upper), x_scale=scale).x)


def _sweeps(
    trial: Trial, motions: dict[str, JointMotion], smoothed: SmoothedJoint, law: Array, config: ActuatorConfig
) -> None:
    motion = motions["inside"]
    for key, option, values in (("horizon", "horizon", HORIZONS), ("weight", "speed_weight", WEIGHTS)):
        found: dict[str, dict[float, float]] = {"structured": {}, "network": {}, "residual": {}}
        for value in values:
            if key == "horizon":
                shot = replace(config, shooting=replace(config.shooting, horizons=(0.25, value)))
                own = _law(motions["own"], shot)
            else:
                shot, own = config, weigh_speed(smoothed, law, config, value)
            found["structured"][value] = _mae(motion, replay_joint(motion, own, shot))
            changes: dict[str, Any] = {option: value, "iterations": 20, "labels": 60}
            chosen = replace(config, network=replace(config.network, **changes))
            for name in ("network", "residual"):
                model = train_untested(smoothed, law, chosen, residual=name == "residual")
                found[name][value] = _mae(motion, model.replay(motion).position)
        trial.sweeps[key] = found
