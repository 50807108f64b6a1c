"""`docs/performance.md`: every measurement of one run, with date, machine and versions."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from benchmarks import comparison, growth
from benchmarks.figure import write_growth
from benchmarks.measure import Case

__all__ = ["number", "write_page"]

_DOCS = Path(__file__).parents[1] / "docs"
_FIGURE = Path("images", "performance-growth.svg")
_OURS = ("numpy", "scipy", "cryptography")
_START = """\
# Performance

`make bench` measures everything on this page in one run, and writes the page. Every time is the
best of several repetitions; compared programs run alternately, so that both see the same load.
*The floor* is the time to fill as many floats with `numpy.random.Generator.random(out=...)`: a
program that needs one random number per value cannot be faster. Tables have 16 outputs at
epsilon 1 unless stated otherwise; "secure" is AES-256 in counter mode under a fresh key, "seeded"
is PCG64. Linear algebra uses one thread (`OMP_NUM_THREADS=1`), also for the peers.
"""


def write_page(parts: Mapping[str, Sequence[Case]], texts: Mapping[str, str]) -> None:
    """Write the page and its figure; the text of a part is a title, then what has to be known."""
    lines = [_START, *_facts(), ""]
    for name, cases in parts.items():
        title, _, text = texts[name].partition("\n")
        lines += [f"## {title.rstrip('.')}", *([text.rstrip()] if text else []), ""]
        lines += [*_table(cases), ""]
        if name == "growth":
            (_DOCS / _FIGURE).parent.mkdir(exist_ok=True)
            write_growth(growth.curves, _DOCS / _FIGURE)
            lines += [f"![Time against people, outputs, knots, bins and attributes]({_FIGURE})", ""]
        if name == "comparison":
            lines += ["| peer | version | measured with |", "|---|---|---|"]
            lines += [
                f"| {peer} | {' | '.join(facts)} |" for peer, facts in comparison.found.items()
            ]
            lines += [""]
    _DOCS.joinpath("performance.md").write_text("\n".join(lines).rstrip() + "\n")


def _facts() -> list[str]:
    versions = ", ".join(f"{name} {version(name)}" for name in _OURS)
    machine = f"{_processor()}, {os.cpu_count()} cores, {_memory():.0f} GB"
    return [
        f"- date: {datetime.now(UTC):%Y-%m-%d}",
        f"- machine: {machine}, {platform.system()}",
        f"- versions: noutput {version('noutput')}, Python {sys.version.split()[0]}, {versions}",
    ]


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if sys.platform == "linux" else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def _memory() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9


def _table(cases: Sequence[Case]) -> list[str]:
    lines = ["| what | found | goal | | detail |", "|---|---:|---:|---|---|"]
    for case in cases:
        mark = "" if case.goal is None else "reached" if case.reached else "**missed**"
        found = f"{number(case.found)} {case.unit}"
        lines.append(f"| {case.name} | {found} | {case.target} | {mark} | {case.detail} |")
    return lines


def number(value: float) -> str:
    """Return three significant digits, never in the form 1e+03."""
    if abs(value) >= 100.0:
        return f"{value:,.0f}"
    return f"{value:.3g}"
