"""How Sphinx builds these pages: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

import noutput  # noqa: E402 (found on the path of the line above)

project = "noutput"
author = "the noutput authors"
release = version = noutput.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "mathml",
    "commands",
    "notebooks",
    "wrapping",
]
exclude_patterns = ["_build"]

html_theme = "furo"
html_title = "noutput"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_js_files = [("copy.js", {"defer": "defer"})]
html_favicon = "_static/logo-light.svg"
html_theme_options = {"light_logo": "logo-light.svg", "dark_logo": "logo-dark.svg"}
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
