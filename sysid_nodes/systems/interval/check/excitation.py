# SPDX-License-Identifier: Apache-2.0
"""All that a motion can tell about a body, with the noise that was measured and friction and offsets unknown."""

from __future__ import annotations

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.results.identification import Excitation
from sysid_nodes.systems.interval.check.arm_fit import ArmFit
from sysid_nodes.systems.interval.check.window_means import WindowMeans
from sysid_nodes.systems.interval.excitation import ExcitationMeter

_WORST = 3.0
"""Standard deviations that an error is at most."""


def body_excitation(means: WindowMeans, fit: ArmFit, body: int, prior: Bounds) -> Excitation:
    """Excitation of a body's ten parameters, of what friction, armature and offset cannot imitate."""
    meter = ExcitationMeter(prior)
    columns = slice(10 * body, 10 * body + 10)
    for k, joint in enumerate(fit.joints):
        basis = np.linalg.qr(np.column_stack([means.motion[:, k], np.ones(means.count)]))[0]
        rows = means.regressor[:, k, columns]
        error = max(_WORST * joint.rms / fit.unit[k], 1e-6)
        meter.add(rows - basis @ (basis.T @ rows), np.full(means.count, error))
    return meter.measure()
