"""Numbers that a page states in its sentences, for tests that compute them."""

from __future__ import annotations

import re

from tests.docs.blocks import ROOT


def stated(page: str, pattern: str) -> list[float]:
    """Return the numbers at the groups of `pattern`, which the page has exactly once.

    Line breaks of the page count as spaces, and commas inside numbers are left out.
    """
    text = re.sub(r"\s+", " ", (ROOT / page).read_text(encoding="utf-8"))
    found = re.findall(pattern, text)
    assert len(found) == 1, f"{page} states {pattern!r} {len(found)} times"
    groups = found[0] if isinstance(found[0], tuple) else (found[0],)
    return [float(group.replace(",", "")) for group in groups]


def rows(page: str, head: str) -> list[tuple[str, list[str]]]:
    """Return the rows of the table whose first line has `head`: the first cell, and the others."""
    text = (ROOT / page).read_text(encoding="utf-8")
    first = rf"^\|.*{re.escape(head)}.*\n\|[-:|]+\n"
    (after,) = re.findall(rf"{first}((?:\|.*\n)+)", text, re.MULTILINE)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in after.splitlines()]
    return [(first_cell, others) for first_cell, *others in cells]
