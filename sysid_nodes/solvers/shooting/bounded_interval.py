# SPDX-License-Identifier: Apache-2.0
"""Intervals of parameters that bounds cut."""

from __future__ import annotations

import numpy as np
from scipy import special  # not stats, which takes a third of a node's start


def bounded_interval(
    mean: float, sigma: float, freedom: float, lower: float, upper: float, *, level: float = 0.95
) -> tuple[float, float]:
    """Shortest interval of Student's distribution about a mean, cut to [lower, upper] and scaled to one again.

    It holds the likeliest value. A central interval would leave out every bound, though the truth may be there.

    Args:
        mean: where the unbounded problem has its minimum; may lie outside.
        sigma: its standard deviation; zero or infinite gives a point or the bounds.
        freedom: degrees of freedom.
        lower, upper: bounds; may be infinite.
        level: probability within the interval.

    Returns:
        The interval's ends. Where practically all of the distribution lies outside, the nearer bound twice.
    """
    if not np.isfinite(sigma):
        return lower, upper
    if sigma <= 0.0:
        point = float(np.clip(mean, lower, upper))
        return point, point
    a, b = (lower - mean) / sigma, (upper - mean) / sigma
    mirrored = a > 0.0  # the upper tail is where a distribution function has no digits left
    if mirrored:
        a, b = -b, -a
    below, above = float(special.stdtr(freedom, a)), float(special.stdtr(freedom, b))
    if not above - below > 1e-300:  # nothing of the distribution that has digits lies between the bounds
        point = float(np.clip(mean, lower, upper))
        return point, point
    held = level * (above - below)
    half = float(special.stdtrit(freedom, 0.5 + 0.5 * held))
    if a <= -half and half <= b:
        ends = [-half, half]
    elif -a <= b:
        ends = [float(a), float(special.stdtrit(freedom, below + held))]
    else:
        ends = [float(special.stdtrit(freedom, above - held)), float(b)]
    if mirrored:
        a, b, ends = -b, -a, [-ends[1], -ends[0]]
    low, high = (float(np.clip(mean + sigma * end, lower, upper)) for end in ends)
    return lower if ends[0] == a else low, upper if ends[1] == b else high  # a bound itself, not one rounding beside it
