"""Errors of the library, with the names that options have in a terminal."""

from __future__ import annotations

from typing import Any

import pytest

import noutput as no
from noutput.cli.failures import with_options
from noutput.errors import DocumentError, InvalidArgumentError

TWO: dict[str, Any] = {"question": no.Choice("a", "b"), "people": 100}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (
            TWO | {"error": 0.02},
            "--error must be given for questions .* (--shares-within for shares); found 0.02",
        ),
        (
            TWO | {"error": 0.02, "shares_within": 0.02},
            "--error must be left out where --shares-within is given; found 0.02",
        ),
        (
            TWO,
            "--epsilon, --people and --shares-within or --error must be given.*; found --people",
        ),
        ({"people": 5}, "--epsilon, --people and --error must be given.*; found --people"),
        ({}, "--epsilon, --people and --error must be given two at a time .*; found nothing"),
        ({"epsilon": 1, "people": 0}, "--people must be"),
        (TWO | {"shares_within": 2}, "--shares-within must "),
    ],
)
def test_arguments_of_a_plan_are_called_as_options(arguments: Any, text: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        no.plan(**arguments)
    start, _, end = text.partition(".*")
    shown = str(with_options(caught.value))
    assert shown.startswith(start)
    assert shown.endswith(end)


def test_what_is_missing_is_called_nothing() -> None:
    rule = "be an answer (skip_missing=True leaves missing values out)"
    found = with_options(InvalidArgumentError("column 'people and error' at row 2", rule, None))
    assert str(found) == (
        "column 'people and error' at row 2 must be an answer (--skip-missing leaves missing "
        "values out); found nothing"
    )


def test_keys_of_documents_keep_their_names() -> None:
    error = DocumentError("people", "be a number", None)
    assert with_options(error) is error
