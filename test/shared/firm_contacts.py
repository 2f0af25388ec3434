# SPDX-License-Identifier: Apache-2.0
"""PRIME as if contacts were as firm where they begin and end as elsewhere, for what is needed then and seldom else."""

from __future__ import annotations

import pytest

from sysid_nodes.systems.prime import full_information, moving_horizon


def hold_firm(patch: pytest.MonkeyPatch) -> None:
    """Until the patch is undone."""
    for module in (full_information, moving_horizon):
        patch.setattr(module, "with_firmness", lambda problem, _: problem)
