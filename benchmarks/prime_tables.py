# SPDX-License-Identifier: Apache-2.0
"""The paper's Tables I to III in simulation: a torso's inertia, and what forces gain by identifying it.

Table I is a Go2 with 3 kg and with its centre of mass 0.1 m lower, Table II a G1 with a battery that its description
lacks, Table III forces and cost with and without identification. The paper's truth of the latter two is a force plate
and scales under real robots; here it is MuJoCo's, of friction and a compliance that the estimator is not told.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks import prime_ours
from benchmarks.prime_log import SCENARIOS, AlignedLog, record, simulated_config
from benchmarks.prime_score import Score, score
from benchmarks.report import Report, parser, progress
from sysid_nodes.results.prime import BodyEstimate, PrimeEstimate
from sysid_nodes.systems.prime import build_model

WITH, WITHOUT = "with", "without"


@dataclass(frozen=True)
class Run:
    """Attributes: scenario; identification, WITH or WITHOUT; log; errors; the estimate."""

    scenario: str
    identification: str
    log: AlignedLog
    score: Score
    found: PrimeEstimate

    @property
    def cost(self) -> float:
        """Half the sum of squared residuals in units of the noise that is stated."""
        return 0.5 * math.fsum(fit.count * fit.rms**2 for fit in self.found.fit.values())


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_tables", __doc__)
    options.add_argument("--scenarios", nargs="+", choices=SCENARIOS, default=list(SCENARIOS), help="which logs")
    options.add_argument("--seeds", type=int, default=6, help="runs of a log with identification; without it, one")
    options.add_argument("--steps", type=int, help="use only so many steps of a log")
    chosen = options.parse_args(arguments)
    keys = [(name, WITH, chosen.seed + k) for name in chosen.scenarios for k in range(chosen.seeds)]
    keys += [(name, WITHOUT, chosen.seed) for name in chosen.scenarios]
    runs = [run(*key, chosen.steps) for key in progress(keys, "tables")]
    report = Report("prime-tables", "PRIME: the paper's Tables I to III in simulation", chosen.out, chosen.command)
    summarise(report, runs)
    print(report.write())
    return 0


def run(scenario: str, identification: str, seed: int, steps: int | None = None) -> Run:
    """One estimate of a scenario's log."""
    config = simulated_config()
    if identification == WITHOUT:
        config = replace(config, inertia=replace(config.inertia, bodies="none"))
    log = record(SCENARIOS[scenario], seed).aligned(config, steps)
    model = build_model(log.robot, config)
    contact, found = prime_ours.run(model, log)
    return Run(scenario, identification, log, score(contact, log), found)


def summarise(report: Report, runs: Sequence[Run]) -> None:
    """Fills the report."""
    report.text(
        "Original is what the estimator begins with; found and sigma, its own standard deviation, are of the first of "
        "several seeds, of which errors over sigma have the mean and the root mean square beside them. Moments of "
        "inertia are about the centre of mass, along the link's axes. A dash: not observed. The simulation's "
        "integrator takes steps of 1 ms, which makes its torques half a millisecond late; the estimator is not told."
    )
    with_it = {name: [one for one in runs if (one.scenario, one.identification) == (name, WITH)] for name in SCENARIOS}
    for table, robot in (("Table I: the torso of a Go2", "go2"), ("Table II: the torso of a G1", "g1")):
        for name, several in with_it.items():
            if name.startswith(robot) and several:
                report.section(f"{table}, {SCENARIOS[name].title}, {len(several)} seeds")
                head = ("", "original", "truth", "found", "sigma", "mean [sigma]", "RMS [sigma]")
                report.table(head, _rows(several))
    report.section("Table III: forces and cost with and without identification")
    report.text(
        "RMSE_F is that of a foot's force vector, relative is |F - F_true| / |F_true|; the cost half the sum of "
        "squared residuals in units of the stated noise. Without identification the torso is the description's."
    )
    head = ("log", "identification", "RMSE_F [N]", "relative [%]", "contact F1", "cost [1000]", "status")
    firsts = (one for pair in zip(runs_of(runs, WITH), runs_of(runs, WITHOUT), strict=True) for one in pair)
    report.table(head, (_forces(one) for one in firsts))


def runs_of(runs: Sequence[Run], identification: str) -> list[Run]:
    """The first run of each scenario."""
    found: dict[str, Run] = {}
    for one in runs:
        if one.identification == identification:
            found.setdefault(one.scenario, one)
    return list(found.values())


def _rows(runs: Sequence[Run]) -> Iterable[tuple[str, ...]]:
    names = ("m [kg]", "c_x [m]", "c_y [m]", "c_z [m]", "I_xx [kg m2]", "I_yy [kg m2]", "I_zz [kg m2]")
    values = np.array([_values(one) for one in runs])  # (seeds, 4, 7)
    z = (values[:, 2] - values[:, 1]) / values[:, 3]
    for k, name in enumerate(names):
        seen = bool(np.isfinite(z[0, k]))
        before, true, found, sigma = (f"{value:.4f}" for value in values[0, :, k])
        told = z[np.isfinite(z[:, k]), k]
        spread = (f"{np.mean(told):+.1f}", f"{np.sqrt(np.mean(told**2)):.1f}") if len(told) else ("-", "-")
        yield name, before, true, *((found, sigma) if seen else ("-", "-")), *spread


def _values(one: Run) -> np.ndarray:
    """(4, 7) nominal, true and found mass, centre of mass and moments, and their sigmas, NaN where not observed."""
    body, truth = one.found.bodies[0], one.log.truth.theta
    rows = [np.concatenate([_central(theta)[:1], theta[1:4] / theta[0], _central(theta)[[4, 6, 9]]])
            for theta in (body.nominal, truth, body.parameters)]  # fmt: skip
    seen = np.concatenate([body.observed[:1], body.com_observed, body.observed[[4, 6, 9]]])
    own = np.concatenate([np.sqrt(np.diag(body.covariance))[:1], body.com_sigma, _central_sigma(body)[[4, 6, 9]]])
    return np.array([*rows, np.where(seen, own, np.nan)])


def _central(theta: np.ndarray) -> np.ndarray:
    """(10,) the parameters with moments of inertia about the centre of mass."""
    m, c = theta[0], theta[1:4] / theta[0]
    shift = m * (c @ c * np.eye(3) - np.outer(c, c))
    out = theta.copy()
    out[4:] -= [shift[i, j] for i, j in ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))]
    return np.asarray(out)


def _central_sigma(body: BodyEstimate) -> np.ndarray:
    """(10,) standard deviations of the same, to first order."""
    step = 1e-6
    columns = [
        (_central(body.parameters + step * e) - _central(body.parameters - step * e)) / (2.0 * step) for e in np.eye(10)
    ]
    slope = np.stack(columns, axis=1)
    return np.sqrt(np.diag(slope @ body.covariance @ slope.T))


def _forces(one: Run) -> tuple[object, ...]:
    found = one.score
    return (
        SCENARIOS[one.scenario].title, one.identification, f"{found.rms:.2f}", f"{100 * found.force:.2f}",
        f"{found.f1:.4f}", f"{one.cost / 1e3:.2f}", one.found.status.name,
    )  # fmt: skip


if __name__ == "__main__":
    sys.exit(main())
