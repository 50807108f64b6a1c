"""Draw `docs/images/architecture.svg`: `python -m tools.draw_architecture`.

The layers are those of `pyproject.toml`; the numbers in a box are those of the walks in
`docs/architecture.md` that visit it.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

__all__ = ["Step", "draw", "layers", "legs", "walks"]

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "architecture.md"
FIGURE = ROOT / "docs" / "images" / "architecture.svg"

_WALK = re.compile(r"^## Walk (\d+): .*\n((?:(?!## ).*\n)+)", re.MULTILINE)
_STEP = re.compile(r"^( *)- `([\w.]+)`", re.MULTILINE)
_INDENT = 2

# What fits into a box, for the packages whose names do not say it.
_NOTES = {
    "cli": "one module per command",
    "collector": "HTTP, dashboard",
    "evaluation": "the paper's claims",
    "frames": "dataframes, files",
    "issuer": "anonymous tokens",
    "planner": "expected errors",
    "registry": "mechanisms by name",
    "designs": "the best table, and its proof",
    "campaign": "what a device needs",
    "estimate": "mean, variance, distribution, intervals",
    "tally": "counts of reports",
    "amplification": "privacy of published counts",
    "mechanisms": "tables, certificate, samplers",
    "interval": "bounds in the user's units",
    "errors": "one tree of exceptions",
}
_WIDTH, _HEIGHT, _GAP, _EDGE = 400, 42, 10, 12
_COLORS = {1: "#0b57a4", 2: "#8a3b00", 3: "#1f6b2c"}


@dataclass(frozen=True)
class Step:
    """A module that a walk visits, and the steps that lead to it, outermost first."""

    module: str
    callers: tuple[str, ...]


def walks(text: str) -> dict[int, list[Step]]:
    """Return the steps of every walk of the page, in the order of the page."""
    found = {}
    for number, body in _WALK.findall(text):
        steps: list[Step] = []
        callers: list[str] = []
        for indent, module in _STEP.findall(body):
            callers = callers[: len(indent) // _INDENT]
            steps.append(Step(module, tuple(callers)))
            callers = [*callers, module]
        found[int(number)] = steps
    return found


def legs(steps: list[Step]) -> list[list[Step]]:
    """Return the parts of a walk: each begins at a module that somebody calls from outside."""
    found: list[list[Step]] = []
    for step in steps:
        if not step.callers:
            found.append([])
        found[-1].append(step)
    return found


def layers() -> list[list[str]]:
    """Return the names of the layers that `make layers` checks, the highest first."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (rows,) = [each["layers"] for each in contracts if each["name"] == "Imports go one way"]
    return [[name.strip().removeprefix("noutput.") for name in row.split("|")] for row in rows]


def draw() -> str:
    """Return the diagram as SVG, narrow enough for phones."""
    found = walks(PAGE.read_text(encoding="utf-8"))
    visits = {
        number: {step.module.split(".")[1] for step in steps} for number, steps in found.items()
    }
    rows = layers()
    height = len(rows) * (_HEIGHT + _GAP) - _GAP + 2 * _EDGE
    size, font = f'width="{_WIDTH}" height="{height}"', 'font-family="system-ui, sans-serif"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_WIDTH} {height}" {font}>',
        f'<rect {size} rx="8" fill="#ffffff"/>',
    ]
    for place, row in enumerate(rows):
        top = _EDGE + place * (_HEIGHT + _GAP)
        width = (_WIDTH - 2 * _EDGE - _GAP * (len(row) - 1)) / len(row)
        for column, name in enumerate(row):
            numbers = [number for number, names in visits.items() if name in names]
            parts += _box(_EDGE + column * (width + _GAP), top, width, name, numbers)
        if place:
            parts.append(_arrow(top))
    return "\n".join([*parts, "</svg>", ""])


def _box(left: float, top: float, width: float, name: str, numbers: list[int]) -> list[str]:
    middle = left + width / 2
    size = f'width="{width:g}" height="{_HEIGHT}" rx="5"'
    note = _NOTES.get(name)
    parts = [f'<rect x="{left:g}" y="{top:g}" {size} fill="#f2f5f9" stroke="#8794a5"/>']
    parts.append(_text(middle, top + (18 if note else 26), name, "#16202c", bold=True, size=14))
    if note:
        parts.append(_text(middle, top + 34, note, "#3c4a5a"))
    for place, number in enumerate(reversed(numbers)):
        x = left + width - 8 - 16 * place
        parts.append(f'<circle cx="{x:g}" cy="{top:g}" r="7.5" fill="{_COLORS[number]}"/>')
        parts.append(_text(x, top + 4, str(number), "#ffffff", bold=True))
    return parts


def _text(x: float, y: float, text: str, color: str, *, bold: bool = False, size: int = 11) -> str:
    weight = ' font-weight="600"' if bold else ""
    place = f'x="{x:g}" y="{y:g}" text-anchor="middle" font-size="{size}"{weight}'
    return f'<text {place} fill="{color}">{escape(text, quote=False)}</text>'


def _arrow(top: float) -> str:
    """Return a triangle that points down, from one layer to the next."""
    return f'<path d="M{_WIDTH / 2 - 5:g} {top - 8:g} h10 l-5 6 z" fill="#8794a5"/>'


if __name__ == "__main__":
    FIGURE.write_text(draw(), encoding="utf-8")
