"""Every command and every piece of code of README.md and of the documentation is run."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.docs.blocks import CHECKED, SHOWN, blocks, pages
from tests.docs.reader import Reader

# Blocks that are shown and not run; each says why in its first line, where readers see it.
NOT_RUN = {
    "docs/collector.md": 1, "docs/deployment.md": 5, "docs/evaluation.md": 1, "docs/install.md": 1,
    "docs/issuer.md": 1, "docs/releasing.md": 1,
}  # fmt: skip
ELSEWHERE = {"docs/install.md", "clients/python/README.md"}  # `test_install.py` follows them
SLOW = {"docs/choosing.md", "docs/evaluation.md"}
PAGES = [page for page in pages() if blocks(page)]


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] * (page in SLOW))
        for page in PAGES
        if page not in ELSEWHERE
    ],
)
def test_a_reader_can_follow(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(tmp_path)
    try:
        for block in blocks(page):
            reader.follow(block)
    finally:
        reader.close()


def test_every_block_has_a_known_language() -> None:
    unknown = [
        block.place
        for page in PAGES
        for block in blocks(page)
        if block.language not in (*CHECKED, *SHOWN)
    ]
    assert unknown == []


def test_what_is_not_run_is_listed_here() -> None:
    found = Counter(
        block.page for page in PAGES for block in blocks(page) if block.why_not_run is not None
    )
    assert found == NOT_RUN
