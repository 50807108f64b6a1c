from __future__ import annotations

import os
import signal
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import settings

from noutput.designs.paper import analytical
from noutput.mechanisms.quantize import quantize
from noutput.mechanisms.table import TableMechanism
from tests.seeding import SeededSource

# Tests start many processes. Where the environment forbids them to keep bytecode, each of them
# compiles all that it loads anew, which takes longer than most of what is tested.
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    kept = Path(__file__).parents[1] / ".pytest_cache" / "bytecode"
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(kept))

settings.register_profile("fixed", derandomize=True, deadline=None, print_blob=True)
settings.load_profile("fixed")


def pytest_configure(config: pytest.Config) -> None:
    # A shell ignores this signal for what it starts in the background, and so would all processes
    # that tests start and interrupt.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    source = SeededSource()
    source.install()
    config.pluginmanager.register(source, "noutput-seeding")
    if not hasattr(config, "workerinput"):  # workers share the folder of those who start them
        # A design that another run kept, perhaps with other kernels, hides what fails in this one.
        cache = TemporaryDirectory(prefix="noutput-cache-")
        config.add_cleanup(cache.cleanup)
        os.environ["NOUTPUT_CACHE"] = cache.name


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20_240_117)


@pytest.fixture(scope="session")
def five_outputs() -> TableMechanism:
    """A table with five outputs and five knots, at epsilon = 4."""
    table = analytical.solve(4.0, 5)
    return quantize(4.0, table.outputs, table.probabilities)
