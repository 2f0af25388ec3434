# SPDX-License-Identifier: Apache-2.0
"""Is the truth within the posterior's intervals as often as they say? A four-bar leg in MuJoCo, the noise estimated.

Each seed hides another leg, its constants drawn from the prior: intervals can only hold the truth as often as they say
where the prior is one that truths come from. "Narrow" legs vary by less than the prior says, and are covered more.
Only parameters that the log narrows to half of the prior are counted, where anything is claimed; others are covered by
the prior's width alone. Legs begin softly, so that short logs tell little.
Truth is MuJoCo's, whose dry friction is a constraint, and whose loop is closed by its own solver. Where it says "same
equations" or how the noise was stated, torques along the same motion are by the identification's own equations, with
friction that turns smoothly. The errors beside it are of friction over the speeds of the motion and of rigid-body
torques along it, in percent.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from benchmarks.bayesian_coverage_report import KNOWN, LEVELS, MISSTATED, POWER, summarise, verdict, verdicts
from benchmarks.bayesian_log import (
    CONFIG,
    NOISE,
    constants_by_name,
    leg,
    leg_log,
    leg_of,
    leg_record,
    leg_run,
    prior_constants,
    same_equations,
    true_constants,
    true_motion,
)
from benchmarks.bayesian_trial import errors, expected_constants
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Asked, Report, parser
from sysid_nodes.exceptions import LogError
from sysid_nodes.simulation.fourbar.leg import MOTORS, LegRecord
from sysid_nodes.systems.bayesian import BayesianConfig, MechanismLog, identify
from sysid_nodes.systems.bayesian.config import NoiseConfig, SearchConfig, VerdictConfig
from sysid_nodes.systems.bayesian.mechanism import build_mechanism

Array = npt.NDArray[np.float64]

SPREAD = 0.3  # of narrow truths about the description: the prior's sigmas, but of fewer things
_OUTLIERS = 20.0  # standard deviations by which an outlier is off
_GAIN = 0.1
_SHARP = 0.01  # [rad/s]: tanh(v / 0.01) has a slope of 100 s/rad
_STEP = 0.01


@dataclass(frozen=True)
class Case:
    """Readings, and what is wrong with them.

    Attributes:
        torque, power: whether they are read.
        same: whether torques are by the identification's own equations.
        sharp: friction of the same equations turns over _SHARP, and by how much is not known.
        outliers: share of all readings that are off.
        gain: by which torques are off, up or down.
        narrow: whether legs vary by less than the prior says.
        loss: by which readings are weighed.
        stated: standard deviations stated in units of the true ones; 0 leaves the configuration's.
        estimate: whether the noise is estimated.
        wrong: with what readings nothing is to be claimed.
    """

    torque: bool = True
    power: bool = False
    same: bool = False
    sharp: bool = False
    outliers: float = 0.0
    gain: float = 0.0
    narrow: bool = False
    loss: str = "gaussian"
    stated: float = 0.0
    estimate: bool = True
    wrong: str = ""

    def config(self) -> BayesianConfig:
        """Of the identification."""
        search, verdict = SearchConfig(starts=1), VerdictConfig(samples=1000)
        own = replace(CONFIG, step=_STEP, held_out=0.0, search=search, verdict=verdict)
        if self.sharp:
            own = replace(own, friction=replace(own.friction, turning_speed=_SHARP, turning_sigma=0.5))
        if self.gain:
            own = replace(own, drive=replace(own.drive, gain_sigma=_GAIN))
        if self.stated:
            position, torque, power = np.array(NOISE) * self.stated / np.sqrt(500.0 * _STEP)
            noise = NoiseConfig(position, torque, self.stated * own.noise.passive, power, estimate=self.estimate)
            own = replace(own, noise=noise)
        return replace(own, noise=replace(own.noise, loss=self.loss))


CASES = {
    "torque and power": Case(power=True),
    "torque and power, narrow": Case(power=True, narrow=True),
    "torque": Case(),
    "same equations": Case(same=True, power=True),
    "same equations, sharp friction": Case(same=True, sharp=True, power=True),
    "2 % outliers": Case(power=True, outliers=0.02),
    "2 % outliers, huber": Case(power=True, outliers=0.02, loss="huber"),
    "gain off by 10 %": Case(power=True, gain=_GAIN),
    POWER: Case(torque=False, power=True),
    KNOWN: Case(same=True, stated=1.0, estimate=False),
    MISSTATED: Case(same=True, stated=30.0),
    "noise stated 30 times too small": Case(same=True, stated=1.0 / 30.0),
    "hip turned round": Case(power=True, wrong="hip"),
    "crank turned round": Case(power=True, wrong="crank"),
    "torques swapped": Case(power=True, wrong="swap"),
    "torques doubled": Case(power=True, wrong="double"),
    "torques halved": Case(power=True, wrong="half"),
    "encoder stuck from the middle on": Case(power=True, wrong="stuck"),
}


def trial(seed: int, case: str, duration: float) -> Record:
    """Error in sigmas of every observed parameter by group, of the motion's torques, and how the search ended."""
    own, rng = CASES[case], np.random.default_rng([seed, 1])
    config = own.config()
    mechanism = build_mechanism(leg(), config, power=own.power)
    if own.narrow:
        truth, record = leg_run(seed, duration, SPREAD)
        x = true_constants(truth, mechanism)
    else:
        x = prior_constants(build_mechanism(leg(), config, power=True), rng)
        record = leg_record(leg_of(mechanism, x), duration, np.random.default_rng([seed, 3]))
    true = true_motion(x, record, mechanism)
    if own.same:
        record = same_equations(record, true, mechanism, rng)
    log = mislead(own, leg_log(spoil(own, record, seed), config.step, torque=own.torque, power=own.power))
    try:
        result = identify(log, leg(), config)
    except LogError:
        return {"status": "refused"}
    if not result.status.trusted:
        return {"status": result.status.name}
    values = constants_by_name(mechanism, x) | dict(
        zip((f"{name}.gain" for name in MOTORS), gains(own, seed), strict=True)
    )
    x = mechanism.parameters.mean.copy()
    x[mechanism.parameters.free] = result.theta
    observed = [row for row in result.parameters if row.verdict == "observed"]
    return {
        "rows": [
            (row.group, (row.mean - values[row.name]) / row.sigma, bool(row.lower <= values[row.name] <= row.upper))
            for row in observed
        ],
        "errors": errors(mechanism, true, x),
        "prior": errors(mechanism, true, mechanism.parameters.mean),
        "expected": errors(mechanism, true, expected_constants(mechanism)),
        "status": result.status.name,
        "iterations": result.iterations,
        "gap": result.loop_gap,
        "truth gap": true.gap,
    }


def mislead(case: Case, log: MechanismLog) -> MechanismLog:
    """The log with what is not its own."""
    if case.wrong == "stuck":
        position = log.position.copy()
        middle, hip = len(position) // 2, leg().joint_names.index(MOTORS[0])
        position[middle:, hip] = position[middle, hip]
        return replace(log, position=position)
    if case.wrong == "swap":
        return replace(log, torque=log.torque[:, ::-1].copy())
    factors = {"hip": (-1.0, 1.0), "crank": (1.0, -1.0), "double": (2.0, 2.0), "half": (0.5, 0.5)}
    return replace(log, torque=log.torque * factors.get(case.wrong, (1.0, 1.0)))


def gains(case: Case, seed: int) -> Array:
    """(2,) factors from the motors' torques to their readings."""
    return np.asarray(1.0 + case.gain * np.random.default_rng([seed, 4]).choice([-1.0, 1.0], len(MOTORS)))


def spoil(case: Case, record: LegRecord, seed: int) -> LegRecord:
    """The readings with what is wrong with them."""
    rng = np.random.default_rng([seed, 2])
    position, torque, power = NOISE
    factor = gains(case, seed)
    return replace(
        record,
        position=_with_outliers(record.position, position, case.outliers, rng),
        torque=_with_outliers(factor * record.torque, torque, case.outliers, rng),
        current=_with_outliers(record.current, power / record.voltage, case.outliers, rng),
    )


def _with_outliers(values: Array, sigma: float | Array, share: float, rng: np.random.Generator) -> Array:
    off = rng.random(values.shape) < share
    return np.asarray(values + _OUTLIERS * sigma * off * rng.choice([-1.0, 1.0], values.shape))


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_coverage", __doc__)
    options.add_argument("--legs", type=int, default=50, help="hidden legs")
    options.add_argument("--duration", type=float, default=5.0, help="of each log [s]")
    options.add_argument("--cases", nargs="*", default=list(CASES), choices=list(CASES), help="what is read")
    add_options(options)
    args = options.parse_args(arguments)
    report = Report("bayesian-coverage", "Coverage of posteriors of a four-bar leg", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    rows, accuracy, asked = [], dict[str, tuple[float, ...]](), list[Asked]()
    for case in args.cases:
        seeds = range(args.seed, args.seed + args.legs)
        keys = [{"seed": seed, "case": case, "duration": args.duration} for seed in seeds]
        trials = collect(args, keys, trial, case)
        rows += summarise(report, case, trials)
        asked += verdict(case, trials, usual=not (CASES[case].outliers or CASES[case].gain))
        claimed = [trial for trial in trials if "rows" in trial]
        if not claimed:
            continue
        middle = [np.median([trial[name] for trial in claimed], axis=0)[:2] for name in ("expected", "errors")]
        accuracy[case] = tuple(float(value) for pair in zip(*middle, strict=True) for value in pair)
    report.section("Coverage")
    report.table(("case", "parameters", "observed", *(f"{100 * level:.0f} %" for level in LEVELS)), rows)
    report.section("Errors")
    report.text("Medians, in percent; of the prior what it expects, friction being positive.")
    report.table(
        ("case", "friction, prior", "friction", "rigid-body torque, prior", "rigid-body torque"),
        [(case, *(f"{100.0 * value:.3g}" for value in values)) for case, values in accuracy.items()],
    )
    report.asked([*asked, *verdicts(accuracy)])
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
