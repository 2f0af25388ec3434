# SPDX-License-Identifier: Apache-2.0
"""Rule that tells when a body is identified as well as the motion allows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.robots.robot import Array
from sysid_nodes.systems.certified.search.config import StopRuleConfig


@dataclass(frozen=True)
class StopRule:
    """Counts the plans that taught nothing.

    Attributes:
        config: what counts as nothing, and how many of them end the phase.
        widths: (10,) of the intervals after the last plan; None before any.
        idle: plans in a row that narrowed no interval by the wanted share.
    """

    config: StopRuleConfig
    widths: Array | None = None
    idle: int = 0

    def after(self, bounds: Bounds) -> StopRule:
        """The rule after another plan was executed and its data identified."""
        widths = bounds.upper - bounds.lower
        if self.widths is None:
            return replace(self, widths=widths)
        shrunk = self.widths - widths > self.config.shrink * self.widths
        return replace(self, widths=widths, idle=0 if bool(np.any(shrunk)) else self.idle + 1)

    @property
    def done(self) -> bool:
        """Whether bounds no longer shrink."""
        return self.idle >= self.config.plans
