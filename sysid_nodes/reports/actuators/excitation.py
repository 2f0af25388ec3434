# SPDX-License-Identifier: Apache-2.0
"""Files of an exciting motion: a JointTrajectory as YAML, a table, arrays and a figure."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import yaml
from matplotlib import rc_context
from matplotlib.figure import Figure

from sysid_nodes.logs.writer import stamp_fields
from sysid_nodes.reports.drawing.plots import STYLE, to_svg
from sysid_nodes.systems.actuators.excitation import Excitation


def write_excitation(folder: Path, names: Sequence[str], motion: Excitation) -> None:
    """Writes trajectory.yaml, .csv, .npz and motion.svg into an existing folder.

    Raises:
        OSError: a file cannot be written.
    """
    (folder / "trajectory.yaml").write_text(_trajectory(names, motion), encoding="utf-8")
    (folder / "trajectory.csv").write_text(_table(names, motion), encoding="utf-8")
    np.savez_compressed(
        folder / "trajectory.npz", allow_pickle=False,
        t=motion.t, command=motion.q, velocity=motion.qd, acceleration=motion.qdd, joint_names=np.array(names),
    )  # fmt: skip
    (folder / "motion.svg").write_text(_figure(names, motion), encoding="utf-8")


def _trajectory(names: Sequence[str], motion: Excitation) -> str:
    """A trajectory_msgs/JointTrajectory."""
    points = [
        {
            "positions": [round(float(x), 7) for x in q],
            "velocities": [round(float(x), 7) for x in qd],
            "time_from_start": stamp_fields(float(t)),
        }
        for t, q, qd in zip(motion.t, motion.q, motion.qd, strict=True)
    ]
    return str(
        yaml.dump(
            {"joint_names": list(names), "points": points},
            Dumper=getattr(yaml, "CSafeDumper", yaml.SafeDumper), sort_keys=False, default_flow_style=None, width=4096,
        )
    )  # fmt: skip


def _table(names: Sequence[str], motion: Excitation) -> str:
    stream = io.StringIO()
    rows = csv.writer(stream, lineterminator="\n")
    rows.writerow(["t", *(f"command_{name}" for name in names)])
    rows.writerows([f"{x:.7g}" for x in row] for row in np.column_stack([motion.t, motion.q]))
    return stream.getvalue()


def _figure(names: Sequence[str], motion: Excitation) -> str:
    with rc_context(STYLE):
        figure = Figure(figsize=(9.2, 5.2))
        panels = figure.subplots(3, 1, sharex=True)
        labels = ("position\n[rad]", "velocity\n[rad/s]", "acceleration\n[rad/s²]")
        for axes, values, label in zip(panels, (motion.q, motion.qd, motion.qdd), labels, strict=True):
            for column, name in zip(values.T, names, strict=True):
                axes.plot(motion.t, column, linewidth=0.7, label=name)
            axes.set_ylabel(label)
            axes.margins(x=0.0)
        panels[-1].set_xlabel("time [s]")
        if len(names) <= 12:
            panels[0].legend(fontsize=6, ncol=6, loc="lower center", bbox_to_anchor=(0.5, 1.0), frameon=False)
        return to_svg(figure, "Exciting motion")
