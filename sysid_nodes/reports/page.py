# SPDX-License-Identifier: Apache-2.0
"""Templates of report.html."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from sysid_nodes.reports import wording


def template(name: str) -> Template:
    """A page of this package, with the filters that pages use."""
    environment = Environment(
        loader=PackageLoader("sysid_nodes.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": wording.number_text, "unit": wording.unit_text, "words": wording.words}
    return environment.get_template(name)
