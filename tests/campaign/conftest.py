from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def bare_processes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes whose modules are counted load none of coverage's: `make coverage` leaves them."""
    if request.path.name == "test_import.py":
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)
