"""Mechanisms of one's own on the command line."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from noutput.cli import audit, compare
from noutput.errors import InvalidArgumentError

MODULE = """
import noutput as no

def duchi(epsilon):
    return no.mechanism("duchi", epsilon)

class made:
    three = no.mechanism("three-output", 1.0)

two = no.mechanism("duchi", 2.0)

class Half:
    epsilon = 1.0

    def privatize(self, x, rng=None, *, clip=False):
        return x

half = Half()
number = 3
"""


@pytest.fixture(autouse=True)
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "own_mechanisms.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "own_broken.py").write_text("import nothing_of_this_name\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    for name in ("own_mechanisms", "own_broken"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(compare.command, ["--only", "duchi", *arguments])


def rows(done: Result) -> dict[str, list[str]]:
    assert done.exit_code == 0, done.output
    return {line.split()[0]: line.split()[1:] for line in done.output.splitlines() if line.strip()}


def test_a_factory_and_a_mechanism_stand_beside_the_others() -> None:
    before = list(sys.path)
    found = rows(run("--with", "own_mechanisms:duchi", "--with", "own_mechanisms:made.three"))
    assert found["made.three"][0] == "4.4555"
    assert sys.path == before
    assert rows(run("--epsilon", "2", "--with", "own_mechanisms:two"))["two"][0] == "1.7241"


def test_a_figure_has_it(tmp_path: Path) -> None:
    path = tmp_path / "figure.svg"
    done = run("--plot", str(path), "--with", "own_mechanisms:duchi", "--range", "1", "1.5")
    assert done.exit_code == 0, done.output
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nothing", "be MODULE:OBJECT"),
        ("own_mechanisms", "be MODULE:OBJECT"),
        ("own mechanisms:duchi", "be MODULE:OBJECT"),
        ("missing_module:duchi", "be MODULE:OBJECT"),
        ("own_mechanisms.inside:duchi", "be MODULE:OBJECT"),
        ("own_mechanisms:dutchi", "no 'dutchi'.*'duchi'"),
        ("own_mechanisms:number", "be a mechanism, which also has epsilon, exact.*; found 'int'"),
        ("own_mechanisms:two", "have the epsilon of the command, 1,"),
        ("own_mechanisms:half", "also has exact, bits, decode, mean, variance, .*; found 'Half'"),
    ],
)
def test_what_is_no_mechanism_is_refused_by_what_it_lacks(name: str, words: str) -> None:
    done = run("--with", name)
    assert isinstance(done.exception, InvalidArgumentError)
    with pytest.raises(InvalidArgumentError, match=words):
        raise done.exception


def test_an_error_of_the_module_is_its_own() -> None:
    done = run("--with", "own_broken:duchi")
    assert isinstance(done.exception, ModuleNotFoundError)
    assert done.exception.name == "nothing_of_this_name"


def test_answers_are_not_compared_with_numbers() -> None:
    done = CliRunner().invoke(compare.command, ["--yes-no", "--with", "own_mechanisms:duchi"])
    assert done.exit_code == 2
    assert "--with compares mechanisms for numbers" in done.output


def test_a_sampler_of_ones_own_is_audited() -> None:
    arguments = ["own_mechanisms:duchi", "--epsilon", "1", "--samples", "2000", "--seed", "1"]
    done = CliRunner().invoke(audit.command, arguments)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("Passed: own_mechanisms:duchi, claim 1\n")
