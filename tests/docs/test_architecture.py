"""The walks of docs/architecture.md go through modules that exist, and never back up."""

from __future__ import annotations

import pkgutil
import re

import grimp
import pytest

from tools import draw_architecture
from tools.draw_architecture import Step, layers, legs, walks

TEXT = draw_architecture.PAGE.read_text(encoding="utf-8")
WALKS = walks(TEXT)
STEPS = [(number, step) for number, steps in WALKS.items() for step in steps]
NAMES = sorted(set(re.findall(r"`(noutput(?:\.\w+)+)`", TEXT)))

# What a module imports when it runs, and also what it imports for its types only: an object of
# such a class is handed to it.
RUNS = grimp.build_graph("noutput", exclude_type_checking_imports=True, cache_dir=None)
NAMES_TYPES = grimp.build_graph("noutput", cache_dir=None)


def uses(caller: str, module: str) -> bool:
    """Whether the caller imports the module, itself or from a package that passes it on."""
    packages = [module.rsplit(".", cut)[0] for cut in range(1, module.count("."))]
    passing = [p for p in packages if NAMES_TYPES.direct_import_exists(importer=p, imported=module)]
    return any(
        NAMES_TYPES.direct_import_exists(importer=caller, imported=name)
        for name in (module, *passing)
    )


def height(module: str) -> int:
    name = module.split(".")[1]
    (found,) = [place for place, row in enumerate(layers()) if name in row]
    return found


def backward(step: Step) -> list[str]:
    """The callers of a step that it would call in turn."""
    return [
        caller
        for caller in step.callers
        if RUNS.find_shortest_chain(importer=step.module, imported=caller) is not None
    ]


def test_there_are_three_walks() -> None:
    assert list(WALKS) == [1, 2, 3]
    assert [len(legs(steps)) for steps in WALKS.values()] == [3, 1, 3]
    assert all(len(steps) > 10 for steps in WALKS.values())


@pytest.mark.parametrize("name", NAMES)
def test_every_name_exists(name: str) -> None:
    pkgutil.resolve_name(name)


@pytest.mark.parametrize(("number", "step"), STEPS)
def test_every_step_is_called_by_the_one_above(number: int, step: Step) -> None:
    assert step.module in NAMES_TYPES.modules
    if step.callers:
        assert uses(step.callers[-1], step.module), (number, step)


@pytest.mark.parametrize(("number", "step"), STEPS)
def test_no_step_goes_back_up(number: int, step: Step) -> None:
    assert backward(step) == [], (number, step)
    for caller in step.callers:
        assert height(step.module) >= height(caller), (number, step)


def test_a_step_that_goes_back_up_is_noticed() -> None:
    wrong = Step("noutput.cli.report", ("noutput.campaign.client",))
    assert not uses(wrong.callers[-1], wrong.module)
    assert backward(wrong) == ["noutput.campaign.client"]


def test_the_diagram_shows_layers_and_walks() -> None:
    """`python -m tools.draw_architecture` draws it anew."""
    assert draw_architecture.FIGURE.read_text(encoding="utf-8") == draw_architecture.draw()
