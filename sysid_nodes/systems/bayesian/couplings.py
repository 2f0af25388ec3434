# SPDX-License-Identifier: Apache-2.0
"""Gears that couple joints: a motor that turns with more than its own joint, as in the wrists of many industrial arms.

Motors turn by C q, behind their gears, C being the couplings with ones along the diagonal; where they give T the joints
feel C'T. Friction, armature and the torques that are read are the motors', rigid bodies the joints' (W. Khalil,
E. Dombre, Modeling, Identification and Control of Robots, 2002, section 9.7).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sysid_nodes.exceptions import ConfigError

Array = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def read_couplings(words: tuple[str, ...], joints: tuple[str, ...], motors: BoolArray) -> Array:
    """C (n, n), the identity where there is none.

    Args:
        words: JOINT:OTHER:TURNS each; the motor of JOINT turns by its own angle and TURNS times that of OTHER.
        joints: (n,) names.
        motors: (n,) whether a joint has one.

    Raises:
        ConfigError: a word is not of that form, names a joint that does not exist or has no motor, or the couplings
            leave joints that no motor moves.
    """
    coupling = np.eye(len(joints))
    for word in (word for word in words if word):
        where = f"'mechanism.couplings': '{word}'"
        try:
            joint, other, text = word.split(":")
            turns = float(text)
        except ValueError:
            raise ConfigError(f"{where} is not JOINT:OTHER:TURNS") from None
        for name in (joint, other):
            if name not in joints:
                raise ConfigError(f"{where}: there is no joint '{name}'; there are {', '.join(joints)}")
            if not motors[joints.index(name)]:
                raise ConfigError(f"{where}: '{name}' has no motor")
        if joint == other or not np.isfinite(turns):
            raise ConfigError(f"{where} does not couple two joints")
        coupling[joints.index(joint), joints.index(other)] = turns
    if abs(np.linalg.det(coupling)) < 1e-6:
        raise ConfigError("'mechanism.couplings' leave joints that no motor moves")
    return coupling
