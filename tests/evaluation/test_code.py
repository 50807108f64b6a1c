"""Versions of code: what computes differently is noticed, what only reads differently is not."""

from __future__ import annotations

import ast

import pytest

from noutput.evaluation import code

SOURCE = '''
"""Docstring."""
LIMIT = 3
"""Of all."""

def double(x):
    """Return twice x."""
    return 2 * x  # exactly
'''


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("LIMIT = 3", "LIMIT = 4", False),
        ("2 * x", "3 * x", False),
        ("  # exactly", "", True),
        ("Return twice x.", "Return x + x.", True),
        ("Of all.", "Of everything.", True),
        ("\n\ndef", "\n\n\ndef", True),
    ],
)
def test_constants_and_statements_count(old: str, new: str, same: bool) -> None:
    assert old in SOURCE
    changed = code.statements(SOURCE.replace(old, new))
    assert (changed == code.statements(SOURCE)) is same


def test_a_function_that_is_only_documented_stays_a_function() -> None:
    assert code.statements('def f():\n    """Nothing."""') == "def f():\n    pass"


def test_imports_are_followed_but_not_those_for_types() -> None:
    found = code.modules("noutput.evaluation.work")
    assert {"noutput.estimate.em", "noutput.estimate.gaussian", "noutput._random"} <= set(found)
    assert "noutput.evaluation.units" not in found  # for types only
    assert "noutput.evaluation.scenarios" not in found  # units name its constants
    assert "noutput.mechanisms.piecewise" in code.modules("noutput.mechanisms.hybrid")


def test_an_import_within_a_function_is_followed() -> None:
    tree = ast.parse("def f():\n    from noutput.estimate import em\n")
    assert "noutput.estimate.em" in set(code._imports(tree))


def test_a_change_in_an_imported_module_is_another_version(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = code.code_version("noutput.evaluation.work")
    table = code.code_version("noutput.mechanisms.table")
    original = code._source

    def changed(name: str) -> str:
        return original(name) + ("\n_BLOCK = 17\n" if name == "noutput.estimate.em" else "")

    monkeypatch.setattr(code, "_source", changed)
    code.code_version.cache_clear()
    try:
        assert code.code_version("noutput.evaluation.work") != before
        assert code.code_version("noutput.mechanisms.table") == table
    finally:
        code.code_version.cache_clear()


def test_unknown_modules_are_refused() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"no source of noutput\.evaluation\.none"):
        code.code_version("noutput.evaluation.none")
