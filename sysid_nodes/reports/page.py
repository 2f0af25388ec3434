# SPDX-License-Identifier: Apache-2.0
"""Templates of report.html."""

from __future__ import annotations

from datetime import datetime, timezone

from jinja2 import Environment, PackageLoader, StrictUndefined, Template
from markupsafe import Markup

from sysid_nodes import __version__
from sysid_nodes.data.versions import SOURCE, source_commit
from sysid_nodes.reports import wording
from sysid_nodes.reports.drawing.posture_scene import LONGEST
from sysid_nodes.reports.scripts import page_scripts

NO_SCENE = Markup()


def template(name: str) -> Template:
    """A page of this package, with the filters that pages use."""
    environment = Environment(
        loader=PackageLoader("sysid_nodes.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made = {"date": f"{datetime.now(timezone.utc):%Y-%m-%d}", "version": __version__, "commit": source_commit(SOURCE)}
    environment.globals |= {"made": made, "scripts": page_scripts, "longest": LONGEST}
    environment.filters |= {"number": wording.number_text, "unit": wording.unit_text, "words": wording.words}
    return environment.get_template(name)
