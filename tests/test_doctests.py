"""Everything public shows its use in an example that is run."""

from __future__ import annotations

import doctest
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module

import pytest

MODULES = ("noutput", "noutput.campaign", "noutput.frames")
NOT_RUN = {"spark_session"}  # a doctest would leave Java running; tests/frames uses it


def public() -> list[tuple[str, object]]:
    """Return all classes and functions that the public modules name."""
    found = {}
    for module in map(import_module, MODULES):
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                found[f"{module.__name__}.{name}"] = thing
    return sorted(found.items(), key=lambda pair: pair[0])


def members(kind: type) -> Iterator[tuple[str, object]]:
    """Return the public methods and properties that a class defines itself."""
    for name, member in vars(kind).items():
        plain = inspect.isfunction(member) or isinstance(
            member, property | cached_property | classmethod | staticmethod
        )
        if plain and not name.startswith("_"):
            yield name, member


def examples(thing: object) -> list[str]:
    """Return the lines of code in a docstring's examples."""
    text = inspect.getdoc(thing) or ""
    return [example.source for example in doctest.DocTestParser().get_examples(text)]


@pytest.mark.parametrize(("name", "thing"), public(), ids=[name for name, _ in public()])
def test_every_public_name_has_an_example(name: str, thing: object) -> None:
    if name.rpartition(".")[2] in NOT_RUN:
        assert ".. code-block:: python" in (inspect.getdoc(thing) or "")
        return
    own = vars(thing).get("__doc__") if inspect.isclass(thing) else thing.__doc__
    assert own, "a docstring of its own"
    assert examples(thing)


CLASSES = [(name, thing) for name, thing in public() if inspect.isclass(thing)]


@pytest.mark.parametrize(("name", "kind"), CLASSES, ids=[name for name, _ in CLASSES])
def test_every_method_is_used_in_an_example(name: str, kind: type) -> None:
    """In its own docstring, or in that of its class or of another method of it."""
    shown = examples(kind) + [line for _, member in members(kind) for line in examples(member)]
    code = "\n".join(shown)
    missing = [
        f"{name}.{member}" for member, _ in members(kind) if not re.search(rf"\.{member}\b", code)
    ]
    assert missing == []


def test_the_test_sees_what_is_missing() -> None:
    class Bare:
        """No example here."""

        def method(self) -> None:
            """Nor here."""

    assert examples(Bare) == []
    with pytest.raises(AssertionError, match=r"Bare\.method"):
        test_every_method_is_used_in_an_example("Bare", Bare)
