from __future__ import annotations

import pytest

import noutput
import noutput.campaign
from noutput import DocumentError, InvalidArgumentError, errors
from noutput.campaign.draft import CampaignDraft


def test_messages_of_parsers_are_shown_whole() -> None:
    text = "Expected newline or end of document after a statement (at line 3, column 12)"
    error = InvalidArgumentError("file", "be TOML", text)
    assert str(error) == f"file must be TOML; found {text!r}"


def test_long_texts_are_cut_between_words() -> None:
    words = "number " * 100
    shown = str(InvalidArgumentError("text", "be short", words)).partition("found ")[2]
    assert shown.endswith("number ...'")
    assert len(shown) < 170
    shown = str(InvalidArgumentError("text", "be short", "x" * 1000)).partition("found ")[2]
    assert len(shown) < 170


def test_broken_toml_is_told_with_its_line() -> None:
    with pytest.raises(DocumentError, match=r"at line 2, column \d+\)'$"):
        CampaignDraft.from_toml('id = "a"\ntitle = "b" question = "c"\n')


def test_every_error_is_exported_where_it_is_raised() -> None:
    assert set(errors.__all__) <= set(noutput.__all__)
    assert set(errors.__all__) - set(noutput.campaign.__all__) == {
        "DesignError",
        "MissingExtraError",
    }
