"""A small document that can be written as Markdown and as HTML."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

__all__ = ["Block", "Heading", "Items", "Picture", "Table", "Text", "to_html", "to_markdown"]


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading of level 1, 2 or 3."""

    level: int
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Items:
    """A list of short paragraphs."""

    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table; a cell of several lines has them in a tuple."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str | tuple[str, ...], ...], ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A figure beside the document, without its ending (there is a PNG and an SVG)."""

    name: str
    caption: str


Block: TypeAlias = Heading | Text | Items | Table | Picture


def to_markdown(blocks: Sequence[Block]) -> str:
    """Write a document as Markdown."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Items(items):
            return "\n".join(f"- {item}" for item in items)
        case Table(columns, rows):
            lines = [columns, ("---",) * len(columns), *rows]
            return "\n".join("| " + " | ".join(map(_cell, line)) + " |" for line in lines)
        case Picture(name, caption):
            return f"![{caption}]({name}.png)\n\n*{caption}* ([SVG]({name}.svg))"


def _cell(cell: str | tuple[str, ...]) -> str:
    text = cell if isinstance(cell, str) else "<br>".join(cell)
    return text.replace("|", "\\|")


_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.55 system-ui, sans-serif; color: #1b1b1b; background: #fff; margin: 2rem auto;
       max-width: 62rem; padding: 0 1rem; }
h1, h2, h3 { line-height: 1.25; }
h2 { margin-top: 2.5rem; border-bottom: 1px solid #ddd; padding-bottom: .2rem; }
table { border-collapse: collapse; font-size: .9rem; display: block; overflow-x: auto; }
th, td { border-bottom: 1px solid #ddd; padding: .35rem .7rem; text-align: left;
         vertical-align: top; }
th { border-bottom: 2px solid #999; }
figure { margin: 1.5rem 0; }
figure img { max-width: 100%; height: auto; }
figcaption { color: #555; font-size: .9rem; }
strong.holds { color: #00613f; }
strong.holds-in-part { color: #7a5200; }
strong.does-not-hold { color: #9c2400; }
strong.undecided, strong.not-tested { color: #555; }
@media (max-width: 32rem) {
  body { margin: 1rem auto; }
  table { font-size: .8rem; }
  th, td { padding: .3rem .2rem; }
}
"""


def to_html(blocks: Sequence[Block], title: str, folder: Path) -> str:
    """Write a document as one HTML file that needs no other; pictures are taken from `folder`."""
    body = "\n".join(_html(block, folder) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Items(items):
            return "<ul>" + "".join(f"<li>{_inline(item)}</li>" for item in items) + "</ul>"
        case Table(columns, rows):
            head = "".join(f"<th>{_inline(name)}</th>" for name in columns)
            lines = "\n".join(
                "<tr>" + "".join(f"<td>{_html_cell(cell)}</td>" for cell in row) + "</tr>"
                for row in rows
            )
            return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table>"
        case Picture(name, caption):
            data = base64.b64encode((folder / f"{name}.svg").read_bytes()).decode()
            return (
                f'<figure><img alt="{html.escape(caption, quote=True)}" '
                f'src="data:image/svg+xml;base64,{data}">'
                f"<figcaption>{html.escape(caption)}</figcaption></figure>"
            )


def _html_cell(cell: str | tuple[str, ...]) -> str:
    return _inline(cell) if isinstance(cell, str) else "<br>".join(map(_inline, cell))


def _inline(text: str) -> str:
    """Escape a text; `code` and **bold** are marked as in Markdown."""
    result = []
    for place, part in enumerate(html.escape(text).split("`")):
        result.append(f"<code>{part}</code>" if place % 2 else _bold(part))
    return "".join(result)


def _bold(text: str) -> str:
    parts = text.split("**")
    for place in range(1, len(parts), 2):
        kind = parts[place].replace(" ", "-")
        parts[place] = f'<strong class="{kind}">{parts[place]}</strong>'
    return "".join(parts)
