# SPDX-License-Identifier: Apache-2.0
"""The paper's Tables I and II in simulation: five robots, hidden constants, three levels of noise.

Table I: the posterior without an energy term, with the paper's (commanded effort times joint motion) and with a power
meter's readings. Table II: the posterior, without any of these, beside inverse-dynamics regression, energy regression
and figaroh's fit, on motion smoothed by Savitzky and Golay, each with the window of five that is best in hindsight, in
every cell anew; beside MuJoCo's toolbox, whose pieces of 0.2 s begin where such a window has speeds; and beside FDDP on
a state that holds the constants, which is told the noise; ours says how far off it may be, too. figaroh knows trees,
and so nobody whose feet are held. Of ours, friction is the posterior's mean. Truth is MuJoCo's (bayesian_world.py),
prior and readings are the same for all. Without torques: the posterior of positions and a power meter's readings, one
number for all motors, beside the prior, which is all that there would be without either.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from benchmarks.bayesian_robots import ROBOTS
from benchmarks.bayesian_tables_report import summarise
from benchmarks.bayesian_trial import COMMANDED, METER, METER_ALONE, METHODS, MIDDLE, NOISE, SLOW, trial
from benchmarks.records import add_options, collect
from benchmarks.report import Report, parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_tables", __doc__)
    options.add_argument("--seeds", type=int, default=2, help="hidden robots of each kind")
    options.add_argument("--duration", type=float, default=4.0, help="of each log [s]")
    options.add_argument("--robots", nargs="*", default=list(ROBOTS), choices=ROBOTS, help="which of them")
    options.add_argument(
        "--slow",
        nargs="*",
        default=list(ROBOTS),
        choices=ROBOTS,
        help=f"kinds of which the first robot is for {', '.join(SLOW)}, too",
    )
    options.add_argument("--slow-noises", nargs="*", type=float, default=list(NOISE), help="and noises for these")
    options.add_argument("--limit", type=float, default=0.0, help="of CPU for each of these [s]; 0 for none")
    add_options(options)
    chosen = options.parse_args(arguments)
    quick = [(method, noise) for method in METHODS if method not in SLOW for noise in NOISE]
    quick = [pair for pair in quick if pair[1] == MIDDLE or pair[0] not in (COMMANDED, METER, METER_ALONE)]
    slow = [(method, noise) for noise in chosen.slow_noises for method in SLOW]
    keys = [
        {"robot": robot, "seed": seed, "duration": chosen.duration, "noise": noise, "method": method}
        | ({"limit": chosen.limit} if method in SLOW and chosen.limit else {})
        for pairs, robots, count in ((quick, chosen.robots, chosen.seeds), (slow, chosen.slow, 1))
        for seed in range(chosen.seed, chosen.seed + count)
        for robot in robots
        for method, noise in pairs
    ]
    records = list(zip(keys, collect(chosen, keys, trial, "trials"), strict=True))
    report = Report("bayesian-tables", "The Bayesian paper's Tables I and II", chosen.out, chosen.command)
    report.text(
        f"{' '.join((__doc__ or '').split(chr(10) * 2)[1].split())} {chosen.seeds} hidden robots of each kind, "
        f"{chosen.duration:g} s at 500 Hz each, {' and '.join(SLOW)} on the first alone. Floating "
        "bases are six joints without a motor; feet that stand are held by loops in the models, and in the truth by a "
        "floor that pushes and rubs points under them; a multirotor's rotors give a known wrench. Contacts that begin "
        "and end, and an IMU, are not in it."
    )
    summarise(report, records)
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
