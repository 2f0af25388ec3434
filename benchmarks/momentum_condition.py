# SPDX-License-Identifier: Apache-2.0
"""How well executed plans condition the momentum regressor (the paper's Table V)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.regressors import body_columns, window_regressors
from sysid_nodes.systems.certified.search.excitation import executed_states


def momentum_condition(
    chain: Chain, body: int, plans: Sequence[Bezier], replan: float, *, window: float, rate: float
) -> float:
    """2-norm condition number of the body's momentum regressor over executed plans (the paper's Table V).

    Args:
        chain: the robot.
        body: index of the body.
        plans: each runs for `replan`, the last to its end.
        replan: t_p [s].
        window: length of the windows [s], one after the other; what is left at the end is not used.
        rate: samples a second.

    Raises:
        ConfigError: no plan, times out of range, or no whole window.
        SamplesError: the chain has no such body, or a plan is of another robot.
    """
    mine, _ = body_columns(chain, body)
    q, qd, _ = executed_states(plans, replan, rate)
    length = round(window * rate)
    if not 1 <= length < len(q):
        raise ConfigError(f"a window of {length} samples does not fit into {len(q)}")
    first = np.arange(0, len(q) - length, length)
    difference, integral = window_regressors(
        chain, np.arange(len(q)) / rate, q, qd, np.stack([first, first + length], axis=1)
    )
    return float(np.linalg.cond((difference - integral)[:, :, mine].reshape(-1, mine.size)))
