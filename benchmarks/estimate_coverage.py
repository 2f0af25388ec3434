# SPDX-License-Identifier: Apache-2.0
"""How often the 95 % intervals hold with real robots' residuals as noise, and the estimate against least squares.

1. Each robot is calibrated on one log. The motion of another, the calibrated robot moved within what the
   calibration knows of it, and a random payload give torques; the residual sequences that this other log
   left, scaled by what the fit took of them, shifted in time and with random signs, are their noise. Counted
   are truths inside their intervals, over 50 seeds.
2. The real run in quarters: each quarter's estimate against that of the rest, in standard deviations of the difference.
3. Mass by this estimate and by plain least squares (unweighted, all of the robot's parameters along with the
   payload's): of the real load, and of a payload whose exact torque was added to runs without one.

The logs are not part of the project; without them this says so and does nothing.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import stats

from benchmarks.real_arm_logs import RealArm, plain_least_squares, real_arms
from benchmarks.report import Report, parser
from sysid_nodes.cli.progress import track
from sysid_nodes.data.bounds import PARAMETER_NAMES
from sysid_nodes.models.known_robot import known_box
from sysid_nodes.systems.interval.calibration_runs import Run, run_rows
from sysid_nodes.systems.interval.estimate.belief import Belief
from sysid_nodes.systems.interval.estimate.estimator import VAGUE, since_calibration
from sysid_nodes.systems.interval.estimate.robot_belief import Bare, statistical_belief
from sysid_nodes.systems.interval.estimate.robust_fit import RobustFit, robust_fit
from sysid_nodes.systems.interval.estimate.window_model import WindowModel
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.unknowns import identify_payload

Array = npt.NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Weighing:
    """A calibrated robot and the windows of another of its logs.

    Attributes:
        arm: the robot.
        known: belief about it (16 n), drift since the calibration included.
        windows: of the other log, with a payload as their last ten parameters.
        rows: the same windows, and those of the calibration, as momentum rows.
    """

    arm: RealArm
    known: Belief
    windows: WindowModel
    rows: tuple[MomentumRows, MomentumRows]

    @classmethod
    def of(cls, arm: RealArm, body: Array | None = None) -> Weighing:
        """The robot's calibration log and its other log, to which a body (10,) is added."""
        robot, config = arm.robot, arm.config
        index = robot.body_index(config.body)
        centre, radius = known_box(robot, config.known_robot)
        unknowns = identify_payload(robot.n, index, centre, radius, config.prior.bounds)
        other = arm.other if body is None else arm.with_body(body)
        rows = [run_rows(robot, config, Run(log, 0.0, arm.name), unknowns) for log in (arm.unloaded, other)]
        belief, spread = statistical_belief(Bare(robot.n, index, centre, radius, config.prior.bounds), rows[:1])
        windows = WindowModel.of_rows(rows[1], index, 0)
        return cls(arm, since_calibration(belief, spread), windows, (rows[0], rows[1]))

    def fit(self, windows: WindowModel) -> RobustFit:
        """The payload's fit, its ten parameters last."""
        prior = self.arm.config.prior.bounds
        belief = self.known.and_also(Belief.gaussian(prior.centre, VAGUE * prior.half_width))
        found = robust_fit(windows, belief)
        assert found is not None  # real logs have numbers
        return found


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 when the mass is in its intervals so seldom that 95 % would be a lie."""
    options = parser("estimate_coverage", __doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the logs")
    options.add_argument("--seeds", type=int, default=50, help="simulated payloads of each robot")
    args = options.parse_args(arguments)
    if not args.data.is_dir():
        sys.stdout.write(f"no logs under {args.data}; nothing was measured\n")
        return 0
    report = Report("estimate-coverage", "The statistical estimate", args.out, args.command)
    arms = real_arms(args.data)
    weighings = {arm.name: Weighing.of(arm) for arm in arms}
    holds = True
    rows = []
    for name, weighing in weighings.items():
        inside = coverage(weighing, range(args.seed, args.seed + args.seeds))
        rows.append((name, *(f"{share:.2f}" for share in inside.mean(axis=0)), f"{inside.mean():.3f}"))
        holds &= bool(inside[:, 0].sum() >= stats.binom(args.seeds, 0.95).ppf(1e-3))
    report.section("Real residuals as noise")
    report.text(
        f"Share of {args.seeds} random payloads inside their 95 % interval, before it is cut to the proven one."
    )
    report.table(("calibrated on, moved as", *PARAMETER_NAMES, "all"), rows)
    report.section("Quarters of a run")
    report.text(
        "Each quarter's mass against that of the other three, in standard deviations of the difference, as stated; "
        "beyond 2.0 to 2.3 (few blocks) is beyond 95 %."
    )
    report.table(
        ("log", "mass by quarter [kg]", "differences [standard deviations]", "of all parameters within 95 %"),
        [(name, *quarters(weighing)) for name, weighing in weighings.items()],
    )
    report.section("Against plain least squares")
    report.text("Error of the mass. Virtual: the torque of a known body was added to a run without payload.")
    report.table(("log", "mass [kg]", "estimate", "95 %", "plain least squares"), pairs(arms))
    sys.stdout.write(f"{report.write()}\n")
    return 0 if holds else 1


def coverage(weighing: Weighing, seeds: range) -> npt.NDArray[np.bool_]:
    """(seeds, 10) whether the truth was inside its interval."""
    real = weighing.fit(weighing.windows)
    known, prior = weighing.known, weighing.arm.config.prior.bounds
    free = np.flatnonzero(known.known)
    inverse = np.linalg.inv(known.information[np.ix_(free, free)])
    scatter = inverse @ known.score_covariance[np.ix_(free, free)] @ inverse
    root = np.linalg.cholesky(scatter + 1e-12 * np.diag(scatter.diagonal()))
    noises = errors(weighing.windows, real)
    inside = []
    for seed in track(seeds, weighing.arm.name):
        rng = np.random.default_rng(seed)
        truth = np.concatenate([known.point, prior.centre + 0.2 * prior.half_width * rng.uniform(-1.0, 1.0, 10)])
        truth[free] += root @ rng.normal(size=free.size)
        noise = np.roll(noises, int(rng.integers(len(noises))), axis=0)
        noise = noise * rng.choice([-1.0, 1.0], noise.shape[1])
        found = weighing.fit(with_readings(weighing.windows, truth, noise))
        covariance, freedom = found.covariance()
        error = np.sqrt(covariance.diagonal()[-10:]) * stats.t.ppf(0.975, freedom[-10:])
        inside.append(np.abs(found.point - truth)[-10:] <= error)
    return np.array(inside)


def errors(windows: WindowModel, fit: RobustFit) -> Array:
    """(W, n) residuals [N m] as large as the errors were before the fit took its part of them."""
    _, jacobian = windows.residual(fit.point)
    leverage = ((jacobian @ fit.inverse) * jacobian).sum(axis=2) / (fit.spread**2 + windows.unsure**2 / 3.0)
    return np.asarray(fit.residual / np.sqrt(1.0 - leverage.mean(axis=0)))


def with_readings(windows: WindowModel, truth: Array, noise: Array) -> WindowModel:
    """The windows with the readings that the truth gives, and noise (W, n) [N m]."""
    n = windows.joints
    left, _ = windows.residual(truth)
    rows = windows.coefficients.copy()
    rows[:, np.arange(n), 14 * n + np.arange(n)] -= left + noise
    return replace(windows, coefficients=rows)


def quarters(weighing: Weighing) -> tuple[str, str, str]:
    """Masses of the quarters, their differences from the rest, and how many parameters differ by no more than 95 %."""
    count = len(weighing.windows.load)
    masses, off, within = [], [], []
    for part in np.array_split(np.arange(count), 4):
        rest = np.setdiff1d(np.arange(count), part)
        a, b = (weighing.fit(weighing.windows.select(at)) for at in (part, rest))
        variance, freedom = difference(a, b)
        off.append((a.point - b.point)[-10:] / np.sqrt(variance))
        masses.append(a.point[-10])
        within.append(np.abs(off[-1]) <= stats.t.ppf(0.975, freedom))
    return (
        ", ".join(f"{mass:.3f}" for mass in masses),
        ", ".join(f"{z[0]:+.1f}" for z in off),
        f"{int(np.sum(within))} of {np.size(within)}",
    )


def difference(few: RobustFit, many: RobustFit) -> tuple[Array, Array]:
    """(10,) variances of the difference of two estimates of one body, and degrees of freedom of the few windows' share.

    Both began with the same belief of the robot, and what it is wrong by reaches the body through each one's motion.
    """
    reach = few.inverse - many.inverse
    common = (reach @ few.belief.score_covariance @ reach.T).diagonal()[-10:]
    if few.jackknife is None or many.jackknife is None:
        return np.full(10, np.inf), np.ones(10)
    own = few.jackknife.matrix.diagonal()[-10:]
    variance = own + many.jackknife.matrix.diagonal()[-10:] + common
    return variance, few.jackknife.freedom[-10:] * (variance / own) ** 2


def pairs(arms: list[RealArm]) -> list[tuple[str, ...]]:
    """Rows of the table of masses."""
    body = np.array([2.0, 0.1, 0.05, 0.16, 0.03, 0.0, 0.03, -0.01, -0.004, 0.02])
    rows: list[tuple[str, ...]] = []
    for arm in arms:
        for name, truth, weighing in (
            (arm.name, arm.mass, Weighing.of(arm)),
            (f"{arm.name}, virtual", arm.mass + body[0], Weighing.of(arm, body)),
        ):
            found = weighing.fit(weighing.windows)
            covariance, freedom = found.covariance()
            error = np.sqrt(covariance.diagonal()[-10]) * stats.t.ppf(0.975, freedom[-10])
            plain = plain_least_squares(arm, weighing.rows)
            rows.append((name, f"{truth:.3f}", _off(found.point[-10], truth), f"+- {error:.3f} kg", _off(plain, truth)))
    return rows


def _off(mass: float, truth: float) -> str:
    return f"{mass - truth:+.3f} kg" + (f" ({100.0 * (mass / truth - 1.0):+.1f} %)" if truth > 0.0 else "")


if __name__ == "__main__":
    sys.exit(main())
