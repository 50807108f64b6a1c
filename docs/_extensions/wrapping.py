"""Line breaks on narrow screens: very long names may break, and prose in tables has some room."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_LONG = 40  # characters of a name
_SHORT, _PROSE = 12, 60  # characters of a cell
_PARTS = re.compile(r".+?(?:::|[/_.(,=?&-](?=\w)|$)")


class Wrapping(SphinxPostTransform):
    """Marks where lines of names may break, and which cells of tables hold little or prose."""

    default_priority = 900
    formats = ("html",)

    def run(self, **_options: Any) -> None:
        """Change all cells, and then all code."""
        for cell in self.document.findall(nodes.entry):
            length = len(cell.astext())
            if length <= _SHORT or length > _PROSE:
                cell["classes"].append("short" if length <= _SHORT else "prose")
        for code in list(self.document.findall(nodes.literal)):
            words = re.split(r"(\s+)", code.astext())
            if max(map(len, words)) < _LONG:
                continue
            code.clear()
            for word in words:
                parts = _PARTS.findall(word) if len(word) >= _LONG else [word]
                for number, part in enumerate(parts):
                    if number:
                        code += nodes.raw("", "<wbr>", format="html")
                    code += nodes.Text(part)


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the transform."""
    app.add_post_transform(Wrapping)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
