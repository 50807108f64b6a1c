"""Pages that are Jupyter notebooks, shown with the outputs that are stored in them."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from html import escape
from typing import TYPE_CHECKING, Any

from myst_parser.parsers.sphinx_ import MystParser

if TYPE_CHECKING:
    from docutils import nodes
    from sphinx.application import Sphinx

_TAGS = re.compile(r"<style.*?</style>|<script.*?</script>", re.DOTALL)


def to_markdown(text: str) -> str:
    """Return a notebook as a page in MyST: its texts, its code, and below each cell its outputs."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code":
            parts.append(_fence("python", source))
            alt = cell["metadata"].get("alt", "")
            parts += [_output(each, alt) for each in cell["outputs"]]
    return "\n\n".join(parts) + "\n"


def _fence(kind: str, text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    ticks = "`" * max(3, longest + 1)
    return f"{ticks}{kind}\n{text.rstrip()}\n{ticks}"


def _output(output: dict[str, Any], alt: str) -> str:
    if output["output_type"] == "error":
        raise ValueError(f"a cell of a notebook ends with an error: {output['ename']}")
    if output["output_type"] == "stream":
        return _block(_fence("text", "".join(output["text"])))
    data = {name: "".join(content) for name, content in output["data"].items()}
    if "image/svg+xml" in data:
        if not alt:
            raise ValueError("a cell with a picture needs a text for it: its metadata, `alt`")
        content = b64encode(data["image/svg+xml"].encode()).decode()
        picture = f'<img alt="{escape(alt)}" src="data:image/svg+xml;base64,{content}">'
        return _block(f"```{{raw}} html\n{picture}\n```")
    if "text/html" in data:
        return _block(f"```{{raw}} html\n{_TAGS.sub('', data['text/html'])}\n```")
    return _block(_fence("text", data["text/plain"]))


def _block(text: str) -> str:
    return f"`````{{container}} output\n{text}\n`````"


class NotebookParser(MystParser):
    """Parser of notebooks: they become MyST first."""

    supported = ("notebook",)

    def parse(self, inputstring: str, document: nodes.document) -> None:
        """Parse a notebook."""
        super().parse(to_markdown(inputstring), document)


def setup(app: Sphinx) -> dict[str, Any]:
    """Let pages be notebooks."""
    app.add_source_suffix(".ipynb", "notebook")
    app.add_source_parser(NotebookParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
