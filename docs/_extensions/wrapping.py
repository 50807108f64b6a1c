"""Line breaks on narrow screens: very long names may break, and prose in tables has some room."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LONG = 40  # characters of a name
_PROSE = 60  # characters of a cell
_PARTS = re.compile(r".+?(?:::|[/_](?=\w)|$)")


class Wrapping(SphinxPostTransform):
    """Marks where lines of names may break, and which cells of tables hold prose."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_options: Any) -> None:
        """Change all cells, and then all code without spaces."""
        for cell in self.document.findall(nodes.entry):
            if len(cell.astext()) > _PROSE:
                cell["classes"].append("prose")
        for code in list(self.document.findall(nodes.literal)):
            text = code.astext()
            if len(text) < _LONG or re.search(r"\s", text):
                continue
            code.clear()
            for number, part in enumerate(_PARTS.findall(text)):
                if number:
                    code += nodes.raw("", "<wbr>", format="html")
                code += nodes.Text(part)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the transform."""
    app.add_post_transform(Wrapping)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
