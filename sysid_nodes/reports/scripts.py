# SPDX-License-Identifier: Apache-2.0
"""Scripts of a report, bundled into its page: a scene to turn, plots to zoom. Without scripts the pictures stay."""

from __future__ import annotations

import base64
import functools
import gzip
from importlib.resources import files

from markupsafe import Markup

_MODULES = ("three.core.min.js", "three.module.min.js", "OrbitControls.js")


@functools.cache
def page_scripts(scene: bool) -> Markup:
    """Elements for the end of a page's body.

    Args:
        scene: whether the page has a scene; its library is by far the largest.
    """
    parts = [
        f"<style>{_vendor('uPlot.min.css')}</style>",
        f"<script>{_vendor('uPlot.iife.min.js')}</script>",
        f"<script>{_own('plots.js')}</script>",
    ]
    if scene:
        # Packed, they are a third of their size; browsers unpack by themselves.
        parts += [f'<script type="application/gzip" id="{name}">{_pack(_vendor(name))}</script>' for name in _MODULES]
        parts += [f"<script>{_own('scene.js')}</script>"]
    return Markup("\n".join(parts))


def _pack(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode("utf-8"), mtime=0)).decode("ascii")


def _vendor(name: str) -> str:
    return (files("sysid_nodes.reports") / "vendor" / name).read_text(encoding="utf-8")


def _own(name: str) -> str:
    return (files("sysid_nodes.reports") / "templates" / name).read_text(encoding="utf-8")
