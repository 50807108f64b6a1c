"""The fenced blocks of README.md and of every page of the documentation."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

# What is run or read by a test, and what is only shown. Nothing else may be used.
CHECKED = ("console", "js", "json", "kotlin", "python", "sh", "toml")
SHOWN = ("html", "nginx", "text", "yaml")

_FENCE = re.compile(r"^```(?P<language>[^\n]*)\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE)
_FILE_NAME = re.compile(r"# ([\w.-]+\.[a-z]+)\n")
_NOT_RUN = re.compile(r"# not run: (.+)\n")


@dataclass(frozen=True)
class Block:
    """One fenced block, and where it stands."""

    page: str
    line: int
    language: str
    text: str

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"

    @property
    def file_name(self) -> str | None:
        """The name in the comment of its first line: the reader is to save the block under it."""
        found = _FILE_NAME.match(self.text)
        return found[1] if found else None

    @property
    def why_not_run(self) -> str | None:
        """The reason in the comment of its first line, which readers see too."""
        found = _NOT_RUN.match(self.text)
        return found[1] if found else None


def pages() -> list[str]:
    """Every page, as a path from the root of the project."""
    found = [
        path
        for path in (ROOT / "docs").rglob("*.md")
        if not path.is_relative_to(ROOT / "docs" / "_build")
    ]
    names = sorted(path.relative_to(ROOT).as_posix() for path in found)
    clients = [f"clients/{name}/README.md" for name in ("js", "jvm", "python")]
    return ["README.md", "CONTRIBUTING.md", "SECURITY.md", *clients, *names]


def blocks(page: str) -> list[Block]:
    """The blocks of a page in their order, without the directives of Sphinx."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(page, text.count("\n", 0, found.start()) + 1, found["language"], found["text"])
        for found in _FENCE.finditer(text)
        if not found["language"].startswith("{")
    ]
