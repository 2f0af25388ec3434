# SPDX-License-Identifier: Apache-2.0
"""A user's own term of a mechanism's torques and of the power it draws, symbolic in CasADi, from a Python file.

The file says which constants it has, and what they do:

    CONSTANTS = [("stiffness", "N m/rad", 20.0, 10.0, 0.0)]     # name, unit, prior's mean and sigma; a lower bound

    def torque(q, v, a, theta):
        return {"knee": theta["stiffness"] * q["knee"]}         # [N m] that joints have to give in addition

    def power(q, v, a, theta):                                  # [W] that the supply has to give in addition
        return 0.5 * v["knee"] ** 2

q, v, a are CasADi symbols by joint name, theta by constant. One of the two functions may be left out. Derivatives are
CasADi's; where differences at some motions, rest among them, say something else, the term is refused.
"""

from __future__ import annotations

import runpy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]

_STEP = 1e-6
_AGREES = 1e-4  # of a derivative and differences, relative to its size or 1
_MOTIONS = 8


@dataclass(frozen=True)
class UserConstant:
    """A constant with its Gaussian prior, between bounds; infinite where there is none."""

    name: str
    unit: str
    mean: float
    sigma: float
    lower: float = -np.inf
    upper: float = np.inf


@dataclass(frozen=True)
class UserTerm:
    """Torques and power by q, v, a (N, n) and k constants.

    Attributes:
        constants: k of them.
        values: (3 n + k, N) inputs to (n + 1, N): torques [N m], then power [W].
        slopes: the same to (n + 1, N (3 n + k)) derivatives.
    """

    text: str
    constants: tuple[UserConstant, ...]
    values: Callable[[Array], Any]
    slopes: Callable[[Array], Any]

    def value(self, q: Array, v: Array, a: Array, theta: Array) -> Array:
        """(N, n + 1) torques and power."""
        return np.asarray(self.values(_inputs(q, v, a, theta)), dtype=np.float64).T

    def linearise(self, q: Array, v: Array, a: Array, theta: Array) -> Array:
        """(N, n + 1, 3 n + k) derivatives by q, v, a and the constants."""
        inputs = _inputs(q, v, a, theta)
        flat = np.asarray(self.slopes(inputs), dtype=np.float64)
        return np.ascontiguousarray(flat.reshape(flat.shape[0], *inputs.shape[::-1]).swapaxes(0, 1))


def read_term(path: str, joints: Sequence[str]) -> UserTerm | None:
    """The term of a file; None for no path.

    Raises:
        ConfigError: the file, or what it says, is of no use; or CasADi is not installed.
    """
    if not path:
        return None
    try:
        import casadi
    except ImportError:
        raise ConfigError("a user's own term needs CasADi: pip install casadi", source=path) from None
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(error.strerror or "cannot be read", source=path) from None
    except UnicodeDecodeError as error:
        raise ConfigError(str(error), source=path) from None
    try:
        return _build(casadi, text, runpy.run_path(path), joints)
    except ConfigError as error:
        raise ConfigError(str(error), source=path) from None
    except (Exception, SystemExit) as error:  # whatever a user's file raises is a mistake in it
        said = " ".join(str(error).split())[:200]
        raise ConfigError(f"raises {type(error).__name__}: {said}", source=path) from None


def _build(casadi: Any, text: str, found: dict[str, Any], joints: Sequence[str]) -> UserTerm:
    constants = tuple(_constant(row) for row in found.get("CONSTANTS", ()))
    names = [constant.name for constant in constants]
    if len(set(names)) < len(names):
        raise ConfigError("CONSTANTS has a name twice")
    if "torque" not in found and "power" not in found:
        raise ConfigError("has neither torque(q, v, a, theta) nor power(q, v, a, theta)")
    n = len(joints)
    symbols = [casadi.SX.sym(name, n) for name in "qva"]
    theta = casadi.SX.sym("theta", len(names))
    motion = [{name: part[j] for j, name in enumerate(joints)} for part in symbols]
    told = {name: theta[k] for k, name in enumerate(names)}
    torque = casadi.SX.zeros(n)
    given = found["torque"](*motion, told) if "torque" in found else {}
    if not isinstance(given, dict) or (strange := [name for name in given if name not in joints]):
        what = f"'{strange[0]}'" if isinstance(given, dict) else type(given).__name__
        raise ConfigError(f"torque returns {what}; torques by joint are wanted, of {', '.join(joints)}")
    for name, value in given.items():
        torque[joints.index(name)] = value
    power = found["power"](*motion, told) if "power" in found else casadi.SX(0)
    inputs, outputs = casadi.vertcat(*symbols, theta), casadi.vertcat(torque, power)
    if outputs.shape != (n + 1, 1):
        raise ConfigError("power returns more than a number")
    values = casadi.Function("values", [inputs], [outputs])
    slopes = casadi.Function("slopes", [inputs], [casadi.jacobian(outputs, inputs)])
    term = UserTerm(text, constants, values, slopes)
    _check_derivatives(term, joints)
    return term


def _constant(row: Any) -> UserConstant:
    try:
        name, unit, *numbers = row
        constant = UserConstant(str(name), str(unit), *(float(number) for number in numbers))
    except (TypeError, ValueError):
        raise ConfigError(f"CONSTANTS has {row!r}; (name, unit, mean, sigma) or these and a lower bound") from None
    if not np.isfinite([constant.mean, constant.sigma]).all() or constant.sigma <= 0.0:
        raise ConfigError(f"'{constant.name}' needs a mean and a sigma above 0, got {constant.mean}, {constant.sigma}")
    if not constant.mean >= constant.lower:
        raise ConfigError(f"'{constant.name}' has its mean below its lower bound")
    return constant


def _check_derivatives(term: UserTerm, joints: Sequence[str]) -> None:
    """Refuses values that are not finite and derivatives that differences contradict, at rest and at some motions."""
    n, k = len(joints), len(term.constants)
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1.0, 1.0, (3, _MOTIONS, n))
    v[0] = a[0] = 0.0
    theta = np.array([constant.mean for constant in term.constants])
    inputs = _inputs(q, v, a, theta)
    found = term.linearise(q, v, a, theta)
    labels = [f"{name} of '{joint}'" for name in ("q", "v", "a") for joint in joints]
    labels += [f"'{constant.name}'" for constant in term.constants]
    for column in range(3 * n + k):
        step = np.zeros((len(inputs), 1))
        step[column] = _STEP
        with np.errstate(invalid="ignore"):
            ends = [np.asarray(term.values(inputs + sign * step), dtype=np.float64) for sign in (1.0, -1.0)]
            differences = ((ends[0] - ends[1]) / (2.0 * _STEP)).T
            off = np.abs(found[:, :, column] - differences) > _AGREES * np.maximum(1.0, np.abs(differences))
        wrong = np.argwhere(off | ~np.isfinite(found[:, :, column]) | ~np.isfinite(differences))
        if len(wrong):
            motion, row = wrong[0]
            what = f"the torque of '{joints[row]}'" if row < n else "the power"
            where = "at rest" if motion == 0 else "at some motions"
            raise ConfigError(f"{what} has no derivative by {labels[column]} {where}")


def _inputs(q: Array, v: Array, a: Array, theta: Array) -> Array:
    return np.concatenate([q.T, v.T, a.T, np.repeat(theta[:, None], len(q), axis=1)])
