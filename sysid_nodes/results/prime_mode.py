# SPDX-License-Identifier: Apache-2.0
"""How PRIME replays a log."""

HORIZON, BATCH = "horizon", "batch"
"""By the live node's moving horizon, or full information over the whole log."""
