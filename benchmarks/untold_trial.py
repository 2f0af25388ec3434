# SPDX-License-Identifier: Apache-2.0
"""One arm with one untold effect: calibrated unloaded, then loaded and weighed as a live node does it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.untold_arm import CONFIG, Arm
from benchmarks.untold_effects import Untold
from benchmarks.untold_plant import Load, draw_load
from sysid_nodes.data.joint_samples import JointSamples
from sysid_nodes.results import Status
from sysid_nodes.systems.interval.calibration import calibrate
from sysid_nodes.systems.interval.calibration_file import Calibration, save_calibration
from sysid_nodes.systems.interval.calibration_runs import Run
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

Array = npt.NDArray[np.float64]
Draw = Callable[[np.random.Generator], tuple[Untold, Untold]]

UNLOADED, LOADED = 24.0, 16.0
"""Lengths of the two runs, of which the first second is not logged [s]."""

CLAIMS = (Status.PROVEN, Status.NOT_EXCITED)


def _both(**ranges: tuple[float, float]) -> Draw:
    return partial(_draw, since=False, ranges=ranges)


def _since(**ranges: tuple[float, float]) -> Draw:
    return partial(_draw, since=True, ranges=ranges)


def _draw(rng: np.random.Generator, *, since: bool, ranges: dict[str, tuple[float, float]]) -> tuple[Untold, Untold]:
    sizes: dict[str, Any] = {name: float(rng.uniform(*between)) for name, between in ranges.items()}
    untold = Untold(**sizes)
    return (Untold() if since else untold), untold


EFFECTS: dict[str, tuple[str, Draw]] = {
    "none": ("none", _both()),
    "bend": ("joints bend, 1 to 20 mrad", _both(bend=(0.001, 0.02))),
    "gain": ("torques read up to 5 % too much or too little, as is assumed", _both(gain=(-0.05, 0.05))),
    "gain_beyond": ("torques read 5 to 10 % too much", _both(gain=(0.05, 0.1))),
    "gain_since": ("2 to 8 % too much, since the calibration", _since(gain=(0.02, 0.08))),
    "cable": ("springs across joints", _both(cable=(0.005, 0.1))),
    "tilt": ("base tilted by up to 50 mrad", _both(tilt=(0.002, 0.05))),
    "tilt_since": ("the same, since the calibration", _since(tilt=(0.002, 0.05))),
    "load_friction": ("drives lose 0.5 to 10 % of the torque", _both(load_friction=(0.005, 0.1))),
    "backlash": ("gears with 0.5 to 10 mrad of play", _both(backlash=(0.0005, 0.01))),
    "delay": ("torques 2 to 30 ms late", _both(delay=(0.002, 0.03))),
    "ripple": ("torque ripples by 0.5 to 5 %", _both(ripple=(0.005, 0.05))),
    "step": ("encoders of 0.2 to 3 mrad", _both(step=(0.0002, 0.003))),
    "drift": ("friction less by up to 30 % since", _since(drift=(0.005, 0.3))),
    "touch": ("a hand pushes the load for 2 s, 3 to 30 N", _since(touch=(3.0, 30.0))),
    "zero": ("zeros of encoders up to 9 mrad off", _both(zero=(0.002, 0.009))),
    "zero_since": ("the same, since the calibration", _since(zero=(0.002, 0.009))),
    "warm": ("offsets of torques drift by up to 2 N m", _both(warm=(0.3, 2.0))),
    "jitter": ("stamps wrong by up to 3 ms", _both(jitter=(0.0005, 0.003))),
    "lag": ("velocities filtered, 5 to 40 ms", _both(lag=(0.005, 0.04))),
    "swing": ("the load swings on a hinge", lambda _: (Untold(), Untold(swing=True))),
}
"""By name: in words, and draws of what is untold of the unloaded run and of the loaded one."""


@dataclass(frozen=True)
class Logs:
    """Attributes: arm; what was untold of its loaded run; both runs; what it carried in the second."""

    arm: Arm
    untold: Untold
    unloaded: JointSamples
    loaded: JointSamples
    load: Load


def simulate(effect: str, seed: int) -> Logs:
    """Draws arm, load, motions and the effect's size."""
    rng = np.random.default_rng([seed, list(EFFECTS).index(effect)])
    before, after = EFFECTS[effect][1](rng)
    arm = Arm(rng)
    unloaded = arm.run(before, None, UNLOADED)
    load = draw_load(rng)
    return Logs(arm, after, unloaded, arm.run(after, load, LOADED), load)


def run(effect: str, seed: int) -> dict[str, Any]:
    """The claims of one draw, and whether they were true."""
    logs = simulate(effect, seed)
    return judge(logs, calibrate(logs.arm.robot, CONFIG, [Run(logs.unloaded, 0.0, "unloaded")]))


def judge(logs: Logs, calibration: Calibration) -> dict[str, Any]:
    """The loaded run, message by message."""
    samples, theta = logs.loaded, logs.load.theta
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "calibration.json"
        save_calibration(calibration, file)
        pipeline = IntervalPipeline(logs.arm.robot, replace(CONFIG, calibration=str(file)))
    for t, q, v, effort in zip(samples.t, samples.q, samples.qd, samples.tau, strict=True):
        pipeline.push(samples.names, float(t), q, v, effort)
    result = pipeline.finish()
    right = [bool(((step.lower <= theta) & (theta <= step.upper)).all()) for step in pipeline.history]
    claimed = [step.status in CLAIMS for step in pipeline.history]
    return {
        "untold": {name: value for name, value in vars(logs.untold).items() if value},
        "status": result.status.name,
        "right": bool(((result.lower <= theta) & (theta <= result.upper)).all()),
        "claimed": sum(claimed),
        "claimed_wrong": sum(claim and not true for claim, true in zip(claimed, right, strict=True)),
        "width": float(result.upper[0] - result.lower[0]),
        "doubt": "" if pipeline.doubt is None else pipeline.doubt.message,
        "doubt_time": None if pipeline.doubt is None else pipeline.doubt.t - float(samples.t[0]),
    }
