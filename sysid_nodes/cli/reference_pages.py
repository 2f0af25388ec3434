# SPDX-License-Identifier: Apache-2.0
"""The reference pages of all parameters, from the configuration dataclasses.

``python -m sysid_nodes.cli.reference_pages`` writes them into docs/; a test compares.
"""

from __future__ import annotations

import sys
from pathlib import Path

from sysid_nodes.cli.systems import SYSTEMS


def pages() -> dict[str, str]:
    """Markdown of each system's page by its place in docs/."""
    return {f"{entry.name}/parameters.md": entry.reference().page() for entry in SYSTEMS}


if __name__ == "__main__":
    for name, text in pages().items():
        place = Path(sys.argv[1] if len(sys.argv) > 1 else "docs") / name
        place.parent.mkdir(exist_ok=True)
        place.write_text(text, encoding="utf-8")
