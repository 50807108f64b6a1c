"""The operating system's randomness, the same in every run of a test.

Reports are drawn with secure randomness, in tests as everywhere: nothing in the package can be
asked to do otherwise. A test that looks at what many reports say would fail now and then. So the
tests replace the source itself, `os.urandom`, by a stream that begins anew with every test, from
its name. Fixtures that serve several tests begin one of their own, whichever test needs them first.

Forked processes and those that tests start have the true source.
`NOUTPUT_TEST_SEED=7 make test` takes other streams: what then fails rests on luck.
"""

from __future__ import annotations

import os
import random
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

__all__ = ["SeededSource"]

_SEED = os.environ.get("NOUTPUT_TEST_SEED", "0")


class SeededSource:
    """A plugin for pytest that stands in for `os.urandom`."""

    def __init__(self) -> None:
        self._stream = random.Random(_SEED)  # noqa: S311
        self._true = os.urandom

    def draw(self, size: int) -> bytes:
        """Return the next bytes, as `os.urandom` does."""
        return self._stream.randbytes(size)

    def install(self) -> None:
        """Take the place of the true source, in this process alone."""
        self._use(self.draw)
        os.register_at_fork(after_in_child=lambda: self._use(self._true))

    def _use(self, source: Any) -> None:
        os.urandom = source
        random._urandom = source  # type: ignore[attr-defined]  # that of `secrets`

    @contextmanager
    def _begun(self, name: str) -> Generator[None]:
        before = self._stream
        self._stream = random.Random(f"{_SEED} {name}")  # noqa: S311
        try:
            yield
        finally:
            self._stream = before

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        with self._begun(item.nodeid):
            return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(
        self, fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
    ) -> Generator[None, Any, Any]:
        if fixturedef.scope == "function":
            return (yield)
        place = getattr(request, "param_index", 0)
        with self._begun(f"{fixturedef.baseid} {fixturedef.argname} {place}"):
            return (yield)
