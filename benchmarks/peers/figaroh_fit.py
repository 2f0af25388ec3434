# SPDX-License-Identifier: Apache-2.0
"""Inertias and friction by figaroh: its regressor, and its fit of efforts with a linear matrix inequality a link.

Its prior is a pull to nominal values, relative to their sizes; here as wide as ours is. Motion is smoothed as for the
regressions beside it (smoothed_regression.py), rows are weighed by a first fit's residuals. It knows trees only.
"""

from __future__ import annotations

import sys
import warnings
from unittest.mock import MagicMock

import numpy as np
import numpy.typing as npt

from benchmarks.peers.smoothed_regression import SmoothMotion
from sysid_nodes.data.inertia import parameters_to_log_cholesky
from sysid_nodes.systems.bayesian.mechanism import Mechanism

Array = npt.NDArray[np.float64]

_UNUSED = ("meshcat", "meshcat.geometry", "meshcat.transformations", "meshcat.animation", "ndcurves")
"""A viewer and splines for planning, which figaroh imports at once."""

try:
    import cvxopt  # noqa: F401
    import picos  # noqa: F401

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _name in _UNUSED:
            sys.modules.setdefault(_name, MagicMock())
        from figaroh.identification.physical_fit import (
            FixedExtras,
            PhysicalPolicy,
            build_problem,
            solve_direct_effort_fit,
        )
        from figaroh.tools.regressor import build_regressor_basic
    AVAILABLE = True
except ImportError:
    AVAILABLE = False

_KEYS = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Iyy", "Ixz", "Iyz", "Izz")
_PASSES = 2
_INSIDE = 1e-3  # by which a body is taken off the edge of what is physical, where logarithms are infinite


class _Model:
    """A robot as figaroh asks for it."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.model = mechanism.robot.model
        self.data = self.model.createData()


def fit(mechanism: Mechanism, motion: SmoothMotion) -> Array:
    """(P,) constants.

    Raises:
        ValueError: loops close, of which figaroh knows nothing, or its solver gives up.
    """
    if mechanism.closures.count:
        raise ValueError("figaroh knows trees only")
    own, n, x = mechanism.parameters, mechanism.parameters.n, mechanism.parameters.mean.copy()
    rubs = bool(own.sigma[own.joint("coulomb")].any())
    options = {"has_friction": rubs, "act_idxv": list(range(n)), "is_joint_torques": True}
    rows = build_regressor_basic(_Model(mechanism), motion.q, motion.v, motion.a, options)
    effort = (motion.torque - own.constants(own.mean, "armature") * motion.a).T.ravel()  # joint by joint, as its rows
    joints = tuple(f"b{i}" for i in range(n))
    names = [f"{key}_{joint}" for joint in joints for key in _KEYS]
    prior = own.inertia(own.mean).ravel()
    if rubs:
        names += [f"{kind}_{joint}" for kind in ("fv", "fs") for joint in joints]
        prior = np.concatenate([prior, own.constants(own.mean, "viscous"), own.constants(own.mean, "coulomb")])
    known = [i for i in range(n) if own.sigma[10 * i] == 0.0]
    fixed = [10 * i + k for i in known for k in range(10)]
    extras = FixedExtras(tuple(names[k] for k in fixed), tuple(prior[fixed]), "declared")
    weight, size = np.full(len(effort), 1.0 / np.std(effort)), len(motion.q)
    for _ in range(_PASSES):
        policy = PhysicalPolicy(prior_weight=1.0 / np.mean(own.sigma[own.free[own.free < 10 * n]] ** 2))
        problem = build_problem(
            rows, effort, names, joints, prior=prior, extras=extras, policy=policy, row_weight=weight
        )
        record = solve_direct_effort_fit(problem)
        if record.theta is None:
            raise ValueError("figaroh's solver gave up")
        found = prior.copy()
        found[np.setdiff1d(np.arange(len(names)), fixed)] = record.theta
        left = (rows @ found - effort).reshape(n, size)
        weight = np.repeat(1.0 / np.maximum(np.sqrt(np.mean(left**2, axis=1)), 1e-12), size)
    for i in set(range(n)) - set(known):
        inside = (1.0 - _INSIDE) * found[10 * i : 10 * i + 10] + _INSIDE * prior[10 * i : 10 * i + 10]
        x[own.body(i)] = parameters_to_log_cholesky(inside)
    if rubs:
        x[own.joint("viscous")], x[own.joint("coulomb")] = found[10 * n : 11 * n], found[11 * n :]
    return x
