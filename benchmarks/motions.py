# SPDX-License-Identifier: Apache-2.0
"""Motions like those of the paper's experiment: small Bezier pieces, replanned while they are being followed.

Section VI-D and the authors' settings (docs of the Gen3's numbers): each piece lasts 3 s, ends at rest, displaced by k
within +-pi/48 (joints 1 to 4) or +-pi/20 (joints 5 to 7), and is replaced after 1.5 s by the next one, which starts
from its position, velocity and acceleration. Four pieces make 7.5 s.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import standard_regressor

Array = npt.NDArray[np.float64]
State = tuple[Array, Array, Array]

START = np.array([-1.16396061, 0.34987045, -3.68094828, -1.75466411, 0.19968747, -1.09177839, -0.19841415])
"""Start configuration of the experiment [rad]."""

HALF_RANGE = np.array([np.pi / 48.0] * 4 + [np.pi / 20.0] * 3)
"""Largest displacement of each joint in a piece [rad]."""

PIECE, REPLAN, PIECES = 3.0, 1.5, 4
DURATION = (PIECES - 1) * REPLAN + PIECE

_SAMPLES = 128
"""Instants at which a piece's regressor is conditioned (N_s of eq. 30)."""


@dataclass(frozen=True)
class Piece:
    """A polynomial of degree 5, coefficients (6, n) of rising powers of t."""

    coefficients: Array

    @classmethod
    def towards(cls, start: State, displacement: Array) -> Piece:
        """From a state to rest, displaced, after `PIECE` seconds; the same curve as the degree-5 Bezier."""
        q, qd, qdd = start
        end = PIECE ** np.arange(3, 6)
        order = np.arange(3, 6)
        a = np.stack([end, order * end / PIECE, order * (order - 1) * end / PIECE**2])
        rest = np.stack([displacement - qd * PIECE - 0.5 * qdd * PIECE**2, -qd - qdd * PIECE, -qdd])
        return cls(np.vstack([q, qd, 0.5 * qdd, np.linalg.solve(a, rest)]))

    def __call__(self, t: Array) -> State:
        """q, qd, qdd (N, n) at t (N,)."""
        power = np.arange(6)
        basis = t[:, None] ** power
        first = np.pad(basis[:, :-1], ((0, 0), (1, 0))) * power
        second = np.pad(basis[:, :-2], ((0, 0), (2, 0))) * power * (power - 1)
        return basis @ self.coefficients, first @ self.coefficients, second @ self.coefficients


@dataclass(frozen=True)
class RecedingHorizon:
    """Pieces followed for `REPLAN` seconds each, the last one to its end."""

    pieces: tuple[Piece, ...]

    def __call__(self, t: Array) -> State:
        """q, qd, qdd (N, n) at t (N,), from 0 to the end of the last piece."""
        index = np.minimum((t / REPLAN).astype(np.intp), len(self.pieces) - 1)
        out = np.empty((3, t.size, self.pieces[0].coefficients.shape[1]))
        for k, piece in enumerate(self.pieces):
            mine = index == k
            out[:, mine] = piece(t[mine] - k * REPLAN)
        return out[0], out[1], out[2]

    @property
    def acceleration(self) -> Array:
        """(n,) bound on |qdd|; its grid is fine enough for a cubic to exceed it by less than the margin."""
        end = (len(self.pieces) - 1) * REPLAN + PIECE
        return np.asarray(1.0001 * np.abs(self(np.linspace(0.0, end, 20001))[2]).max(axis=0))

    @property
    def jerk(self) -> Array:
        """(n,) bound on |qddd|, which jumps where pieces meet."""
        t = np.linspace(0.0, PIECE, 3001)[:, None]
        highest = [
            np.abs(6.0 * c[3] + 24.0 * c[4] * t + 60.0 * c[5] * t**2).max(axis=0)
            for c in (piece.coefficients for piece in self.pieces)
        ]
        return np.asarray(1.0001 * np.max(highest, axis=0))


def random_pieces(rng: np.random.Generator, pieces: int = PIECES) -> RecedingHorizon:
    """The paper's "random" comparison: displacements drawn from the box."""
    state: State = (START, np.zeros(7), np.zeros(7))
    found = []
    for _ in range(pieces):
        piece = Piece.towards(state, rng.uniform(-1.0, 1.0, 7) * HALF_RANGE)
        found.append(piece)
        state = _handover(piece)
    return RecedingHorizon(tuple(found))


def exciting_pieces(chain: Chain, rng: np.random.Generator, pieces: int = PIECES, tries: int = 140) -> RecedingHorizon:
    """The paper's exciting motion: each piece minimises the condition number of its own regressor (eq. 30).

    Limits of torque and obstacles are left out; the half-ranges are far inside them.
    """
    state: State = (START, np.zeros(7), np.zeros(7))
    found = []
    for _ in range(pieces):
        piece = Piece.towards(state, _best(chain, state, rng, tries) * HALF_RANGE)
        found.append(piece)
        state = _handover(piece)
    return RecedingHorizon(tuple(found))


def _handover(piece: Piece) -> State:
    q, qd, qdd = piece(np.array([REPLAN]))
    return q[0], qd[0], qdd[0]


def _best(chain: Chain, state: State, rng: np.random.Generator, tries: int) -> Array:
    """(7,) in [-1, 1]: random draws, then random steps around the best, ever smaller."""
    t = np.linspace(0.0, PIECE, _SAMPLES)

    def condition(k: Array) -> float:
        regressor = standard_regressor(chain, *Piece.towards(state, k * HALF_RANGE)(t))[:, :, -10:]
        return float(np.linalg.cond(regressor.reshape(-1, 10)))

    cost, best = np.inf, np.zeros(7)
    reach = 0.4
    for attempt in range(tries):
        explore = attempt < tries // 2
        k = rng.uniform(-1.0, 1.0, 7) if explore else np.clip(best + reach * rng.normal(size=7), -1.0, 1.0)
        value = condition(k)
        if value < cost:
            cost, best = value, k
        elif not explore:
            reach = max(0.97 * reach, 0.03)
    return best
