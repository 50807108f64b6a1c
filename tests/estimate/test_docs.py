from __future__ import annotations

import doctest
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"


def test_the_examples_of_the_docs_run() -> None:
    found = doctest.testfile(str(DOCS / "estimation.md"), module_relative=False)
    assert found.attempted > 8
    assert found.failed == 0
