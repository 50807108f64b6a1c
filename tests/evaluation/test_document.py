from __future__ import annotations

from pathlib import Path

from noutput.evaluation.document import (
    Heading,
    Items,
    Picture,
    Table,
    Text,
    to_html,
    to_markdown,
)

BLOCKS = (
    Heading(2, "A < B"),
    Text("It **holds** for `x < 1`."),
    Items(("one", "two")),
    Table(("a", "b"), (("1 | 2", ("x", "y")),)),
    Picture("curve", "A curve."),
)


def test_markdown() -> None:
    assert to_markdown(BLOCKS) == (
        "## A < B\n\nIt **holds** for `x < 1`.\n\n- one\n- two\n\n"
        "| a | b |\n| --- | --- |\n| 1 \\| 2 | x<br>y |\n\n"
        "![A curve.](curve.png)\n\n*A curve.* ([SVG](curve.svg))\n"
    )


def test_html_needs_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "curve.svg").write_text("<svg/>")
    text = to_html(BLOCKS, "A & B", tmp_path)
    assert "<title>A &amp; B</title>" in text
    assert '<strong class="holds">holds</strong> for <code>x &lt; 1</code>' in text
    assert "<td>x<br>y</td>" in text
    assert 'src="data:image/svg+xml;base64,PHN2Zy8+"' in text
    assert "http" not in text
