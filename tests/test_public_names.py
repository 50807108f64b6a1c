from __future__ import annotations

import pickle
import subprocess
import sys

import pytest

import noutput
from noutput import errors


def test_every_public_name_resolves() -> None:
    assert len(set(noutput.__all__)) == len(noutput.__all__)
    for name in noutput.__all__:
        assert getattr(noutput, name) is not None
    assert set(noutput.__all__) <= set(dir(noutput))
    assert set(noutput._HOMES) == set(noutput.__all__)


def test_unknown_names_are_attribute_errors() -> None:
    with pytest.raises(AttributeError, match="nothing"):
        noutput.nothing  # noqa: B018


def run(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    return done.stdout


def test_importing_loads_nothing_heavy() -> None:
    heavy = run(
        "import sys, noutput; noutput.TableMechanism\n"
        "print([m for m in ('scipy', 'matplotlib', 'click', 'rich') if m in sys.modules])"
    )
    assert heavy.strip() == "[]"
    assert run("import sys, noutput; print('numpy' in sys.modules)").strip() == "False"


def test_errors_survive_pickling() -> None:
    samples = [
        errors.InvalidArgumentError("x", "be 1", 2),
        errors.PrivacyError(1, 2, 3, (9, 1), 0.5),
        errors.MissingExtraError("matplotlib", "plot"),
        errors.DesignError("none"),
    ]
    for error in samples:
        twin = pickle.loads(pickle.dumps(error))  # noqa: S301
        assert str(twin) == str(error)
        assert type(twin) is type(error)


def test_long_values_are_shortened_in_messages() -> None:
    assert len(str(errors.InvalidArgumentError("x", "be short", "y" * 10_000))) < 200
