"""How Sphinx builds these pages: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sphinx.application import Sphinx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

import noutput  # noqa: E402

project = "noutput"
author = "the noutput authors"
release = version = noutput.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "mathml", "commands"]
# The report is a part of the page on the reproduction, not a page of its own.
exclude_patterns = ["_build", "reproduction/REPORT.md"]

html_theme = "furo"
html_title = "noutput"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

default_role = "py:obj"
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings say the types in words
autodoc_default_options = {"members": True}
napoleon_google_docstring = False
napoleon_custom_sections = ["Guarantees"]
napoleon_use_rtype = False


def add_report(_: Sphinx, docname: str, source: list[str]) -> None:
    """Append the report of the reproduction to its page, where it was written."""
    if docname == "reproduction/index" and (HERE / "reproduction" / "REPORT.md").exists():
        source[0] += "\n```{include} REPORT.md\n:heading-offset: 1\n```\n"


def setup(app: Sphinx) -> None:
    """Connect what no extension of its own is worth."""
    app.connect("source-read", add_report)
