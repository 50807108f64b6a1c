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

_DOTS = re.compile(r"\\dots(?![A-Za-z])")
_DIGITS = re.compile(r"\\frac\s*(\d)\s*(\d)")  # which the converter takes for one number
_SIZED = re.compile(r"\\(big|Big)\s*(\\?[()\[\]{}|])")
_NAME = re.compile(
    r"(?P<before></(?:mi|mn|msub|msup|msubsup|mfrac|msqrt)>\s*|\)</mo>\s*)?"
    r"(?P<name><mi[^>]*>[a-z]{2,}</mi>\s*<mo>&ApplyFunction;</mo>\s*)(?P<open><mo[^>]*>[(\[])?"
)
_SPACE = '<mspace width="0.1667em"></mspace>'


def prepared(text: str) -> str:
    """Return a formula in the words that docutils' converter knows."""
    bars = 0

    def sized(found: re.Match[str]) -> str:
        nonlocal bars
        size, sign = found.groups()
        bars += sign.endswith("|")
        closes = sign[-1] in ")]}" or (sign.endswith("|") and bars % 2 == 0)
        return f"\\{size}{'r' if closes else 'l'}{sign}"

    known = _DIGITS.sub(r"\\frac{\1}{\2}", _DOTS.sub(r"\\ldots", text))
    return _SIZED.sub(sized, known)


def spaced(mathml: str) -> str:
    """Return MathML with space around names such as ln, and with norms as high as letters."""

    def with_space(found: re.Match[str]) -> str:
        before, name, opened = found["before"] or "", found["name"], found["open"] or ""
        return f"{before}{_SPACE if before else ''}{name}{opened or _SPACE}"

    return _NAME.sub(with_space, mathml.replace("<mo>‖</mo>", '<mo stretchy="false">‖</mo>'))


def _render(self: HTML5Translator, node: nodes.math | nodes.math_block, *, block: bool) -> str:
    text = prepared(node.astext())
    try:
        return spaced(str(latex2mathml.tex2mathml(text, as_block=block)))
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
