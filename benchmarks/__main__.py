"""`make bench`: measure every case, print it beside its goal, and fail where one is missed."""

from __future__ import annotations

import sys
from itertools import chain

from benchmarks import analyst, collector, core, designs, estimation, frames, mechanisms


def main() -> None:
    """Run all cases."""
    missed = 0
    parts = (core, designs, mechanisms, estimation, frames, analyst, collector)
    for case in chain.from_iterable(part.cases() for part in parts):
        mark = "ok" if case.reached else "MISSED"
        print(f"{case.name:45} {case.found:10.4g} {case.unit:20} goal {case.goal:<8g} {mark}")
        missed += not case.reached
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
