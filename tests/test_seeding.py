"""The stand-in for the operating system's randomness: the same in every run, and not beyond."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import random
import secrets
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

_RUN_TWICE = """
import os, secrets
import numpy as np
import pytest

@pytest.fixture(scope="module", params=[1, 2])
def shared(request):
    return os.urandom(4).hex()

def test_first(shared, request):
    drawn = [shared, os.urandom(4).hex(), secrets.token_hex(4), secrets.randbelow(10**9)]
    print("drawn:", request.node.name, *drawn, np.random.default_rng().integers(10**9))

def test_second(shared):
    print("drawn: second", shared)
"""


def run(folder: Path, *args: str, seed: str = "0") -> list[str]:
    (folder / "test_draws.py").write_text(_RUN_TWICE)
    (folder / "conftest.py").write_text("from tests.conftest import pytest_configure\n")
    (folder / "pytest.ini").write_text("[pytest]\n")
    root = Path(__file__).parents[1]
    found = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-q", "-p", "no:cacheprovider", *args],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(root), "NOUTPUT_TEST_SEED": seed},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    lines = [line.partition("drawn: ")[2] for line in found.stdout.splitlines()]
    return sorted(filter(None, lines))


def test_every_run_draws_the_same_whatever_its_order(tmp_path: Path) -> None:
    drawn = run(tmp_path)
    assert len(drawn) == 4
    assert drawn == run(tmp_path)
    alone = run(tmp_path, "test_draws.py::test_second")
    assert alone == [line for line in drawn if line.startswith("second")]
    assert drawn[0] != drawn[1]  # tests differ, and so do the fixtures of their parameters
    assert len({line.split()[1] for line in drawn}) == 2
    assert not set(drawn) & set(run(tmp_path, seed="1"))


def _draw(sent: multiprocessing.connection.Connection) -> None:
    sent.send_bytes(os.urandom(16) + secrets.token_bytes(16))


def test_forked_processes_have_the_true_source() -> None:
    """Two that were forked from one process would draw the same otherwise."""
    context, drawn = multiprocessing.get_context("fork"), set()
    for _ in range(2):
        received, sent = context.Pipe(duplex=False)
        child = context.Process(target=_draw, args=(sent,))
        child.start()
        drawn.add(received.recv_bytes())
        child.join()
    assert len(drawn) == 2


def test_all_that_python_draws_is_seeded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The names that `noutput` and numpy draw by lead to one function."""
    for place, name in ((os, "urandom"), (random, "_urandom")):
        monkeypatch.setattr(place, name, bytes)
    assert secrets.randbits(64) == secrets.randbelow(10) == 0
    assert secrets.token_bytes(3) == bytes(3)
    first, second = (np.random.default_rng().integers(1 << 60) for _ in range(2))
    assert first == second
