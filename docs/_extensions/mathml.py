"""Formulas as MathML, made while the pages are built: readers need no script for them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils.nodes import SkipNode
from docutils.utils.math import MathError, latex2mathml
from sphinx.util import logging
from sphinx.util.nodes import get_node_line

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx
    from sphinx.writers.html5 import HTML5Translator

_LOGGER = logging.getLogger(__name__)

# What docutils' converter does not know, and what says the same.
_INSTEAD = {r"\dots": r"\ldots", r"\big": "", r"\Big": ""}
_UNKNOWN = re.compile("|".join(re.escape(name) + r"(?![A-Za-z])" for name in _INSTEAD))


def _render(self: HTML5Translator, node: nodes.math | nodes.math_block, *, block: bool) -> str:
    text = _UNKNOWN.sub(lambda found: _INSTEAD[found[0]], node.astext())
    try:
        return str(latex2mathml.tex2mathml(text, as_block=block))
    except MathError as error:
        where = (self.builder.current_docname, get_node_line(node))
        _LOGGER.warning("a formula cannot be set: %s: %r", error, text, location=where)
        return self.encode(text)


def _visit_math(self: HTML5Translator, node: nodes.math) -> None:
    self.body.append(_render(self, node, block=False))
    raise SkipNode


def _visit_math_block(self: HTML5Translator, node: nodes.math_block) -> None:
    self.body.append(f'<div class="math">{_render(self, node, block=True)}</div>')
    raise SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Offer the renderer under the name ``mathml``."""
    app.add_html_math_renderer("mathml", (_visit_math, None), (_visit_math_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
