# SPDX-License-Identifier: Apache-2.0
"""Templates of report.html."""

from __future__ import annotations

import functools
import re
from datetime import datetime, timezone

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup, escape

from sysid_nodes.data.versions import own_version
from sysid_nodes.reports import wording
from sysid_nodes.reports.drawing.posture_scene import LONGEST
from sysid_nodes.reports.scripts import page_scripts

NO_SCENE = Markup()


def command_text(text: str) -> Markup:
    """Words with a command among them, of which no line ends within an option or between it and its value."""
    options = r"--[\w-]+( [\w.=]+)?"
    return Markup(re.sub(options, lambda found: f'<span class="option">{found[0]}</span>', str(escape(text))))


@functools.cache
def _version() -> tuple[str, str]:
    """And commit, asked for once: pages of one process say the same, however busy the machine is."""
    return own_version()


def template(name: str) -> Template:
    """A page of this package, with the filters that pages use."""
    environment = Environment(
        loader=PackageLoader("sysid_nodes.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    version, commit = _version()
    made = {"date": f"{datetime.now(timezone.utc):%Y-%m-%d}", "version": version, "commit": commit}
    environment.globals |= {"made": made, "scripts": page_scripts, "longest": LONGEST}
    environment.filters |= {"number": wording.number_text, "unit": wording.unit_text, "words": wording.words}
    environment.filters["command"] = command_text
    return environment.get_template(name)
