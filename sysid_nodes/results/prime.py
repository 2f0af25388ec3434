# SPDX-License-Identifier: Apache-2.0
"""Result of PRIME: trajectory, contact forces and inertial parameters with their uncertainty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.results.quantity import with_unit

Array = npt.NDArray[np.float64]


class EstimateStatus(IntEnum):
    """Quality of a motion estimate."""

    CONVERGED = 0
    UNFINISHED = 1
    DOUBTFUL = 2
    UNDETERMINED = 3
    FAILED = 4

    @property
    def message(self) -> str:
        """One sentence for people."""
        return _MESSAGES[self]

    @property
    def usable(self) -> bool:
        """Whether values and covariances mean what they say."""
        return self <= EstimateStatus.UNFINISHED


_MESSAGES = {
    EstimateStatus.CONVERGED: "converged",
    EstimateStatus.UNFINISHED: "stopped before convergence; the values are the best so far",
    EstimateStatus.DOUBTFUL: "the measurements contradict one another beyond their stated noise",
    EstimateStatus.UNDETERMINED: "the data leave some of the unknowns free; no covariance can be given",
    EstimateStatus.FAILED: "no finite estimate",
}


@dataclass(frozen=True)
class BodyEstimate:
    """Inertial parameters of one body in the frame of the joint that moves it.

    Attributes:
        parameters: (10,) [m, mcx, mcy, mcz, Ixx, Ixy, Iyy, Ixz, Iyz, Izz] about the frame's origin, SI.
        covariance: (10, 10) of the same, first order.
        nominal: (10,) before.
        observed: (10,) whether the data tell a parameter; else it is what the prior makes of it.
        com_observed: (3,) the same of the centre of mass.
    """

    link: str
    parameters: Array
    covariance: Array
    nominal: Array
    observed: npt.NDArray[np.bool_] = field(default_factory=lambda: np.ones(10, dtype=bool))
    com_observed: npt.NDArray[np.bool_] = field(default_factory=lambda: np.ones(3, dtype=bool))

    @property
    def unobserved(self) -> tuple[str, ...]:
        """Names of the quantities that the data do not tell."""
        centre = tuple(f"c{axis}" for axis in "xyz")
        names = (PARAMETER_NAMES[0], *centre, *PARAMETER_NAMES[4:])
        seen = (self.observed[0], *self.com_observed, *self.observed[4:])
        return tuple(name for name, told in zip(names, seen, strict=True) if not told)

    @property
    def mass(self) -> float:
        """[kg]."""
        return float(self.parameters[0])

    @property
    def mass_sigma(self) -> float:
        """One standard deviation [kg]."""
        return float(np.sqrt(self.covariance[0, 0]))

    @property
    def com(self) -> Array:
        """(3,) centre of mass [m]."""
        return np.asarray(self.parameters[1:4] / self.mass)

    @property
    def com_sigma(self) -> Array:
        """(3,) standard deviations of the centre of mass [m]."""
        slope = np.zeros((3, 10))
        slope[:, 0], slope[:, 1:4] = -self.com / self.mass, np.eye(3) / self.mass
        return np.sqrt(np.diag(slope @ self.covariance @ slope.T))


@dataclass(frozen=True)
class ContactEstimate:
    """Contact points at N stages; forces exist where a stage has both neighbours, and are NaN elsewhere.

    They are NaN throughout, not observed, where no torque was ever read: nothing tells how large they are.

    A force is the mean over both neighbouring steps with weights that fall linearly from the stage: what the dynamics
    at that stage see.

    Attributes:
        names: (nc,) of the points.
        position: (N, nc, 3) of the lowest point of each sphere, in the world [m].
        gap: (N, nc) its distance from the ground [m].
        force: (N, nc, 3) on the robot, in the world [N].
        covariance: (N, nc, 3, 3) of each force [N2].
        on_ground: (N, nc) whether the normal force exceeds the threshold.
        friction: coefficient of the ground.
    """

    names: tuple[str, ...]
    position: Array
    gap: Array
    force: Array
    covariance: Array
    on_ground: npt.NDArray[np.bool_]
    friction: float

    @property
    def observed(self) -> bool:
        """Whether any force is."""
        return bool(np.isfinite(self.force).any())

    @property
    def force_sigma(self) -> Array:
        """(N, nc, 3) standard deviations along the world's axes [N]."""
        return np.sqrt(np.diagonal(self.covariance, axis1=-2, axis2=-1))


@dataclass(frozen=True)
class OutsideWrench:
    """Force and moment on the base from outside, at its origin and in its axes, at N stages; NaN where not known.

    Attributes:
        wrench: (N, 6) force [N], then moment [N m].
        sigma: (N, 6) standard deviations.
    """

    wrench: Array
    sigma: Array


@dataclass(frozen=True)
class UntoldEffect:
    """Something that the model has no unknown for, and that residuals show.

    Attributes:
        name: what it is.
        size: of its clearest part, without a sign.
        sigma: one standard deviation, with what honest logs show and a quarter of the size, which is of first order.
        unit: of both; 1 of a share.
    """

    name: str
    size: float
    sigma: float
    unit: str

    @property
    def sentence(self) -> str:
        """In a few words."""
        sigma = with_unit(f"{self.sigma:.1g}", self.unit)
        return f"the residuals look like {self.name}: {self.size:.2g} +- {sigma}"


@dataclass(frozen=True)
class Fit:
    """Size of one group of residuals.

    Attributes:
        count: residuals.
        rms: their root mean square in units of the stated noise; about 1 when that noise is right, below when it is
            stated too large or fitted away.
    """

    count: int
    rms: float


@dataclass(frozen=True)
class PrimeEstimate:
    """An estimator's result after a window or a whole log.

    Attributes:
        status: quality of the estimate.
        t: (N,) of the stages [s].
        q: (N, nq) configurations: base position, quaternion x, y, z, w, joints.
        q_covariance: (N, nv, nv) in the tangent at q: base translation and rotation in its own axes, joints.
        v: (N, nv) velocities, the base's in its own axes; at the ends, the mean over the one interval there is.
        v_covariance: (N, nv, nv).
        contacts: contact points and forces.
        bodies: identified bodies.
        parameter_names, parameter_units: (p,) of the estimator's constant unknowns.
        parameters, parameter_covariance: (p,), (p, p).
        fit: per group of residuals.
        cost: half the sum of squares.
        iterations: of the solver.
        solve_time: wall time [s], zero without a clock.
        outside: force and moment on the base from outside, if asked for.
        untold: what the model leaves out and residuals of a whole log, or of all that left a moving window, show, if
            anything.
        prior_mean, prior_sigma: (p,) of the constant unknowns.
    """

    status: EstimateStatus
    t: Array
    q: Array
    q_covariance: Array
    v: Array
    v_covariance: Array
    contacts: ContactEstimate
    bodies: tuple[BodyEstimate, ...]
    parameter_names: tuple[str, ...]
    parameter_units: tuple[str, ...]
    parameters: Array
    parameter_covariance: Array
    fit: Mapping[str, Fit]
    cost: float
    iterations: int
    solve_time: float
    outside: OutsideWrench | None = None
    untold: UntoldEffect | None = None
    prior_mean: Array = field(default_factory=lambda: np.zeros(0))
    prior_sigma: Array = field(default_factory=lambda: np.zeros(0))

    @property
    def prior_distance(self) -> Array:
        """(p,) of the constant unknowns from their prior's mean in its standard deviations."""
        return np.asarray((self.parameters - self.prior_mean) / self.prior_sigma)
