"""The reader notices what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.docs.blocks import Block
from tests.docs.reader import Reader, commands

RIGHT = [
    ("console", "$ echo one \\\n    two\none two\n$ echo three\n"),
    ("console", "$ printf 'a\\nb\\nc\\n'\na\n...\nc\n"),
    ("python", "a = 1\n"),
    ("python", ">>> 1 + 1\n2\n"),
    ("sh", "# a comment\ntrue  # another one\nmake test\npip install 'noutput[plot]'\n"),
    ("sh", "pip install '.[pandas,plot]'\n"),
    ("console", "$ noutput verify --help\nUsage: noutput verify...\n"),
    ("sh", "# not run: it would fail\nfalse\n"),
    ("json", '{"a": 1}\n'),
    ("toml", "a = 1\n"),
    ("text", "anything"),
]
WRONG = [
    ("console", "$ echo one\ntwo\n"),
    ("console", "$ printf 'a\\nb\\nc\\n'\na\n...\nd\n"),
    ("console", "$ false\n"),
    ("python", "assert 1 == 2\n"),
    ("python", ">>> 1 + 1\n3\n"),
    ("sh", "true\nfalse\ntrue\n"),
    ("sh", "noutput nothing\n"),
    ("sh", "noutput verify missing.json\n"),
    ("console", "$ noutput verify --help\nUsage: another...\n"),
    ("sh", "make nothing\n"),
    ("sh", "pip install 'noutput[nothing]'\n"),
    ("sh", "pip install something\n"),
    ("sh", "pip install '.[nothing]'\n"),
    ("json", "{'a': 1}\n"),
    ("toml", "a = \n"),
]


@pytest.mark.parametrize(("language", "text"), RIGHT)
def test_right_blocks_pass(language: str, text: str, tmp_path: Path) -> None:
    Reader(tmp_path).follow(Block("page.md", 1, language, text))


@pytest.mark.parametrize(("language", "text"), WRONG)
def test_wrong_blocks_fail(language: str, text: str, tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    with pytest.raises((AssertionError, ValueError)):
        reader.follow(Block("page.md", 1, language, text))


def test_files_are_saved_and_names_are_kept(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    reader.follow(Block("page.md", 1, "toml", "# some.toml\na = 1\n"))
    reader.follow(Block("page.md", 5, "sh", "test -f some.toml\n"))
    reader.follow(Block("page.md", 9, "python", "a = 1\n"))
    reader.follow(Block("page.md", 12, "python", ">>> a\n1\n"))


def test_a_backslash_continues_a_command() -> None:
    assert commands("a \\\n  b  # c\n\n# d\ne '#f'\n") == ["a b", "e '#f'"]
