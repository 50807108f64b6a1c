from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import noutput as no

# Worst-case variances computed by other code than this project's.
REFERENCE = {
    0.5: {
        "duchi": 16.6708, "three-output": 16.6708, "pm": 21.2226, "pm-sub": 21.0762,
        "pm-opt": 21.0582, "hybrid": 16.6708,
    },
    1.0: {
        "duchi": 4.6827, "three-output": 4.4555, "pm": 5.2236, "pm-sub": 5.0823,
        "pm-opt": 5.0657, "hybrid": 4.289,
    },
    2.0: {
        "duchi": 1.7241, "three-output": 0.99992, "pm": 1.2276, "pm-sub": 1.1045,
        "pm-opt": 1.0922, "hybrid": 1.0423,
    },
    3.0: {
        "duchi": 1.2206, "three-output": 0.45603, "pm": 0.49295, "pm-sub": 0.39391,
        "pm-opt": 0.38592, "hybrid": 0.43217,
    },
    4.0: {
        "duchi": 1.076, "three-output": 0.31817, "pm": 0.24135, "pm-sub": 0.16653,
        "pm-opt": 0.16185, "hybrid": 0.21898,
    },
}  # fmt: skip
BASELINES = ("duchi", "three-output", "pm", "pm-sub", "pm-opt", "hybrid", "square-wave")


@pytest.mark.parametrize("epsilon", REFERENCE)
def test_worst_variances_are_the_known_ones(epsilon: float) -> None:
    for name, value in REFERENCE[epsilon].items():
        digits = len(str(value).split(".")[1])
        found = no.mechanism(name, epsilon).worst_variance()
        assert abs(found - value) <= 0.5000001 * 10.0**-digits, name


def test_the_hybrid_beats_the_analytical_design_at_epsilon_one() -> None:
    hybrid = no.mechanism("hybrid", 1.0).worst_variance()
    analytical = no.mechanism("n-output-analytical", 1.0).worst_variance()
    assert hybrid == pytest.approx(4.289, abs=5e-4)
    assert analytical == pytest.approx(4.4555, abs=5e-4)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", np.arange(0.25, 5.01, 0.25).tolist())
def test_sixteen_outputs_beat_every_baseline(epsilon: float) -> None:
    ours = no.mechanism("n-output", epsilon, n_outputs=16).worst_variance()
    for name in BASELINES:
        assert ours < no.mechanism(name, epsilon).worst_variance(), name


def test_the_names_are_those_of_the_documentation() -> None:
    assert list(no.MECHANISMS) == [
        "n-output", "n-output-balanced", "n-output-average", "n-output-distribution",
        "n-output-numerical", "n-output-analytical", "duchi", "three-output", "pm", "pm-sub",
        "pm-opt", "hybrid", "square-wave", "direct-encoding", "oue", "sue",
    ]  # fmt: skip


def test_the_registry_is_read_only() -> None:
    with pytest.raises(TypeError):
        no.MECHANISMS["mine"] = no.MECHANISMS["pm"]  # type: ignore[index]


def test_options_are_checked() -> None:
    assert no.mechanism("oue", 1.0, bins=7).bits == 7
    assert no.mechanism("n-output-analytical", 4.0, n_outputs=5).bits == 3
    with pytest.raises(no.InvalidArgumentError, match="name must be one of"):
        no.mechanism("laplace", 1.0)
    with pytest.raises(no.InvalidArgumentError, match=r"be an option of pm \(it has none\)"):
        no.mechanism("pm", 1.0, bins=3)
    with pytest.raises(no.InvalidArgumentError, match="bins must be a whole number"):
        no.mechanism("sue", 1.0, bins=1)


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf"), "1", True, None])
@pytest.mark.parametrize("name", ["n-output", *BASELINES, "direct-encoding", "oue"])
def test_epsilon_is_checked(name: str, epsilon: object) -> None:
    with pytest.raises(no.InvalidArgumentError, match="epsilon must be a positive finite number"):
        no.mechanism(name, epsilon)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", [*BASELINES, "direct-encoding", "oue", "sue"])
def test_a_huge_epsilon_is_no_error(name: str) -> None:
    for epsilon in (20.0, 32.0, 800.0):
        found = no.mechanism(name, epsilon)
        reports = found.privatize(np.linspace(-1.0, 1.0, 9), np.random.default_rng(1))
        assert np.isfinite(found.decode(reports)).all()
        assert 0.0 < found.worst_variance() < 1.1


def test_baselines_load_no_scipy() -> None:
    code = "import sys, noutput; noutput.mechanism('pm', 1.0); print('scipy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout.strip() == "False"
