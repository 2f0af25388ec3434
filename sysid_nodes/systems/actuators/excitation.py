# SPDX-License-Identifier: Apache-2.0
"""Motions that tell actuators: all joints at once, from rest to rest, within limits of position, speed, acceleration.

- chirp: a sine whose frequency grows; every joint has its own end and phase, so that joints are told apart
- fourier: velocities as sums of random Fourier modes, clipped and integrated (arXiv 2604.10351, appendix A)
- optimal: of the chirp and many such motions, each joint's that tells the parameters asked for best, see
  `optimal_excitation.excite_best`
- links: of the same, the one that tells links, friction and rotors best, see `link_excitation.excite_links`

Nothing here looks at obstacles, the robot's own links or torques.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import JointLimits

Array = npt.NDArray[np.float64]

KINDS = ("chirp", "fourier", "optimal", "links")
_SHARPEST = 60.0  # acceleration of joints whose robot states none [rad/s2]
_MODES = 8


@dataclass(frozen=True)
class ExcitationConfig:
    """Which motion."""

    kind: str = option("chirp", "kind of the motion", choices=KINDS)
    duration: float = option(23.5, "of the motion", unit="s", minimum=2.0)
    rate: float = option(200.0, "of its points", unit="Hz", minimum=10.0)
    first: float = option(0.1, "lowest frequency", unit="Hz", minimum=1e-3)
    last: float = option(4.0, "highest frequency", unit="Hz", minimum=1e-2)
    amplitude: float = option(0.3, "largest, either side of the middle", unit="rad", minimum=1e-3)
    share: float = option(0.8, "of each limit that is used", unit="1", minimum=1e-3, maximum=1.0)
    rest: float = option(1.0, "time in which the motion grows and in which it fades", unit="s", minimum=0.01)
    draws: int = option(60, "motions beside the chirp among which optimal and links choose", minimum=1)
    parameters: str = option("", "optimal: parameters to tell, with commas between; empty: those a fit has by default")
    stiffness: tuple[float, ...] = option(
        (), "optimal: k_p of the drives; empty: such that joints follow at 5 Hz", unit="N m/rad", minimum=1e-6
    )
    damping: tuple[float, ...] = option(
        (), "optimal: k_d of the drives; empty: such that joints are critically damped", unit="N m s/rad", minimum=0.0
    )
    seed: int = option(1, "of random motions", minimum=0)


class Excitation(NamedTuple):
    """Times (M,) [s], and positions, velocities and accelerations (M, n)."""

    t: Array
    q: Array
    qd: Array
    qdd: Array

    @property
    def condition(self) -> Array:
        """(n,) of each joint's columns [qdd, qd, sign qd, 1], each scaled to one."""
        found = []
        for qd, qdd in zip(self.qd.T, self.qdd.T, strict=True):
            columns = np.stack([qdd, qd, np.tanh(qd / 0.01), np.ones_like(qd)], axis=1)
            found.append(np.linalg.cond(columns / np.linalg.norm(columns, axis=0)))
        return np.array(found)


def excite(config: ExcitationConfig, limits: JointLimits, middle: Array) -> Excitation:
    """A motion about a posture.

    Args:
        config: which.
        limits: of the n joints.
        middle: (n,) posture where it begins and ends [rad].

    Raises:
        ConfigError: the posture is not within the limits, frequencies do not fit, or one is asked for that takes the
            robot, too: `optimal_excitation.excite_best`, `link_excitation.excite_links`.
    """
    room = np.minimum(middle - limits.position_lower, limits.position_upper - middle)
    if not (room > 0.0).all():
        raise ConfigError(f"the posture's joint {int(np.argmin(room)) + 1} is not within its limits")
    if not config.first < config.last <= 0.25 * config.rate:
        raise ConfigError(
            f"frequencies must rise and stay below a quarter of the rate, got {config.first:g} to {config.last:g} Hz"
        )
    rng = np.random.default_rng(config.seed)
    if config.kind == "chirp":
        return _scale_to_limits(_chirp(config, len(middle)), config, limits, middle, room)
    if config.kind != "fourier":
        raise ConfigError("which motion is optimal depends on the robot: see excite_best and excite_links")
    return _scale_to_limits(_fourier(config, len(middle), rng), config, limits, middle, room)


def candidates(config: ExcitationConfig, limits: JointLimits, middle: Array) -> Iterator[Excitation]:
    """The chirp and `draws` other motions of all sorts, for those who choose among them; raises as `excite`."""
    yield excite(replace(config, kind="chirp"), limits, middle)
    rng = np.random.default_rng(config.seed)
    for k in range(config.draws):
        low, high = np.sort(rng.uniform(0.0, 1.0, 2))
        high = 1.0 if k % 4 < 2 else max(high, low + 0.1)  # half of them to the last frequency that is allowed
        first, last = (config.first * (config.last / config.first) ** share for share in (0.9 * low, high))
        kind = "fourier" if k % 2 else "chirp"
        drawn = replace(config, kind=kind, first=first, last=last, seed=int(rng.integers(2**31)))
        yield excite(drawn, limits, middle)


def _times(config: ExcitationConfig) -> Array:
    return np.arange(round(config.duration * config.rate) + 1) / config.rate


def _chirp(config: ExcitationConfig, n: int) -> Array:
    """(M, n) of size one; ends differ by up to a third, so that no two joints move alike."""
    t = _times(config)[:, None]
    last = config.last * (1.0 - np.arange(n) / (3.0 * n))
    slope = np.maximum(last - config.first, 0.1 * config.first) / config.duration
    return np.asarray(np.sin(2.0 * np.pi * (config.first * t + 0.5 * slope * t**2)))


def _fourier(config: ExcitationConfig, n: int, rng: np.random.Generator) -> Array:
    """(M, n) integrals of clipped sums of random modes, about zero and of size one."""
    t = _times(config)
    frequency = np.exp(rng.uniform(np.log(config.first), np.log(config.last), (_MODES, n)))
    size, phase = rng.uniform(0.2, 1.0, (_MODES, n)), rng.uniform(0.0, 2.0 * np.pi, (_MODES, n))
    speed = np.einsum("kn,knt->tn", size, np.sin(2.0 * np.pi * frequency[:, :, None] * t + phase[:, :, None]))
    speed /= np.abs(speed).max(axis=0)
    # Clipped softly: a corner in the speed would be a jump in the acceleration.
    position = np.cumsum(np.tanh(1.5 * speed), axis=0) / config.rate
    line = np.stack([np.ones_like(t), t], axis=1)
    position -= line @ np.linalg.lstsq(line, position, rcond=None)[0]
    return np.asarray(position / np.abs(position).max(axis=0))


def _scale_to_limits(
    shape: Array, config: ExcitationConfig, limits: JointLimits, middle: Array, room: Array
) -> Excitation:
    """The shape (M, n) faded in and out, as large as the limits let each joint be."""
    t = _times(config)
    fade = np.clip(np.minimum(t, t[-1] - t) / min(config.rest, 0.4 * config.duration), 0.0, 1.0)
    shape = shape * (fade**3 * (10.0 - 15.0 * fade + 6.0 * fade**2))[:, None]
    speed = np.gradient(shape, t, axis=0)
    push = np.gradient(speed, t, axis=0)
    acceleration = np.where(np.isfinite(limits.acceleration), limits.acceleration, _SHARPEST)
    size = np.minimum(config.amplitude, config.share * np.where(np.isfinite(room), room, np.inf))
    for limit, derivative in ((limits.velocity, speed), (acceleration, push)):
        size = np.minimum(size, config.share * limit / np.abs(derivative).max(axis=0))
    return Excitation(t, middle + size * shape, size * speed, size * push)
