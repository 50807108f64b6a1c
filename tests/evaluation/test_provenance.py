from __future__ import annotations

from collections.abc import Iterator

import pytest

import noutput
from noutput.evaluation import provenance


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    provenance.commit.cache_clear()
    yield
    provenance.commit.cache_clear()


def test_without_git_there_is_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert provenance.commit() is None


def test_a_missing_package_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "_PACKAGES", ("numpy", "no-such-package"))
    found = provenance.versions()
    assert found["noutput"] == noutput.__version__
    assert found["no-such-package"] == "none"
    assert found["numpy"] != "none"
