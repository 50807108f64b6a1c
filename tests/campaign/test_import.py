"""A device loads little: no numpy, no scipy, no web framework, and that quickly."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import noutput.campaign

MEASURE = (
    "import sys, time\n"
    "start = time.process_time()\n"
    "import noutput.campaign\n"
    "took = time.process_time() - start\n"
    "heavy = {'numpy', 'scipy', 'click', 'rich', 'cryptography', 'starlette', 'fastapi',\n"
    "         'sqlalchemy', 'urllib.request', 'ssl'}\n"
    "print(sorted(heavy & set(sys.modules)), took)"
)


def measure(cache: Path) -> tuple[str, float]:
    environment = {
        **os.environ, "PYTHONPYCACHEPREFIX": str(cache), "PYTHONDONTWRITEBYTECODE": "",
    }  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], env=environment, capture_output=True, text=True,
        check=True, timeout=60,
    )  # fmt: skip
    loaded, took = done.stdout.rsplit(maxsplit=1)
    return loaded, float(took)


def test_importing_is_light(tmp_path: Path) -> None:
    measure(tmp_path)  # compiles
    for _ in range(10):  # other work on the machine slows some of them
        loaded, took = measure(tmp_path)
        assert loaded == "[]"
        if took < 0.060:
            return
    pytest.fail(f"importing noutput.campaign took {took:.3f} s")


def test_every_name_resolves() -> None:
    assert sorted(noutput.campaign.__all__) == noutput.campaign.__all__
    for name in noutput.campaign.__all__:
        assert getattr(noutput.campaign, name) is not None


def test_the_device_path_takes_microseconds() -> None:
    code = (
        "import timeit\n"
        "from noutput.campaign import CertifiedTable\n"
        "q = 1 << 30\n"
        "t = CertifiedTable(1.1, (-2.0, 2.0), (-1.0, 1.0), ((3 * q, q), (q, 3 * q)))\n"
        "print(min(timeit.repeat(lambda: t.privatize(0.3), number=2000, repeat=40)) / 2000)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    assert float(done.stdout) < 5e-6
