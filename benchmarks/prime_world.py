# SPDX-License-Identifier: Apache-2.0
"""Is PRIME ever wrong without a word? Walks in worlds that it is not told about: error, sigma, error/sigma, status.

Each case is one thing that the robot's description, its drives or its ground have and the estimator's configuration
does not know. `--draws N` adds N walks in which all that has a prior is drawn from it, and the shares of errors within
50, 68 and 95 % of their sigmas. A short log each; `--cases` chooses.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from benchmarks.prime_world_trial import Walk, World, judge, walk
from benchmarks.prime_world_untold import UNTOLD, untold
from benchmarks.records import Record, add_options, collect
from benchmarks.report import Report, parser
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinds import joint_kinds
from sysid_nodes.rollouts.legged_model import GroundConfig
from sysid_nodes.simulation.legged.load import LoadConfig

Array = npt.NDArray[np.float64]

BATCH, HORIZON = "batch", "horizon"

LEVELS = {0.6745: 50, 1.0: 68, 1.96: 95, 3.0: 99.7}
"""Sigmas, and the share of errors that a normal distribution has within them [%]."""

FAR = 3.0
"""Error over sigma beyond which a parameter that is called good is wrong without a word."""

_JOINTS, _FOOT, _TILT = 0.02, 2e-3, np.radians(3.0)
"""Largest offset of an encoder [rad], standard deviation of a foot's centre [m], largest slope [rad]."""

_SHARE, _ROTORS = 0.03, 0.3
"""Standard deviations of gains by kind and in common and of the links' masses, and that of the rotors: the priors'."""

_LATE = {"imu": 3e-3, "mocap": 5e-3}
"""Standard deviations of how late streams are [s]: the priors'."""

_DOUBTED = ("DOUBTFUL", "LOST")

_INERTIA = {"Ixx": 4, "Iyy": 6, "Izz": 9}


_ON_THIGH = LoadConfig(mass=0.5, link="FL_thigh", position=(0.0, 0.03, -0.1), size=(0.04, 0.03, 0.08))
_BOTH = {"prime.inertia.bodies": "base,FL_thigh"}


def _signs(seed: int, *shape: int) -> Array:
    return np.random.default_rng([seed, 23]).choice([-1.0, 1.0], shape)


CASES: dict[str, tuple[str, Callable[[int], World], tuple[str, ...]]] = {
    "nominal": ("nothing", lambda _: World(), (BATCH, HORIZON)),
    "gain3": ("drives give 3 % less than they say", lambda _: World(gain=1.03), (BATCH, HORIZON)),
    "gain5": ("drives give 5 % less than they say", lambda _: World(gain=1.05), (BATCH, HORIZON)),
    "tilt2": ("a slope of 2 degrees", lambda _: World(tilt=(np.radians(1.2), np.radians(1.6))), (BATCH, HORIZON)),
    "tilt3": ("a slope of 3 degrees", lambda _: World(tilt=(-np.radians(1.8), np.radians(2.4))), (BATCH, HORIZON)),
    "stand": ("it stands for 10 s", lambda _: World(motion="stand", skip=1.0, duration=10.0), (BATCH, HORIZON)),
    "friction": ("friction of 0.4", lambda _: World(ground=GroundConfig(friction=0.4)), (BATCH, HORIZON)),
    "foot": ("centres of feet off by 2 mm", lambda seed: World(feet=_FOOT * _signs(seed, 4, 3)), (BATCH, HORIZON)),
    "joints": ("encoders off by 0.02 rad", lambda seed: World(joints=_JOINTS * _signs(seed, 12)), (BATCH, HORIZON)),
    "soft": (
        "soft ground, control at 250 Hz",
        lambda _: World(ground=GroundConfig(friction=0.7, time_constant=0.02)),
        (BATCH,),
    ),
    "softer": ("ground twice as soft", lambda _: World(ground=GroundConfig(0.7, 0.04)), (BATCH, HORIZON)),
    "imu": ("an IMU that is 5 ms late", lambda _: World(late={"imu": 0.005}), (BATCH, HORIZON)),
    "mocap": ("motion capture that is 10 ms late", lambda _: World(late={"mocap": 0.01}), (BATCH, HORIZON)),
    "uneven": ("footholds up to 5 mm above and below", lambda _: World(footholds=0.005), (BATCH, HORIZON)),
    "steps": ("footholds up to 2 cm above and below", lambda _: World(footholds=0.02), (BATCH, HORIZON)),
    "footholds": (
        "footholds up to 2 cm above and below, said to be of 1 cm",
        lambda _: World(footholds=0.02, options={"prime.contact.foothold_sigma": 0.01}),
        (BATCH, HORIZON),
    ),
    "thigh": (
        "half a kilogram on a thigh, thigh and torso unknown",
        lambda _: World(load=_ON_THIGH, options=_BOTH, duration=8.0),
        (BATCH, HORIZON),
    ),
    "hops": ("nothing, 10 s of rotations, trot and hops", lambda _: World(skip=0.0, duration=10.0), (BATCH, HORIZON)),
    "silent": ("no torques", lambda _: World(torques=False), (BATCH, HORIZON)),
    "g1": ("nothing, a G1", lambda _: World(robot="g1", duration=5.0), (BATCH, HORIZON)),
    "sole": (
        "corners of a G1's soles off by 2 mm",
        lambda seed: World(robot="g1", duration=5.0, feet=_FOOT * _signs(seed, 8, 3)),
        (BATCH, HORIZON),
    ),
}
"""Word for the command line, title, world by seed, modes."""

_ON_G1 = "-g1"
"""Ending of an untold effect's word, of the same on a G1."""


def _untold_world(effect: str, robot: str) -> Callable[[int], World]:
    return lambda seed: World(robot=robot, duration=4.0 if robot == "go2" else 5.0, untold=untold(effect, seed))


CASES |= {
    effect + end: (title + said, _untold_world(effect, robot), (BATCH, HORIZON))
    for robot, end, said in (("go2", "", ""), ("g1", _ON_G1, ", a G1"))
    for effect, title in UNTOLD.items()
}


def draw(seed: int, robot: str = "go2") -> World:
    """A world in which all that has a prior is off by what it says, and ground and control are what they may be."""
    rng = np.random.default_rng([seed, 29])
    model = load_robot(robot)
    kinds, index = joint_kinds(model)
    carriers = list(dict.fromkeys(point.joint for point in model.contacts))
    feet = [carriers.index(point.joint) for point in model.contacts]
    return World(
        robot=robot,
        gain=1.0 + _SHARE * (rng.standard_normal(len(kinds))[index] + rng.standard_normal()),
        links=float(np.exp(_SHARE * rng.standard_normal())),
        rotors=float(np.exp(_ROTORS * rng.standard_normal())),
        joints=_JOINTS * rng.uniform(-1.0, 1.0, model.n),
        feet=_FOOT * rng.standard_normal((max(feet) + 1, 3))[feet],
        tilt=tuple(_TILT * rng.uniform(-1.0, 1.0, 2) / np.sqrt(2.0)),
        ground=GroundConfig(friction=float(rng.uniform(0.4, 0.9)), time_constant=float(rng.uniform(0.005, 0.02))),
        control=float(rng.choice([0.002, 0.004, 0.01])),
        late={
            "imu": float(_LATE["imu"] * rng.standard_normal()),
            "mocap": float(_LATE["mocap"] * rng.standard_normal()),
        },
    )


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_world", __doc__)
    options.add_argument("--cases", nargs="*", choices=CASES, default=list(CASES), help="which")
    options.add_argument("--seeds", type=int, default=1, help="runs of a case, four times as many of the G1")
    options.add_argument("--draws", type=int, default=0, help="walks of each robot with everything drawn at random")
    options.add_argument("--robots", nargs="*", choices=("go2", "g1"), default=["go2"], help="that are drawn")
    options.add_argument("--modes", nargs="*", choices=(BATCH, HORIZON), default=[BATCH, HORIZON], help="which")
    options.add_argument("--duration", type=float, default=4.0, help="of a log that is drawn [s]")
    add_options(options)
    chosen = options.parse_args(arguments)
    keys = [
        {"name": name, "seed": seed, "mode": mode, "duration": 0.0}
        for name in chosen.cases
        for seed in range(chosen.seed, chosen.seed + chosen.seeds * (4 if name in ("g1", "sole") else 1))
        for mode in CASES[name][2]
        if mode in chosen.modes
    ]
    keys += [
        {"name": robot, "seed": seed, "mode": mode, "duration": chosen.duration}
        for robot in (chosen.robots if chosen.draws else ())
        for seed in range(chosen.seed, chosen.seed + chosen.draws)
        for mode in chosen.modes
    ]
    records = collect(chosen, keys, run, "runs")
    name = "prime-world" if chosen.cases else f"prime-world-{'-'.join(chosen.robots)}"
    if chosen.cases and all(case.removesuffix(_ON_G1) in UNTOLD for case in chosen.cases):
        name = "prime-world-untold"
    report = Report(name, "PRIME in worlds that it is not told about", chosen.out, chosen.command)
    summarise(report, [(_title(**key), entry) for key, entry in zip(keys, records, strict=True)])
    print(report.write())
    return 0


def run(name: str, seed: int, mode: str, duration: float) -> Record:
    """A case, or, of a duration, a robot's walk with everything drawn at random."""
    return judge(_world(name, seed, duration), _walk(name, seed, duration), seed, mode)


@lru_cache(maxsize=1)
def _walk(name: str, seed: int, duration: float) -> Walk:
    """Both modes get the same."""
    return walk(_world(name, seed, duration), seed)


def _world(name: str, seed: int, duration: float) -> World:
    return replace(draw(seed, name), duration=duration) if duration else CASES[name][1](seed)


def _title(name: str, duration: float, **_: object) -> str:
    return _ALL[name] if duration else CASES[name][0]


_ALL = {"go2": "all at random", "g1": "all at random, a G1"}


def summarise(report: Report, records: Sequence[tuple[str, Record]]) -> None:
    """The table of cases, and coverage of those that are drawn."""
    report.text(
        "Errors / sigmas = error over sigma, of the torso's mass, centre of mass and moments of inertia, as "
        "result.json has them; the root mean square over stages for forces of feet on the ground and the base's pose. "
        "The status is that of the whole result. `silent`: more than three sigma off in a parameter that is called "
        "observed, and the status neither DOUBTFUL nor LOST."
    )
    told = [(title, mode) for title in dict.fromkeys(title for title, _ in records) for mode in (BATCH, HORIZON)]
    groups = {key: [entry for title, entry in records if (title, entry["mode"]) == key] for key in told}
    report.section("Cases over their seeds: largest error over sigma")
    report.table(
        ("not told", "mode", "runs", "status", *_PARTS, "silent"),
        (_over_seeds(key, entries) for key, entries in groups.items() if entries),
    )
    said = [(key, [entry["named"] for entry in entries]) for key, entries in groups.items() if entries]
    if any(any(names) for _, names in said):
        report.section("Effects that were named, the first of a run first")
        words = (Counter(", then ".join(names) or "none" for names in runs) for _, runs in said)
        cells = ("; ".join(f"{count} x {name}" for name, count in counted.items()) for counted in words)
        report.table(("not told", "mode", "named"), ((*key, cell) for (key, _), cell in zip(said, cells, strict=True)))
    report.section("Runs, without those at random that are GOOD and right")
    head = (
        "not told", "seed", "mode", "status", "mass [kg]", "CoM x [mm]", "CoM y [mm]", "CoM z [mm]", *_INERTIA,
        "force x, y, z", "within 3 [%]", "place", "angle", "force error [%]", "CPU [s]", "silent",
    )  # fmt: skip
    shown = [
        (title, entry)
        for title, entry in records
        if title not in _ALL.values() or entry["status"] != "GOOD" or _silent(entry)
    ]
    report.table(head, (_row(title, entry) for title, entry in shown))
    others = [(title, entry, body) for title, entry in records for body in entry["others"]]
    if others:
        report.section("Other bodies than the torso")
        report.table(
            ("not told", "seed", "mode", "link", *head[4:11]),
            ((title, entry["seed"], entry["mode"], body["link"], *_body_cells(body)) for title, entry, body in others),
        )
    for title, mode in ((title, mode) for title in _ALL.values() for mode in (BATCH, HORIZON)):
        if chosen := groups.get((title, mode)):
            trusted = [entry for entry in chosen if entry["status"] not in _DOUBTED]
            report.section(f"Coverage, {mode}: {len(trusted)} of {len(chosen)} walks that are trusted, {title}")
            if trusted:
                heads = ("", "runs", *(f"within {share} %" for share in LEVELS.values()), "mean [sigma]", "RMS [sigma]")
                report.table(heads, _coverage(trusted))
            wrong, seen = sum(len(_silent(entry)) for entry in trusted), sum(map(_observed, trusted))
            report.text(
                f"DOUBTFUL or LOST: {len(chosen) - len(trusted)}. More than three sigma off without a word: {wrong} of "
                f"{seen} observed parameters, {100 * wrong / max(seen, 1):.1f} % (0.3 % by chance)."
            )


_PARTS = {"mass": ("mass",), "CoM": ("CoM x", "CoM y", "CoM z"), "inertia": tuple(_INERTIA)}


def _over_seeds(key: tuple[str, str], entries: Sequence[Record]) -> tuple[object, ...]:
    statuses = Counter(entry["status"] for entry in entries)
    worst = []
    for names in _PARTS.values():
        seen = [abs(ratios(entry)[name]) for entry in entries for name in names if name not in entry["unobserved"]]
        worst.append(f"{max(seen):.1f}" if seen else "not observed")
    said = ", ".join(f"{status} {count}" for status, count in statuses.items())
    return (*key, len(entries), said, *worst, sum(bool(_silent(entry)) for entry in entries))


def ratios(entry: Record) -> dict[str, float]:
    """Error over sigma of each quantity of a body."""
    found = {"mass": _ratio(entry["parameters"], 0)}
    found |= {f"CoM {axis}": _ratio(entry["com"], k) for k, axis in enumerate("xyz")}
    return found | {name: _ratio(entry["parameters"], k) for name, k in _INERTIA.items()}


def _silent(entry: Record) -> list[str]:
    if entry["status"] in _DOUBTED:
        return []
    return [
        name
        for body in (entry, *entry["others"])
        for name, value in ratios(body).items()
        if abs(value) > FAR and name not in body["unobserved"]
    ]


def _observed(entry: Record) -> int:
    return sum(name not in entry["unobserved"] for name in ratios(entry))


def _ratio(values: Record, k: int) -> float:
    return float(values["error"][k] / values["sigma"][k])


def _body_cells(entry: Record) -> tuple[str, ...]:
    """Error, sigma and their quotient of mass, centre of mass and moments of inertia."""

    def cell(values: Record, k: int, scale: float, name: str) -> str:
        if name in entry["unobserved"]:
            return "not observed"
        error, sigma = scale * values["error"][k], scale * values["sigma"][k]
        return f"{error:+.3g} / {sigma:.2g} = {error / sigma:+.1f}"

    com = (cell(entry["com"], k, 1e3, f"CoM {axis}") for k, axis in enumerate("xyz"))
    inertia = (cell(entry["parameters"], k, 1.0, name) for name, k in _INERTIA.items())
    return cell(entry["parameters"], 0, 1.0, "mass"), *com, *inertia


def _row(title: str, entry: Record) -> tuple[object, ...]:
    pose, told = entry["rms"]["pose"], "force" in entry["rms"]
    inside = entry["inside"]["force"]["3.0"] if told else ()
    return (
        title, entry["seed"], entry["mode"], entry["status"], *_body_cells(entry),
        ", ".join(f"{value:.1f}" for value in entry["rms"]["force"]) if told else "not observed",
        ", ".join(f"{100 * value:.0f}" for value in inside) or "not observed",
        ", ".join(f"{value:.1f}" for value in pose[:3]), ", ".join(f"{value:.1f}" for value in pose[3:]),
        f"{100 * entry['force_error']:.1f}" if told else "not observed", f"{entry['seconds']:.1f}",
        ", ".join(_silent(entry)) or "no",
    )  # fmt: skip


def _coverage(entries: Sequence[Record]) -> Iterable[tuple[object, ...]]:
    table = [ratios(entry) for entry in entries]
    for name in table[0]:
        z = np.array([row[name] for row, entry in zip(table, entries, strict=True) if name not in entry["unobserved"]])
        if len(z):
            shares = (f"{100 * np.mean(np.abs(z) <= k):.0f}" for k in LEVELS)
            yield name, len(z), *shares, f"{np.mean(z):+.2f}", f"{np.sqrt(np.mean(z**2)):.2f}"
    parts = {"force": ("x", "y", "z"), "pose": ("x", "y", "z", "roll", "pitch", "yaw")}
    for name, axes in parts.items():
        told = [entry for entry in entries if name in entry["rms"]]
        for k, axis in enumerate(axes if told else ()):
            shares = (np.mean([entry["inside"][name][str(level)][k] for entry in told]) for level in LEVELS)
            rms = np.sqrt(np.mean([entry["rms"][name][k] ** 2 for entry in told]))
            yield f"{name} {axis}", len(told), *(f"{100 * share:.0f}" for share in shares), "", f"{rms:.2f}"


if __name__ == "__main__":
    sys.exit(main())
