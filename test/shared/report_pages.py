# SPDX-License-Identifier: Apache-2.0
"""The part of a report that people read."""

from __future__ import annotations

import re


def without_scripts(page: str) -> str:
    """The page without its scripts and their data, which have tests of their own."""
    page = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    return re.sub(r"<style>\.uplot.*?</style>", "", page, flags=re.DOTALL)
