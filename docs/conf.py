# SPDX-License-Identifier: Apache-2.0
"""Sphinx's configuration of the documentation's site: `make docs`.

The pages are the repository's Markdown files, so the sources' folder is the repository's root and every link between
files is one between pages. What only Sphinx needs (tables of contents) is added to them here, not written into them.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

project = "online_sysid"
author = "online_sysid maintainers"
project_copyright = "online_sysid maintainers, Apache-2.0"
release = version = ElementTree.parse(ROOT / "package.xml").findtext("version", "")

extensions = ["myst_parser", "autoapi.extension", "sphinx.ext.napoleon", "sphinx_copybutton"]
root_doc = "docs/index"
include_patterns = ["docs/**", "*.md", "examples/*.md", "benchmarks/README.md", "reference/**"]
exclude_patterns = ["README.md", "docs/conf.py", "docs/site", ".*"]

myst_enable_extensions = ["dollarmath", "amsmath", "html_image"]  # the last one, or pictures stay behind
myst_heading_anchors = 4
myst_update_mathjax = False  # which is not used
default_role = "literal"  # of single backticks in docstrings
napoleon_use_ivar = True  # attributes of a class are fields of its description, not entries of their own
suppress_warnings = [
    "autoapi.python_import_resolution",  # several constants assigned at once
    "ref.python",  # `type` is the name of several things
]

highlight_language = "text"  # of fences that name none: commands

html_theme = "furo"
html_math_renderer = "mathml"  # see write_formula
html_title = f"online_sysid {release}"
html_extra_path = ["site"]  # relative to this file: the page that leads to the first one
html_search_scorer = str(ROOT / "docs" / "search_order.js")
html_theme_options = {"navigation_with_keys": True}

autoapi_dirs = [str(ROOT / "sysid_nodes")]
autoapi_root = "reference"
autoapi_add_toctree_entry = False
autoapi_ignore = ["*/ros/*", "*/cli/*"]  # edges: nodes and commands have pages of their own
autoapi_options = ["members", "undoc-members", "show-inheritance", "show-module-summary"]
autoapi_keep_files = False

CONTENTS = {
    "Start": ["install", "choose", "gallery", "errors", "batch", "ros", "glossary"],
    "Systems": sorted(f"{page.parent.name}/index" for page in (ROOT / "docs").glob("*/index.md")),
    "Reference": ["/reference/sysid_nodes/index", "/examples/README", "exit-status", "architecture", "tried"],
    "Project": ["/benchmarks/README", "/CONTRIBUTING", "/CHANGELOG"],
}
"""What the site's menu shows; pages of a system follow below its first one."""


def add_contents(_app: Any, name: str, source: list[str]) -> None:
    """Adds hidden tables of contents, which readers of the Markdown have no use for, and takes links off folders."""
    source[0] = re.sub(r"\[([^\]\n]+)\]\([^)\s]*(?:/|benchmarks/reports/[^)]+)\)", r"\1", source[0])
    folder, _, page = name.rpartition("/")
    if name == root_doc:
        source[0] += "".join(toctree(pages, caption) for caption, pages in CONTENTS.items())
    elif page == "index" and folder.startswith("docs/"):
        rest = sorted(path.stem for path in (ROOT / folder).glob("*.md") if path.stem != "index")
        source[0] += toctree(rest)


def toctree(pages: list[str], caption: str = "") -> str:
    """A hidden table of contents in MyST."""
    options = ":hidden:\n" + (f":caption: {caption}\n" if caption else "")
    return "\n\n```{toctree}\n" + options + "\n" + "\n".join(pages) + "\n```\n"


def keep_as_written(_app: Any, _what: str, _name: str, _object: Any, _options: Any, lines: list[str]) -> None:
    """Makes indented formulas of a docstring literal blocks, and keeps |x| the magnitude of x, not a substitution."""
    kept: list[str] = []
    formula = False
    for row, line in enumerate(lines):
        if line:
            after_text = row > 1 and not lines[row - 1] and lines[row - 2][:1].strip() and lines[row - 2][-2:] != "::"
            begins = line.startswith("    ") and not formula and after_text
            formula = line.startswith("    ") and (formula or bool(begins))
            if begins:
                kept += ["::", ""]
        parts = line.split("`")  # every second one is code
        if not formula:
            parts[::2] = [part.replace("|", "\\|") for part in parts[::2]]
        kept.append("`".join(parts))
    lines[:] = kept


def fold_menu(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """Leaves out of a page's menu what lies below others: with all modules on each page a build takes ten minutes."""
    whole = context.get("toctree")
    if whole is not None:
        context["toctree"] = lambda **options: whole(**options | {"collapse": True})


def keep_options_whole(_app: Any, _page: str, _template: str, context: dict[str, Any], _doctree: Any) -> None:
    """No line ends within the dashes of an option."""
    body = context.get("body", "")
    context["body"] = body.replace('<span class="pre">--', '<span class="pre" style="white-space: nowrap">--')


def write_formula(translator: Any, node: Any) -> None:
    """A formula as MathML, which browsers draw by themselves: pages are whole without a network and without scripts."""
    from docutils import nodes  # here, for tests read this file without what the site is built with
    from latex2mathml.converter import convert

    if isinstance(node, nodes.math_block):
        formula = convert(node.astext(), display="block")
        translator.body.append(f'<div class="math" style="overflow-x: auto; overflow-y: hidden">{formula}</div>\n')
    else:
        translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Called by Sphinx."""
    app.connect("html-page-context", fold_menu, priority=400)  # before the theme's own, which asks for the menu
    app.connect("html-page-context", keep_options_whole)
    app.add_html_math_renderer("mathml", (write_formula, None), (write_formula, None))
    app.connect("source-read", add_contents)
    app.connect("autodoc-process-docstring", keep_as_written, priority=400)  # before sections become fields
