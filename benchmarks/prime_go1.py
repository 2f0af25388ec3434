# SPDX-License-Identifier: Apache-2.0
"""PRIME on a real Go1: what does it say of a log without torques, and which feet does it have on the ground?

The log is that of the unit tests of mrsp/serow (github.com/mrsp/serow, evaluation/unit_tests/data/go1.csv; not
redistributed here): encoders, gyroscope, accelerometer and the feet's force sensors at 400 Hz for 25 s, no torques, no
velocities, no orientation, no motion capture. The robot is the Go1 of example-robot-data. The force sensors are
compared with, never used.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.report import Report, parser
from sysid_nodes.data.config import from_flat
from sysid_nodes.data.readings import Readings
from sysid_nodes.robots import ContactSpec, Robot, load_robot, with_contacts
from sysid_nodes.robots.example_robots import example_urdf
from sysid_nodes.sessions.prime.batch import Gatherer, StreamRecord, solve_batch
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import make_horizon
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.update import PrimeUpdate

Array = npt.NDArray[np.float64]

LEGS = ("FR", "FL", "RR", "RL")
LEVELS = (10.0, 30.0, 100.0)
"""Readings of a force sensor above which its foot counts as on the ground, in the sensor's own unit; weight on four
feet is some 150 each, in the air they read -6 to 7."""

LYING = 0.15
"""Mean depth of the feet below the base's origin under which the robot lies on its belly [m]; it walks at 0.25."""

PART = 4.0
"""Of the log, whose F1 is told [s]."""


@dataclass(frozen=True)
class Go1Log:
    """Attributes: stamps t (N,) [s]; q (N, 12) and names of the joints; gyro, acceleration (N, 3); force (N, 4)."""

    t: Array
    q: Array
    names: tuple[str, ...]
    gyro: Array
    acceleration: Array
    force: Array

    @staticmethod
    def read(path: Path) -> Go1Log:
        """Of the CSV file."""
        table = np.genfromtxt(path, delimiter=",", names=True)
        joints = [(leg, joint) for leg in LEGS for joint in ("hip", "thigh", "calf")]

        def columns(names: Sequence[str]) -> Array:
            return np.array([table[name] for name in names]).T

        return Go1Log(
            table["Times"],
            columns([f"JointPos{leg}_{joint}" for leg, joint in joints]),
            tuple(f"{leg}_{joint}_joint" for leg, joint in joints),
            columns([f"BaseW{axis}" for axis in "xyz"]),
            columns([f"BaseA{axis}" for axis in "xyz"]),
            columns([f"{leg}_Force" for leg in LEGS]),
        )


_EVERY = 20
"""Readings between two looks at the legs."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = parser("prime_go1", __doc__)
    options.add_argument("--log", type=Path, required=True, help="go1.csv")
    options.add_argument("--duration", type=float, default=60.0, help="of the log, at most [s]")
    chosen = options.parse_args(arguments)
    log, robot = Go1Log.read(chosen.log), go1()
    end = min(log.t[-1], log.t[0] + chosen.duration)
    down = min(end, time_of_lying_down(log, robot))
    report = Report("prime-go1", "PRIME on a real Go1 without torques", chosen.out, chosen.command)
    report.text(
        "F1 is that of contact on and off against the feet's force sensors, at three readings that may count as the "
        "ground; the shares are those of the stages on the ground, FR, FL, RR, RL, estimated and at the middle one. "
        f"By its encoders the robot lies down on its belly {down - log.t[0]:.1f} s after the start and stays so: "
        "the ground then bears a trunk that no contact point gives, and feet that bear next to nothing are called in "
        "the air by their sensors. *On its feet* leaves that out."
    )
    runs = {
        "horizon": _run("horizon", log, robot, end),
        "horizon, on its feet": _run("horizon", log, robot, down),
        "batch": _run("batch", log, robot, end),
        "batch, on its feet": _run("batch", log, robot, down),
    }
    levels = [f"F1 at {level:g}" for level in LEVELS]
    report.table(
        ("", "status", "observed", *levels, "estimated [%]", "sensors [%]", "CPU [s]"),
        (_row(mode, run) for mode, run in runs.items()),
    )
    report.section(f"F1 at {LEVELS[1]:g} by time")
    starts = np.arange(0.0, end - log.t[0], PART)
    names = [f"from {start:g} s" for start in starts]
    report.table(("", *names), ((mode, *_by_time(run, log.t[0] + starts)) for mode, run in runs.items()))
    print(report.write())
    return 0


def go1() -> Robot:
    """The Go1 with its four feet and the IMU on its base."""
    robot = load_robot("urdf", urdf_text=example_urdf("go1_description/urdf/go1.urdf"), floating_base=True)
    feet = [ContactSpec(f"{leg}_foot", f"{leg}_foot", radius=0.02) for leg in LEGS]
    return replace(with_contacts(robot, feet), imu=robot.body)


def time_of_lying_down(log: Go1Log, robot: Robot) -> float:
    """Stamp after which the legs stay folded [s]; infinite where they do not."""
    data, order = robot.model.createData(), [log.names.index(name) for name in robot.joint_names]
    feet = [robot.model.getFrameId(f"{leg}_foot") for leg in LEGS]
    for k in range(len(log.t) - 1, -1, -_EVERY):
        q = pinocchio.neutral(robot.model)
        q[7:] = log.q[k][order]
        pinocchio.framesForwardKinematics(robot.model, data, q)
        if -np.mean([data.oMf[foot].translation[2] for foot in feet]) > LYING:
            return float(log.t[min(k + _EVERY, len(log.t) - 1)]) if k < len(log.t) - _EVERY else float("inf")
    return float(log.t[0])


@dataclass(frozen=True)
class Run:
    """Attributes: session; t (K,) [s]; on (K, 4) whether feet are on the ground; force (K, 4); CPU time [s]."""

    session: PrimeSession
    t: Array
    on: npt.NDArray[np.bool_]
    force: Array
    seconds: float

    def f1(self, level: float, chosen: npt.NDArray[np.bool_] | slice = slice(None)) -> str:
        """Of contact at some stages."""
        on, true = self.on[chosen], self.force[chosen] > level
        return f"{2.0 * np.sum(on & true) / max(int(np.sum(on) + np.sum(true)), 1):.3f}"


def _run(mode: str, log: Go1Log, robot: Robot, end: float) -> Run:
    config = from_flat(PrimeSessionConfig, {"robot": "urdf", "floating_base": True, "pacing.hop": 4})
    gathered, record = Gatherer(), StreamRecord.empty()
    batch = mode == "batch"
    begun, updates = time.process_time(), list[PrimeUpdate]()
    session = PrimeSession(robot, config, lambda: gathered if batch else make_horizon(robot, config), clock=lambda: 0.0)
    for i in np.flatnonzero(log.t <= end):
        for readings in (
            Readings(log.t[i], {"joint_position": log.q[i]}, log.names),
            Readings(log.t[i], {"gyroscope": log.gyro[i], "accelerometer": log.acceleration[i]}),
        ):
            update = session.take(readings)
            updates += [] if update is None else [update]
        if batch:
            record.look(session)
    if batch:
        updates = [solve_batch(session, gathered, record)[0]]
    seconds = time.process_time() - begun
    t = np.concatenate([update.estimate.t[list(update.stages)] for update in updates])
    on = np.concatenate([update.estimate.contacts.on_ground[list(update.stages)] for update in updates])
    on = on[:, [updates[0].estimate.contacts.names.index(f"{leg}_foot") for leg in LEGS]]
    force = log.force[np.clip(np.searchsorted(log.t, t), 0, len(log.t) - 1)]
    return Run(session, t, on, force, seconds)


def _row(mode: str, run: Run) -> tuple[object, ...]:
    assert run.session.estimate is not None
    observed = int(sum(body.observed.sum() for body in run.session.estimate.bodies))
    shares = (", ".join(f"{100 * share:.0f}" for share in on.mean(axis=0)) for on in (run.on, run.force > LEVELS[1]))
    scores = (run.f1(level) for level in LEVELS)
    return (mode, run.session.whole_status.name, f"{observed} of 10", *scores, *shares, f"{run.seconds:.0f}")


def _by_time(run: Run, starts: Array) -> list[str]:
    parts = [(run.t >= start) & (run.t < start + PART) for start in starts]
    return [run.f1(LEVELS[1], part) if part.any() else "-" for part in parts]


if __name__ == "__main__":
    sys.exit(main())
