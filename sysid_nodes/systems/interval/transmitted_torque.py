# SPDX-License-Identifier: Apache-2.0
"""The torque that a drive transmits: what load friction is a share of.

Friction of geared drives grows with the torque they transmit (P. Hamon, M. Gautier, P. Garrec, IROS 2010). In proven
rows that torque is the measured one less the friction and offset that a calibration estimated, so that it does not
depend on the unknown body and the row stays linear in the share. That this is the friction there is, is part of the
model: what it leaves over in windows that a fit has not seen is what the calibration's bound on the torque error is
made of.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sysid_nodes.data.joint_samples import JointSamples

Array = npt.NDArray[np.float64]


def power_of_speed(speed: Array, power: Array) -> Array:
    """(N, n) speeds to the power (n,), signs kept: what viscous friction is proportional to."""
    return np.asarray(np.sign(speed) * np.abs(speed) ** power)


@dataclass(frozen=True)
class TransmittedTorque:
    """Attributes: coulomb, viscous, offset, gain, each (n,), as a calibration estimated them; viscous_power (n,)."""

    coulomb: Array
    viscous: Array
    offset: Array
    gain: Array
    viscous_power: Array

    @classmethod
    def of_point(cls, point: Array, viscous_power: Array) -> TransmittedTorque:
        """From the parameters (16 n,) of a statistical fit."""
        n = len(viscous_power)
        coulomb, viscous, _, offset, gain = point[10 * n : 15 * n].reshape(5, n)
        return cls(coulomb, viscous, offset, gain, viscous_power)

    def size(self, samples: JointSamples) -> Array:
        """(N - 1, n) its magnitude between two samples [N m]."""
        viscous = self.viscous * power_of_speed(samples.qd, self.viscous_power)
        friction = self.coulomb * np.sign(samples.qd) + viscous + self.offset
        torque = np.abs(self.gain * samples.tau - friction)
        return np.asarray(0.5 * (torque[1:] + torque[:-1]))
