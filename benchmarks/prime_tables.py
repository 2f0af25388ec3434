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
    options.add_argument("--steps", type=int, help="use only so many steps of a log")
    chosen = options.parse_args(arguments)
    pairs = [(name, identification) for name in chosen.scenarios for identification in (WITH, WITHOUT)]
    runs = [run(name, identification, chosen.seed, chosen.steps) for name, identification in progress(pairs, "tables")]
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
        "Original is what the estimator begins with, sigma its own standard deviation. Moments of inertia are about "
        "the centre of mass, along the link's axes. A dash: not observed."
    )
    for table, robot in (("Table I: the torso of a Go2", "go2"), ("Table II: the torso of a G1", "g1")):
        for one in runs:
            if one.scenario.startswith(robot) and one.identification == WITH:
                report.section(f"{table}, {SCENARIOS[one.scenario].title}")
                report.table(("", "original", "truth", "found", "sigma"), _rows(one))
    report.section("Table III: forces and cost with and without identification")
    report.text(
        "RMSE_F is that of a foot's force vector, relative is |F - F_true| / |F_true|; the cost half the sum of "
        "squared residuals in units of the stated noise. Without identification the torso is the description's."
    )
    head = ("log", "identification", "RMSE_F [N]", "relative [%]", "contact F1", "cost [1000]", "status")
    report.table(head, (_forces(one) for one in runs))


def _rows(one: Run) -> Iterable[tuple[str, ...]]:
    body = one.found.bodies[0]
    truth = one.log.truth.theta
    sigma = np.sqrt(np.diag(body.covariance))
    yield "m [kg]", *_cells(body.nominal[0], truth[0], body.mass, sigma[0], seen=bool(body.observed[0]))
    for k, axis in enumerate("xyz"):
        before, true = body.nominal[1 + k] / body.nominal[0], truth[1 + k] / truth[0]
        yield f"c_{axis} [m]", *_cells(before, true, body.com[k], body.com_sigma[k], seen=bool(body.com_observed[k]))
    for k, name in ((4, "xx"), (6, "yy"), (9, "zz")):
        values = (_central(theta)[k] for theta in (body.nominal, truth, body.parameters))
        yield f"I_{name} [kg m2]", *_cells(*values, _central_sigma(body)[k], seen=bool(body.observed[k]))


def _cells(*values: float, seen: bool) -> tuple[str, ...]:
    before, true, found, sigma = (f"{value:.4f}" for value in values)
    return before, true, *((found, sigma) if seen else ("-", "-"))


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
