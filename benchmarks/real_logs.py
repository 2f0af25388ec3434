# SPDX-License-Identifier: Apache-2.0
"""The identifier on real robots: a UR10e with a known load, a Panda whose torque is to be predicted.

UR10e: calibrated on the unloaded run, then the interval of the added mass on the loaded run, with the drives' gains
uncertain as stated, and what each assumption costs of its width. The load is 2.805 kg. Panda: calibrated on the first
10 s of an excitation, then the torque of the rest against the URDF's own parameters. The logs are not part of the
project; without them this says so and does nothing.
"""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from scipy.signal import savgol_filter

from benchmarks.report import Report, parser
from sysid_nodes.cli.interval.samples import read_samples
from sysid_nodes.cli.progress import Stages, track
from sysid_nodes.data.config import load_yaml
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.friction import friction_torque
from sysid_nodes.models.known_robot import nominal_parameters
from sysid_nodes.models.regressors import standard_regressor
from sysid_nodes.robots import MotorConstants, load_robot
from sysid_nodes.systems.interval.calibration import calibrate, calibrated_box
from sysid_nodes.systems.interval.calibration_file import Calibration, save_calibration
from sysid_nodes.systems.interval.calibration_runs import Run
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig
from sysid_nodes.systems.interval.pipeline import IntervalPipeline

mpl.use("Agg")
from matplotlib import pyplot as plt

Array = npt.NDArray[np.float64]

ROOT = Path(__file__).resolve().parents[1]
TRUE_MASS = 2.805
FIT_SECONDS = 10.0


def main(arguments: list[str] | None = None) -> int:
    """Returns 1 when the load's mass is outside its interval."""
    options = parser("real_logs", __doc__)
    options.add_argument("--data", type=Path, default=ROOT.parent / "shared" / "data", help="folder of the logs")
    args = options.parse_args(arguments)
    if not args.data.is_dir():
        sys.stdout.write(f"no logs under {args.data}; nothing was measured\n")
        return 0
    report = Report("real-logs", "Real logs", args.out, args.command)
    inside = ur10e(args.data / "ur10e_payload", report)
    panda(args.data / "panda_excitation", report)
    sys.stdout.write(f"{report.write()}\n")
    return 0 if inside else 1


def ur10e(folder: Path, report: Report) -> bool:
    """Mass of the load, from torque that is motor current; returns whether the interval contains it."""
    config = load_yaml(IntervalIdentifierConfig, ROOT / "config" / "ur10e.yaml")
    robot = load_robot("urdf", urdf=folder / "ur10e.urdf")
    unloaded = read_samples(robot, config, folder / "unloaded_mcap", "/joint_states")
    with Stages() as stages:
        found = calibrate(robot, config, [Run(unloaded, 0.0, "unloaded")], progress=stages.show)
    with tempfile.TemporaryDirectory() as scratch:
        file = Path(scratch) / "calibration.json"
        save_calibration(found, file)
        pipeline = IntervalPipeline(robot, replace(config, calibration=str(file)))
    loaded = read_samples(robot, config, folder / "loaded_2805g_mcap", "/joint_states")
    for k in track(range(len(loaded)), "identify"):
        pipeline.push(loaded.names, loaded.t[k], loaded.q[k], loaded.qd[k], loaded.tau[k])
    result = pipeline.finish()

    report.section("UR10e: the added mass")
    inside = bool(result.lower[0] <= TRUE_MASS <= result.upper[0])
    centre, radius = (float(part[-1]) for part in calibrated_box(robot, config))  # of the last gain; all are alike
    report.text(
        f"Status {result.status.name}. Mass in [{result.lower[0]:.3f}, {result.upper[0]:.3f}] kg, estimate "
        f"{result.nominal[0]:.3f} kg; the load is {TRUE_MASS} kg: {'inside' if inside else 'OUTSIDE'}. Drive gain "
        f"anywhere in [{centre - radius:.3f}, {centre + radius:.3f}] on every joint by itself. "
        f"Torque error bound from the unloaded run: {_list(found.torque_absolute)} N m "
        f"(residual rms {_list(found.residual_rms)} N m, over all windows, also those in which a joint turns and "
        "friction has a radius of its own)."
    )
    report.text(
        "What each assumption costs of the width of the mass interval, from the certificates. The shares add up to "
        "more than the width where the data narrow it further than the assumptions alone would."
    )
    shares = sorted(result.costs.items(), key=lambda item: -item[1][0])
    report.table(("assumption", "kg"), [(name, f"{cost[0]:.3f}") for name, cost in shares if cost[0] > 5e-4])
    figure, axis = plt.subplots(figsize=(8.0, 3.6), layout="constrained")
    t = np.array([entry.t for entry in pipeline.history]) - loaded.t[0]
    axis.fill_between(
        t, [e.lower[0] for e in pipeline.history], [e.upper[0] for e in pipeline.history], step="post",
        color="#2b6cb0", alpha=0.25, lw=0.0, label="proven interval",
    )  # fmt: skip
    axis.plot(t, [e.nominal[0] for e in pipeline.history], color="#2b6cb0", lw=1.2, label="estimate")
    axis.axhline(TRUE_MASS, color="black", ls="--", lw=1.0, label=f"{TRUE_MASS} kg")
    axis.set(xlabel="time [s]", ylabel="added mass [kg]", ylim=(0.0, 6.0))
    axis.legend(frameon=False, ncols=3)
    axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(report.figure("-ur10e", "Interval of the added mass over the loaded run."), dpi=130)
    plt.close(figure)
    return inside


def joint_torque(chain: Chain, parameters: Array, q: Array, qd: Array, qdd: Array) -> Array:
    """(N, n) torque readings that parameters p (15 n,), in the order of `Unknowns`, predict for a motion (N, n)."""
    n = chain.n
    coulomb, viscous, armature, offset, gain = parameters[10 * n :].reshape(5, n)
    rigid = standard_regressor(chain, q, qd, qdd) @ parameters[: 10 * n]
    motor = MotorConstants(coulomb, viscous, armature, offset)
    return np.asarray((rigid + friction_torque(motor, qd, qdd)) / gain)


def panda(folder: Path, report: Report) -> None:
    """Torque of the end of a run, predicted by a fit of its start and by the URDF."""
    config = load_yaml(IntervalIdentifierConfig, ROOT / "config" / "panda.yaml")
    robot = load_robot("panda")
    samples = read_samples(robot, config, folder / "panda_first70_mcap", "/joint_states")
    split = int(np.searchsorted(samples.t, samples.t[0] + FIT_SECONDS))
    with Stages() as stages:
        found = calibrate(robot, config, [Run(samples.slice(0, split), 0.0, "first part")], progress=stages.show)
    rest = samples.slice(split, len(samples))
    # Accelerations for a per-sample prediction: local parabolas over 51 samples, about 51 ms.
    step = float(np.median(np.diff(samples.t)))
    qdd = savgol_filter(samples.qd, 51, 3, deriv=1, delta=step, axis=0)[split:]
    chain = Chain.from_robot(robot)
    bare = replace(config.known_robot, coulomb=(), viscous=(), armature=(), offset=())
    models: dict[str, Array] = {"URDF": nominal_parameters(robot, bare), "fit": found.estimate}
    rms = {
        name: np.sqrt(np.mean((rest.tau - joint_torque(chain, p, rest.q, rest.qd, qdd)) ** 2, axis=0))
        for name, p in models.items()
    }
    report.section("Panda: torque of the rest of the run")
    report.text(
        f"Fitted on the first {FIT_SECONDS:g} s, judged on the {rest.t[-1] - rest.t[0]:.1f} s after it: root mean "
        "square of the torque that is left over, per sample."
    )
    spread = rest.tau.std(axis=0)
    rows = [
        (f"joint {k + 1}", f"{rms['URDF'][k]:.3f}", f"{rms['fit'][k]:.3f}", f"{rms['URDF'][k] / rms['fit'][k]:.1f}",
         f"{100 * rms['fit'][k] / spread[k]:.0f} %")
        for k in range(robot.n)
    ]  # fmt: skip
    report.table(("", "URDF [N m]", "fit [N m]", "times smaller", "fit, share of the torque's own spread"), rows)
    report.text(_parameters(found))


def _parameters(found: Calibration) -> str:
    n = len(found.joints)
    return (
        f"Friction found: Coulomb {_list(found.estimate[10 * n : 11 * n])} N m, "
        f"viscous {_list(found.estimate[11 * n : 12 * n])} N m s/rad."
    )


def _list(values: Array) -> str:
    return ", ".join(f"{value:.2f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
