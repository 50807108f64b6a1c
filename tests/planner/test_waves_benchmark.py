"""The benchmark of adaptive campaigns: its table on the page, its goals, and some of its cells."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom

from benchmarks.wave_populations import GRID, HELD_BACK, OCCUPANCIES, TRAINING
from benchmarks.waves import (
    PAGE,
    RESULTS,
    Cell,
    State,
    ratios,
    rows,
    save,
    simulate,
    single_variance,
    standard_errors,
)

GOALS = {"mean": 0.55, "Wasserstein": 0.60}
LARGEST = 1.05
FAMILY = {f"{shape}/{width:g}" for shape in HELD_BACK for width in OCCUPANCIES}


def recorded() -> State:
    found: State = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found


def test_page_has_the_recorded_table() -> None:
    assert "\n".join(rows(recorded())) in PAGE.read_text(encoding="utf-8")


def test_recorded_errors_reach_the_goals_where_values_use_a_part_of_the_range() -> None:
    found = [ratios(kept) for key, kept in recorded().items() if float(key.split("/")[1]) <= 0.3]
    mean, wasserstein = np.exp(np.log(found).mean(axis=0)).tolist()
    assert mean <= GOALS["mean"]
    assert wasserstein <= GOALS["Wasserstein"]


def test_no_recorded_cell_is_above_its_limit_by_more_than_chance() -> None:
    for key, kept in recorded().items():
        for ratio, error in zip(ratios(kept), standard_errors(kept), strict=True):
            assert ratio - 2.0 * error <= LARGEST, key


def test_saved_results_are_read_again(tmp_path: Path) -> None:
    state = recorded()
    save(state, tmp_path / "waves.json")
    assert (tmp_path / "waves.json").read_bytes() == RESULTS.read_bytes()


def test_standard_errors_are_those_of_the_campaigns() -> None:
    """Against ratios of samples drawn again and again."""
    rng = np.random.default_rng(5)

    def drawn(count: int) -> dict[str, float]:
        errors, single = rng.normal(0.0, 0.5, count), rng.gamma(20.0, 0.05, count)
        wave = 0.5 * single + rng.gamma(20.0, 0.01, count)
        sums = {"narrowed": count, "narrowed_square": (errors**2).sum()}
        sums |= {"narrowed_fourth": (errors**4).sum(), "single_distance": single.sum()}
        sums |= {"wave_distance": wave.sum(), "single_square": single @ single}
        sums |= {"wave_square": wave @ wave, "product": single @ wave}
        return {"campaigns": count, "variance": 1.0, **sums}

    samples = [drawn(200) for _ in range(400)]
    spread = np.std([ratios(each) for each in samples], axis=0)
    claimed = np.mean([standard_errors(each) for each in samples], axis=0)
    assert claimed == pytest.approx(spread, rel=0.15)


def test_recorded_intervals_cover() -> None:
    state = recorded()
    hits = sum(int(kept["hits"]) for kept in state.values())
    campaigns = sum(kept["campaigns"] for kept in state.values())
    assert hits >= 0.93 * campaigns
    limit = 0.05 / len(state)
    for key, kept in state.items():
        assert binom.cdf(kept["hits"], kept["campaigns"], 0.93) > limit, key


def test_families_are_apart() -> None:
    assert not set(TRAINING) & set(HELD_BACK)
    assert {"/".join(key.split("/")[:2]) for key in recorded()} <= FAMILY
    for shape in (*TRAINING.values(), *HELD_BACK.values()):
        population = shape(0.15)
        assert population.sum() == pytest.approx(1.0)
        assert population.min() >= 0.0
        assert len(population) == len(GRID)


@pytest.mark.slow
@pytest.mark.parametrize(
    "cell", [Cell("one hump", 0.1, 1.0, 200_000), Cell("even", 1.0, 1.0, 20_000)]
)
def test_a_cell_again(cell: Cell) -> None:
    kept = recorded()[cell.key]
    blocks = [simulate(cell, 5, block) for block in range(kept["campaigns"] // 5)]
    for name in blocks[0]:
        value = sum(found[name] for found in blocks)
        assert value == pytest.approx(kept[name], rel=1e-3), name
    found = blocks[0]
    narrow = cell.occupancy < 0.5
    assert (found["narrowed"] > 0.0) == narrow
    assert found["hits"] >= 4.0
    assert found["wave_distance"] <= (0.8 if narrow else 1.05) * found["single_distance"]


@pytest.mark.slow
@pytest.mark.parametrize("told", [0.0, 0.025])
@pytest.mark.parametrize("shape", ["dome", "falling", "gamma"])
def test_more_people_than_expected_lose_nothing(shape: str, told: float) -> None:
    """The first wave is 4,000 of 44,000 people; the rule is told of none to follow, or of 1,000."""
    cell = Cell(shape, 0.15, 1.0, 44_000)
    found = simulate(cell, 6, first=1.0 / 11.0, told=told)
    assert found["narrowed"] == 6.0
    variance = single_variance(cell.population, cell.epsilon, cell.people)
    assert found["narrowed_square"] <= 6.0 * 0.85**2 * variance
    assert found["wave_distance"] <= 1.0 * found["single_distance"]
