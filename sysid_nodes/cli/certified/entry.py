# SPDX-License-Identifier: Apache-2.0
"""Which results are of certified motion: it runs live alone, so that there is nothing to replay."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sysid_nodes.cli.system import Entry

BAG_NAME = "bag"

FORMER = "loop"
"""Name of the run's object in results of earlier versions, whose page would else lose the run without a word."""


def has_made(document: Mapping[str, Any], folder: Path) -> bool:
    """The identifier's result, with the loop in it; without the bag only the identifier's own page can be made."""
    return not {"certified", FORMER}.isdisjoint(document) and (folder / BAG_NAME).exists()


CERTIFIED = Entry("certified", "certified motion", made=has_made)
