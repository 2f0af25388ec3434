# SPDX-License-Identifier: Apache-2.0
"""Do motions by `sysid excite` tell an arm's constants better than random ones?

A Panda in MuJoCo, its constants hidden, moves as `sysid excite` has it about one posture, with one amplitude, for as
long each: its chirp, its motion for drives (`kind=optimal`), its motion for links, friction and rotors (`kind=links`),
and random Fourier motions, drawn anew where they need more torque than there is. Positions are off by 0.3 mrad, torques
by 0.3 % of their root mean squares along a motion that is the same for all, or along each by itself (--proportional):
sensors of larger torques are often noisier. Errors are those of friction over speeds and of rigid-body torques along
that motion, and of log-Cholesky coordinates in prior sigmas; observed are constants that are narrowed to half of the
prior, and narrowing is the posterior over the prior sigma, its geometric mean. Nats are what is expected to be told
(link_excitation.py).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np
from scipy.interpolate import CubicSpline

from benchmarks.bayesian_robots import bench_robot
from benchmarks.bayesian_trial import MIDDLE, errors
from benchmarks.bayesian_world import bench_log, move, simulate, true_mechanism
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.systems.actuators.excitation import Excitation, ExcitationConfig, excite
from sysid_nodes.systems.actuators.link_excitation import Judge, excite_links
from sysid_nodes.systems.actuators.optimal_excitation import excite_best
from sysid_nodes.systems.bayesian import identify

KINDS = ("fourier", "chirp", "optimal", "links")
_STATED = 0.05  # torque noise that the identification begins with, of the torques' root mean squares
_OTHER = 2.0  # of the motion along which torques are compared [s]


@cache
def motion(kind: str, duration: float, amplitude: float, seed: int) -> tuple[Excitation, float]:
    """A motion of the manipulator, and what it is expected to tell [nats]."""
    own = bench_robot("manipulator")
    config = ExcitationConfig(kind=kind, duration=duration, amplitude=amplitude, seed=seed)
    judge = Judge.of(own.robot, excite(replace(config, kind="chirp"), own.robot.limits, own.rest), config.share)
    if kind in ("optimal", "links"):
        found = (excite_best if kind == "optimal" else excite_links)(config, own.robot, own.rest)
        return found, judge.information(found)
    found = excite(config, own.robot.limits, own.rest)
    while kind == "fourier" and not judge.allows(found):
        config = replace(config, seed=config.seed + 1000)
        found = excite(config, own.robot.limits, own.rest)
    return found, judge.information(found)


def trial(seed: int, kind: str, duration: float, amplitude: float, proportional: bool) -> Record:
    """Errors of a hidden robot's constants after a motion; another one by chance for every robot."""
    own = bench_robot("manipulator")
    asked, told = motion(kind, duration, amplitude, seed if kind == "fourier" else 1)
    truth, mechanism = move(own, seed, CubicSpline(asked.t, asked.q)), true_mechanism(own)
    other, rng = simulate(own, seed, _OTHER), np.random.default_rng([seed, 1])
    size = np.sqrt(np.mean((truth if proportional else other).torque ** 2, axis=0))
    q = truth.q + MIDDLE * rng.standard_normal(truth.q.shape)
    torque = truth.torque + 10.0 * MIDDLE * size * rng.standard_normal(truth.torque.shape)
    noise = replace(own.config.noise, torque=_STATED * float(np.sqrt(np.mean(torque**2))))
    result = identify(bench_log(own, q, torque, None), own.robot, replace(own.config, noise=noise))
    if not result.status.trusted:
        return {"status": result.status.name, "nats": told}
    x = mechanism.parameters.mean.copy()
    x[mechanism.parameters.free] = result.theta
    return {
        "status": result.status.name,
        "nats": told,
        "errors": errors(mechanism, other, x),
        "observed": sum(row.verdict == "observed" for row in result.parameters) / len(result.parameters),
        "narrowing": float(np.exp(np.mean([np.log(row.narrowing) for row in result.parameters]))),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Writes the report."""
    options = parser("bayesian_excitation", __doc__)
    options.add_argument("--arms", type=int, default=3, help="hidden robots")
    options.add_argument("--duration", type=float, default=8.0, help="of each motion [s]")
    options.add_argument("--amplitude", type=float, default=0.5, help="of each motion [rad]")
    options.add_argument("--proportional", action="store_true", help="noise of torques by those of each motion")
    add_options(options)
    args = options.parse_args(arguments)
    report = Report("bayesian-excitation", "Motions by sysid excite beside random ones", args.out, args.command)
    report.text(" ".join((__doc__ or "").split("\n\n")[1].split()))
    seeds = range(args.seed, args.seed + args.arms)
    shape = {"duration": args.duration, "amplitude": args.amplitude, "proportional": args.proportional}
    keys = [{"seed": seed, "kind": kind} | shape for kind in KINDS for seed in seeds]
    records = list(zip(keys, collect(args, keys, trial, "trials", "kind"), strict=True))
    rows, told = [], dict[str, float]()
    for kind in KINDS:
        mine = [found for key, found in records if key["kind"] == kind]
        claimed = [found for found in mine if "errors" in found]
        middle = np.median([[*found["errors"], found["observed"], found["narrowing"]] for found in claimed], axis=0)
        told[kind] = float(middle[4])
        nats = np.median([found["nats"] for found in mine])
        rows.append((
            "random" if kind == "fourier" else kind, f"{len(claimed)} of {len(mine)}", f"{nats:.0f}",
            *(f"{100.0 * value:.3g}" for value in middle[:2]), f"{middle[2]:.3f}", f"{100.0 * middle[3]:.0f}",
            f"{middle[4]:.3f}",
        ))  # fmt: skip
    report.table(
        ("motion", "claimed", "nats", "friction [%]", "rigid-body torque [%]", "coordinates [sigma]", "observed [%]",
         "narrowing"), rows,
    )  # fmt: skip
    found = f"narrowing {told['links']:.3f} against {told['fourier']:.3f}"
    report.asked([("a planned motion tells more than one by chance", found, told["links"] < told["fourier"])])
    sys.stdout.write(f"{report.write()}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
