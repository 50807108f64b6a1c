"""Numbers of the figures against independently computed ones."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wasserstein_distance

import noutput as no
from noutput.evaluation import tables
from noutput.evaluation.scenarios import make

# computed by other code than this project's
BASELINES = {
    0.5: {"duchi": 16.6708, "three-output": 16.6708, "pm": 21.2226, "pm-sub": 21.0762,
          "pm-opt": 21.0582, "hybrid": 16.6708},
    1.0: {"duchi": 4.6827, "three-output": 4.4555, "pm": 5.2236, "pm-sub": 5.0823,
          "pm-opt": 5.0657, "hybrid": 4.2890},
    2.0: {"duchi": 1.7241, "three-output": 0.99992, "pm": 1.2276, "pm-sub": 1.1045,
          "pm-opt": 1.0922, "hybrid": 1.0423},
    3.0: {"duchi": 1.2206, "three-output": 0.45603, "pm": 0.49295, "pm-sub": 0.39391,
          "pm-opt": 0.38592, "hybrid": 0.43217},
    4.0: {"duchi": 1.0760, "three-output": 0.31817, "pm": 0.24135, "pm-sub": 0.16653,
          "pm-opt": 0.16185, "hybrid": 0.21898},
}  # fmt: skip
ANALYTICAL = {
    0.5: (2, 16.670792), 1.0: (3, 4.455452), 2.0: (3, 0.999918), 3.0: (4, 0.377855),
    4.0: (5, 0.164235), 5.0: (7, 0.077223), 6.0: (9, 0.037005), 7.0: (12, 0.018245),
}  # fmt: skip
OPTIMAL = {1.0: 3.99406, 2.0: 0.86678, 4.0: 0.12918}


@pytest.mark.parametrize("epsilon", list(BASELINES))
def test_worst_case_variances_of_the_baselines(epsilon: float) -> None:
    for name, value in BASELINES[epsilon].items():
        assert make(name, epsilon).worst_variance() == pytest.approx(value, rel=6e-5)


@pytest.mark.parametrize("epsilon", list(ANALYTICAL))
def test_worst_case_variances_of_the_analytical_design(epsilon: float) -> None:
    size, value = ANALYTICAL[epsilon]
    mechanism = make("analytical", epsilon)
    assert isinstance(mechanism, no.TableMechanism)
    assert mechanism.n_outputs == size
    assert mechanism.worst_variance() == pytest.approx(value, rel=6e-5)


@pytest.mark.parametrize("epsilon", list(OPTIMAL))
def test_worst_case_variances_of_the_optimal_design(epsilon: float) -> None:
    assert make("optimal-16", epsilon).worst_variance() <= OPTIMAL[epsilon] * (1 + 5e-5)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 2.0, 5.0, 8.0])
def test_the_shipped_numerical_designs(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """They are there without any search, and lie between the optimal and the analytical ones."""
    from noutput.designs.paper import numerical

    def search(*_arguments: object) -> None:
        raise AssertionError("a design was searched for")

    monkeypatch.setattr(numerical, "solve", search)
    found = no.design(epsilon, method="numerical")
    assert found.method == "numerical"
    assert found.mechanism.n_outputs <= 16
    assert found.value <= make("analytical", epsilon).worst_variance() * (1 + 1e-9)
    average = no.design(epsilon, objective="average", method="numerical")
    assert average.value <= found.mechanism.average_variance() * (1 + 1e-9)


def test_the_example_of_figure_1() -> None:
    assert tables.example().outputs[3:].tolist() == pytest.approx([1.849, 2.567], abs=1e-3)


def test_the_limits_of_table_1() -> None:
    counted = tables.bits_limits(tables.paper_bits)
    assert counted == pytest.approx({1: 0.69, 2: 2.54, 3: 5.41, 4: 7.8}, abs=0.0151)
    needed = tables.bits_limits(tables.needed_bits)
    assert needed == pytest.approx({1: 0.69, 2: 3.52, 3: 5.83, 4: 7.97}, abs=0.0151)


def test_the_wasserstein_distance_is_that_of_weighted_bin_centers() -> None:
    rng = np.random.default_rng(2)
    p, q = rng.dirichlet(np.ones(64)), rng.dirichlet(np.full(64, 0.3))
    centers = (np.arange(64) + 0.5) / 32.0 - 1.0
    expected = wasserstein_distance(centers, centers, p, q)
    assert no.wasserstein(p, q) == pytest.approx(expected, rel=1e-12)
    assert no.wasserstein(p, q) != pytest.approx(wasserstein_distance(p, q), rel=0.5)
