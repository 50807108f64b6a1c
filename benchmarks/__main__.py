"""`make bench`: measure every part, print each case beside its goal, fail where one is missed.

Without names the parts of `docs/performance.md` are measured and the page is written; with names
(`python -m benchmarks frames analyst`) just these, and nothing is written.
"""

from __future__ import annotations

import math
import sys
import time
import traceback
from importlib import import_module

from benchmarks.measure import Case
from benchmarks.page import number, write_page

_PAGE = (
    "core", "comparison", "estimation", "simulation", "growth", "mechanisms", "designs", "starting",
    "collector", "archive", "postgresql", "billion",
)  # fmt: skip
_OTHERS = ("frames", "analyst", "ids", "published")


def main(names: list[str]) -> int:
    """Run the parts; return how many goals were missed."""
    unknown = set(names) - {*_PAGE, *_OTHERS}
    if unknown:
        sys.exit(
            f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(_PAGE + _OTHERS)}"
        )
    found: dict[str, list[Case]] = {}
    texts: dict[str, str] = {}
    start = time.perf_counter()
    for name in names or _PAGE:
        part = import_module(f"benchmarks.{name}")
        texts[name] = str(part.__doc__)
        title = texts[name].splitlines()[0]
        print(f"\n[{time.perf_counter() - start:.0f} s] {title}", flush=True)
        found[name] = []
        try:
            for case in part.cases():
                _show(case)
                found[name].append(case)
        except Exception as error:  # noqa: BLE001 (a part that fails must not hide the others)
            traceback.print_exc()
            failure = f"{name}: {type(error).__name__}"
            found[name].append(Case(failure, math.inf, 0.0, "", detail="not measured"))
    if not names:
        write_page(found, texts)
    missed = [case.name for cases in found.values() for case in cases if not case.reached]
    print(f"\n[{time.perf_counter() - start:.0f} s] missed: {'; '.join(missed) or 'nothing'}")
    return len(missed)


def _show(case: Case) -> None:
    mark = "" if case.goal is None else "ok" if case.reached else "MISSED"
    found = f"{number(case.found):>8} {case.unit}"
    print(f"{case.name:66} {found:24} {case.target:14} {mark:6} {case.detail}", flush=True)


if __name__ == "__main__":
    sys.exit(1 if main(sys.argv[1:]) else 0)
