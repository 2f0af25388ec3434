# SPDX-License-Identifier: Apache-2.0
"""Everything of a motion estimate that a report draws: its stages one after the other, and its parameters over time."""

from __future__ import annotations

import math
import zipfile
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.files import write_arrays
from sysid_nodes.sessions.prime.update import PrimeUpdate

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class PrimeSeries:
    """N published stages and M solves.

    Attributes:
        contacts: (nc,) names of the contact points.
        sensors: (ng,) names of the groups of residuals.
        bodies: (nb,) names of the identified links.
        t: (N,) of the stages [s].
        status: (N,) PrimeStatus of each.
        base: (N, 7) pose of the base: position, quaternion x, y, z, w.
        joints: (N, n) positions, in the robot's order [rad].
        base_sigma: (N, 3) of the position, along the base's axes [m].
        position: (N, nc, 3) of the contact points, in the world [m].
        force: (N, nc, 3) on the robot, in the world [N]; NaN where not observed.
        force_sigma: (N, nc, 3) [N].
        on_ground: (N, nc).
        outside: (N, 6) force and moment on the base from outside, in its axes [N, N m]; (N, 0) where not asked for.
        outside_sigma: the same of its standard deviations.
        solved: (M,) newest data of each solve [s].
        theta: (M, nb, 10) inertial parameters.
        theta_sigma: (M, nb, 10).
        com: (M, nb, 3) centres of mass [m].
        com_sigma: (M, nb, 3).
        fit: (M, ng) root mean square of each sensor's residuals, in units of its noise.
        count: (M, ng) residuals.
    """

    contacts: tuple[str, ...]
    sensors: tuple[str, ...]
    bodies: tuple[str, ...]
    t: Array
    status: npt.NDArray[np.int64]
    base: Array
    joints: Array
    base_sigma: Array
    position: Array
    force: Array
    force_sigma: Array
    on_ground: npt.NDArray[np.bool_]
    outside: Array
    outside_sigma: Array
    solved: Array
    theta: Array
    theta_sigma: Array
    com: Array
    com_sigma: Array
    fit: Array
    count: Array

    @property
    def tells_forces(self) -> bool:
        """Whether any force was observed: without torques none is."""
        return bool(np.isfinite(self.force).any())


@dataclass
class PrimeCollector:
    """Keeps what goes into a series as updates come."""

    _stages: list[tuple[Any, ...]] = field(default_factory=list)
    _solves: list[tuple[Any, ...]] = field(default_factory=list)
    _names: tuple[tuple[str, ...], ...] = ()

    def add(self, update: PrimeUpdate) -> None:
        """Takes the stages of an update that are published."""
        estimate, stages = update.estimate, list(update.stages)
        found, scale = estimate.contacts, update.judgement.inflation
        self._names = found.names, tuple(estimate.fit), tuple(body.link for body in estimate.bodies)
        variance = np.diagonal(estimate.q_covariance[stages, :3, :3], axis1=1, axis2=2)
        status = np.full(len(stages), int(update.judgement.status))
        base, pushed, none = estimate.q[stages, :7], estimate.outside, np.zeros((len(stages), 0))
        self._stages.append(
            (
                estimate.t[stages], status, base, estimate.q[stages, 7:], np.sqrt(scale * variance),
                found.position[stages], found.force[stages], math.sqrt(scale) * found.force_sigma[stages],
                found.on_ground[stages], none if pushed is None else pushed.wrench[stages],
                none if pushed is None else math.sqrt(scale) * pushed.sigma[stages],
            )
        )  # fmt: skip
        bodies, fits = estimate.bodies, estimate.fit.values()
        self._solves.append(
            (
                estimate.t[-1],
                np.array([body.parameters for body in bodies]).reshape(-1, 10),
                np.array([np.sqrt(scale * np.diag(body.covariance)) for body in bodies]).reshape(-1, 10),
                np.array([body.com for body in bodies]).reshape(-1, 3),
                np.array([math.sqrt(scale) * body.com_sigma for body in bodies]).reshape(-1, 3),
                np.array([entry.rms for entry in fits]),
                np.array([float(entry.count) for entry in fits]),
            )
        )

    def series(self) -> PrimeSeries:
        """All of it.

        Raises:
            InputError: there was no update.
        """
        if not self._stages:
            raise InputError("nothing was estimated")
        stages = [np.concatenate(parts) for parts in zip(*self._stages, strict=True)]
        solves = [np.array(parts) for parts in zip(*self._solves, strict=True)]
        columns = [item.name for item in fields(PrimeSeries)]
        values: dict[str, Any] = dict(zip(columns, [*self._names, *stages, *solves], strict=True))
        return PrimeSeries(**values)


def write_prime_series(path: Path, series: PrimeSeries, truth: dict[str, Array] | None = None) -> None:
    """Writes a series, all but its times in single precision; with it, under names that begin with `truth_`, the truth.

    Raises:
        InputError: the file cannot be written.
    """
    arrays: dict[str, Any] = {}
    for item in fields(series):
        value = getattr(series, item.name)
        if isinstance(value, tuple):
            arrays[item.name] = np.array(value, dtype=np.str_)
        else:
            thin = value.dtype == np.float64 and item.name not in ("t", "solved")
            arrays[item.name] = value.astype(np.float32) if thin else value
    arrays |= {f"truth_{name}": value for name, value in (truth or {}).items()}
    write_arrays(path, arrays)


def read_prime_series(path: Path) -> tuple[PrimeSeries, dict[str, Array] | None]:
    """Reads what `write_prime_series` wrote; never unpickles.

    Raises:
        InputError: the file is absent, damaged or lacks an array.
    """
    try:
        with zipfile.ZipFile(path), np.load(path, allow_pickle=False) as archive:
            values = {item.name: archive[item.name] for item in fields(PrimeSeries)}
            truth = {name[6:]: archive[name] for name in archive.files if name.startswith("truth_")}
    except FileNotFoundError:
        raise InputError("no such file", source=str(path)) from None
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise InputError(f"not a series of a motion: {error}", source=str(path)) from None
    for name in ("contacts", "sensors", "bodies"):
        values[name] = tuple(map(str, values[name]))
    for name, value in values.items():
        if getattr(value, "dtype", None) == np.float32:
            values[name] = value.astype(np.float64)
    return PrimeSeries(**values), truth or None
