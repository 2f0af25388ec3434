# SPDX-License-Identifier: Apache-2.0
"""Inertial parameters of one body: ten-vector, pseudo-inertia, log-Cholesky, and changes of frame.

The ten-vector is pinocchio's, theta = [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the frame's origin, SI
(the paper's eq. 3 lists the moments before the products). Its pseudo-inertia (eq. 31) is

    P = [[tr(I)/2 1 - I, m c], [m c', m]],

linear in theta and positive definite exactly where some distribution of positive mass has these parameters.

Log-Cholesky (eqs. 33-35): P = M M', M = e^alpha N upper triangular, N's diagonal (e^d1, e^d2, e^d3, 1). We keep
pinocchio's order eta = [alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3], t = (s14, s24, s34); the paper's eq. (15) swaps
s13 and s23. NOTE the ten expressions the paper prints as eq. (16) are those of M' M, not of the M M' of its eq. (33):
under M M' the mass is e^(2 alpha) alone and the first moment e^(2 alpha) t. We differentiate M M' itself, which is what
pinocchio's LogCholeskyParameters computes (tests compare the two).

Functions take stacks: theta and eta (..., 10), P (..., 4, 4), unless a docstring says one body.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import InputError

Array = npt.NDArray[np.float64]

_PRODUCTS = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
"""Row and column of theta[4:] in the 3x3 inertia."""

_FACTORS = ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3))
"""Row and column in N of eta[1:]."""

_ROWS, _COLUMNS = np.array(_FACTORS).T


def parameters_to_inertia(theta: Array) -> Array:
    """3x3 inertia about the frame's origin [kg m2]: (..., 3, 3)."""
    theta = np.asarray(theta, dtype=np.float64)
    out = np.empty((*theta.shape[:-1], 3, 3))
    for column, (r, c) in enumerate(_PRODUCTS, start=4):
        out[..., r, c] = out[..., c, r] = theta[..., column]
    return out


def parameters_to_pseudo_inertia(theta: Array) -> Array:
    """P (..., 4, 4) of eq. (31)."""
    theta = np.asarray(theta, dtype=np.float64)
    inertia = parameters_to_inertia(theta)
    out = np.empty((*theta.shape[:-1], 4, 4))
    out[..., :3, :3] = 0.5 * np.trace(inertia, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - inertia
    out[..., :3, 3] = out[..., 3, :3] = theta[..., 1:4]
    out[..., 3, 3] = theta[..., 0]
    return out


def pseudo_inertia_to_parameters(pseudo_inertia: Array) -> Array:
    """theta (..., 10) of a symmetric P."""
    pseudo = np.asarray(pseudo_inertia, dtype=np.float64)
    return np.asarray(pseudo.reshape(*pseudo.shape[:-2], 16) @ _FROM_PSEUDO_INERTIA)


def _from_pseudo_inertia() -> Array:
    """(16, 10) of the linear map from P, row by row, to theta."""
    pseudo = np.eye(16).reshape(16, 4, 4)
    sigma = pseudo[:, :3, :3]
    inertia = np.trace(sigma, axis1=1, axis2=2)[:, None, None] * np.eye(3) - sigma
    products = [inertia[:, r, c] for r, c in _PRODUCTS]
    return np.column_stack([pseudo[:, 3, 3], pseudo[:, :3, 3], *products])


_FROM_PSEUDO_INERTIA: Array = _from_pseudo_inertia()

PSEUDO_INERTIA_BASIS: Array = parameters_to_pseudo_inertia(np.eye(10))
"""(10, 4, 4) with P(theta) = sum_j theta[j] PSEUDO_INERTIA_BASIS[j]."""
PSEUDO_INERTIA_BASIS.setflags(write=False)


_ALUMINIUM = 2700.0  # density [kg/m3]


def is_consistent(theta: Array, tolerance: float = 0.0) -> bool:
    """Whether every body has P positive definite: smallest eigenvalue above -tolerance (mixed kg, kg m, kg m2)."""
    theta = np.asarray(theta, dtype=np.float64)
    if not np.isfinite(theta).all():
        return False
    return bool((np.linalg.eigvalsh(parameters_to_pseudo_inertia(theta))[..., 0] > -tolerance).all())


def log_cholesky_to_parameters(eta: Array) -> Array:
    """theta (..., 10) from any eta (..., 10)."""
    factor = _factor(eta)
    return pseudo_inertia_to_parameters(factor @ factor.swapaxes(-1, -2))


def log_cholesky_jacobian(eta: Array) -> Array:
    """d theta / d eta, (..., 10, 10), never singular."""
    factor = _factor(eta)
    out = np.empty((*factor.shape[:-2], 10, 10))
    out[..., 0] = 2.0 * pseudo_inertia_to_parameters(factor @ factor.swapaxes(-1, -2))  # e^(2 alpha) scales all
    by_entry = (factor.reshape(*factor.shape[:-2], 16) @ _BY_ENTRIES).reshape(*factor.shape[:-2], 10, 9)
    np.multiply(by_entry, _own_slopes(factor)[..., None, :], out=out[..., 1:])
    return out


def log_cholesky_hessian(eta: Array) -> Array:
    """d2 theta[i] / d eta[j] d eta[k] at [i, j, k], (10, 10, 10), of one body: the last factor of eq. (43)."""
    factor = _factor(eta)
    slopes = _factor_slopes(factor)
    curvature = np.zeros((10, 10, 4, 4))  # of M: only alpha meets every parameter, and each d_i itself
    curvature[0, :] = curvature[:, 0] = slopes
    for i in (1, 2, 3):
        curvature[i, i] = slopes[i]
    half = curvature @ factor.T + np.einsum("aij,bkj->abik", slopes, slopes)
    return np.moveaxis(pseudo_inertia_to_parameters(half + half.swapaxes(-1, -2)), -1, 0)


def give_extent(theta: Array) -> tuple[Array, bool]:
    """theta (10,) of a body with an extent, and whether it was given one, being described as a point, rod or disc.

    Along principal axes in which the mass has none it is that of a ball of aluminium: no solid body is much smaller.

    Raises:
        InputError: the mass is not positive.
    """
    mass, com, inertia = parameters_to_com(theta)
    moments, axes = np.linalg.eigh(0.5 * np.trace(inertia) * np.eye(3) - inertia)
    least = 0.2 * mass * (mass / (_ALUMINIUM * 4.0 / 3.0 * np.pi)) ** (2.0 / 3.0)
    missing = moments < 1e-6 * least
    if not missing.any():
        return np.asarray(theta, dtype=np.float64), False
    second = (axes * np.where(missing, least, moments)) @ axes.T
    return com_to_parameters(mass, com, np.trace(second) * np.eye(3) - second), True


def parameters_to_log_cholesky(theta: Array) -> Array:
    """eta (10,) of one body.

    Raises:
        InputError: theta is not physically consistent, so that no eta exists.
    """
    if not is_consistent(theta):
        raise InputError(
            "inertial parameters are not physically consistent: the pseudo-inertia is not positive definite"
        )
    # Reversing rows and columns turns the lower Cholesky factor into the upper one of eq. (34).
    flipped = parameters_to_pseudo_inertia(theta)[::-1, ::-1]
    factor = np.linalg.cholesky(flipped)[::-1, ::-1]
    scaled = factor / factor[3, 3]
    values = [scaled[r, c] for r, c in _FACTORS]
    return np.array([np.log(factor[3, 3]), *np.log(values[:3]), *values[3:]])


def parameters_to_com(theta: Array) -> tuple[float, Array, Array]:
    """Mass [kg], centre of mass (3,) [m] and 3x3 inertia about it [kg m2] of one body, all in the body's frame.

    Raises:
        InputError: the mass is not positive.
    """
    theta = np.asarray(theta, dtype=np.float64)
    mass = float(theta[0])
    if not mass > 0.0:
        raise InputError(f"a body of mass {mass:g} kg has no centre of mass")
    com = theta[1:4] / mass
    return mass, com, parameters_to_inertia(theta) - mass * (com @ com * np.eye(3) - np.outer(com, com))


def com_to_parameters(mass: float, com: Array, inertia: Array) -> Array:
    """theta (10,) from mass [kg], centre of mass (3,) [m] and 3x3 inertia about it, axes of the body's frame."""
    com = np.asarray(com, dtype=np.float64)
    about = np.asarray(inertia, dtype=np.float64) + mass * (com @ com * np.eye(3) - np.outer(com, com))
    return np.array([mass, *(mass * com), *(about[r, c] for r, c in _PRODUCTS)])


def _factor(eta: Array) -> Array:
    """M (..., 4, 4) of eq. (34)."""
    eta = np.asarray(eta, dtype=np.float64)
    if eta.shape[-1:] != (10,) or not np.isfinite(eta).all():
        raise InputError(f"log-Cholesky parameters must be ten finite numbers a body, got shape {eta.shape}")
    factor = np.zeros((*eta.shape[:-1], 4, 4))
    factor[..., 3, 3] = 1.0
    factor[..., _ROWS, _COLUMNS] = np.concatenate([np.exp(eta[..., 1:4]), eta[..., 4:]], axis=-1)
    return np.asarray(np.exp(eta[..., :1, None]) * factor)


def _factor_slopes(factor: Array) -> Array:
    """dM / d eta (..., 10, 4, 4) where M is `factor`."""
    out = np.zeros((*factor.shape[:-2], 10, 4, 4))
    out[..., 0, :, :] = factor
    out[..., np.arange(1, 10), _ROWS, _COLUMNS] = _own_slopes(factor)
    return out


def _own_slopes(factor: Array) -> Array:
    """(..., 9) of each entry of M that eta[1:] moves, by it."""
    return np.where(_ROWS == _COLUMNS, factor[..., _ROWS, _COLUMNS], factor[..., 3, 3, None])


def _by_entries() -> Array:
    """(16, 90) of the linear map from M, row by row, to d theta[i] / d M[r, c] at [i, k], (r, c) the k-th entry."""
    out = np.empty((16, 10, 9))
    for k, (r, c) in enumerate(_FACTORS):
        half = np.zeros((16, 4, 4))
        half[:, r] = np.eye(16).reshape(16, 4, 4)[:, :, c]
        out[:, :, k] = pseudo_inertia_to_parameters(half + half.swapaxes(-1, -2))
    return out.reshape(16, 90)


_BY_ENTRIES: Array = _by_entries()
