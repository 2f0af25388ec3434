# SPDX-License-Identifier: Apache-2.0
"""Rigid-body regressors of a fixed-base tree: rows that multiply the stacked inertial parameters of its n bodies.

theta is (10 n,), ten per body in the joint order, each [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the
joint frame's origin in the joint frame. Columns of an unknown body i are 10 i .. 10 i + 9: `body_columns`. Motor and
friction terms are not in here (friction.py).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes import kernel
from sysid_nodes.exceptions import SamplesError
from sysid_nodes.kernel import reference
from sysid_nodes.kernel.tree import Array
from sysid_nodes.models.chain import Chain


def body_columns(chain: Chain, body: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Columns of the unknown body and of the known rest of the robot (the split of eqs. 20-22).

    Raises:
        SamplesError: the chain has no such body.
    """
    if not 0 <= body < chain.n:
        raise SamplesError(f"body {body} is not one of the chain's {chain.n}")
    columns = np.arange(10 * chain.n)
    mine = columns // 10 == body
    return columns[mine], columns[~mine]


def standard_regressor(chain: Chain, q: Array, qd: Array, qdd: Array, *, implementation: str = "") -> Array:
    """W with M(q) qdd + C(q, qd) qd + g(q) = W theta (eq. 10): (N, n, 10 n) for q, qd, qdd (N, n).

    `implementation` picks "compiled" or "reference"; empty takes the best there is.

    Raises:
        SamplesError: an array is not (N, n).
    """
    return kernel.standard_regressor(chain.tree, *chain.samples(q, qd, qdd), kernel=implementation)


def momentum_regressors(chain: Chain, q: Array, qd: Array) -> tuple[Array, Array]:
    """(W_m, W_c), each (N, n, 10 n): M(q) qd = W_m theta, C(q, qd)' qd - g(q) = W_c theta (eqs. 11 and 12).

    Raises:
        SamplesError: an array is not (N, n).
    """
    q, qd = chain.samples(q, qd)
    momentum, rate = np.zeros((2, len(q), chain.n, 10 * chain.n))
    for start in range(0, len(q), reference.BLOCK):
        block = slice(start, start + reference.BLOCK)
        motion = reference.forward_kinematics(chain.tree, q[block], qd[block])
        for k, i, rows_m, rows_c in reference.momentum_rows(chain.tree, motion):
            momentum[block, k, 10 * i : 10 * i + 10] = np.moveaxis(rows_m, -1, 0)
            rate[block, k, 10 * i : 10 * i + 10] = np.moveaxis(rows_c, -1, 0)
    return momentum, rate


def window_regressors(
    chain: Chain, t: Array, q: Array, qd: Array, edges: npt.NDArray[np.integer], *, implementation: str = ""
) -> tuple[Array, Array]:
    """(dW_m, int_W_c), each (n_windows, n, 10 n), for windows between the samples `edges` (n_windows, 2).

    dW_m is W_m at the last sample minus W_m at the first; int_W_c the trapezoid integral of W_c over the stamps between
    (eq. 13; eqs. 21-22 of the paper write a rectangle rule of h + 1 terms for h steps). `implementation` picks
    "compiled" or "reference"; empty takes the best there is.

    Raises:
        SamplesError: shapes do not fit the chain, or an edge is out of range or out of order.
    """
    return kernel.window_regressors(chain.tree, t, q, qd, edges, kernel=implementation)
