"""Evidence of several answer tables about one question."""

from __future__ import annotations

import numpy as np
import pytest

import noutput as no

SHARES = np.array([0.6, 0.1, 0.25, 0.05])
SCALE = no.Scale(1, 2, 3, 4)


@pytest.fixture(scope="module")
def tables() -> tuple[no.AnswerMechanism, no.AnswerMechanism]:
    return no.design(0.8, answers=[1, 2, 3, 4]).mechanism, no.design(
        2.0, answers=[1, 2, 3, 4]
    ).mechanism


def campaign(
    tables: tuple[no.AnswerMechanism, ...], sizes: tuple[int, ...], rng: np.random.Generator
) -> no.Evidence:
    """Return the evidence of a campaign; counts are drawn at once."""
    parts = []
    for table, size in zip(tables, sizes, strict=True):
        counts = rng.multinomial(size, SHARES @ table.table())
        parts.append((table, no.Tally(table.fingerprint, tuple(counts.tolist())), None))
    return no.Evidence(parts)


def test_one_part_is_the_part(tables: tuple[no.AnswerMechanism, ...]) -> None:
    tally = no.Tally.of(tables[0], tables[0].privatize([0, 1, 2, 3] * 50))
    one = no.estimate_answers(no.Evidence([(tables[0], tally, None)]), question=SCALE)
    plain = no.estimate_answers(tables[0], tally, SCALE)
    assert np.array_equal(one.shares, plain.shares)
    assert one.mean_interval() == plain.mean_interval()
    empty = no.Tally(tables[1].fingerprint, (0,) * tables[1].n_outputs)
    both = no.Evidence([(tables[0], tally, None), (tables[1], empty, None)])
    assert np.array_equal(no.estimate_answers(both, question=SCALE).shares, plain.shares)


@pytest.mark.parametrize("sizes", [(60, 90), (3_000, 1_000)])
def test_shares_are_right_on_average_and_intervals_cover(
    tables: tuple[no.AnswerMechanism, ...], sizes: tuple[int, int]
) -> None:
    rng, runs = np.random.default_rng(3), 400
    found = [no.estimate_answers(campaign(tables, sizes, rng)) for _ in range(runs)]
    shares = np.array([each.shares for each in found])
    spread = shares.std(axis=0)
    assert np.all(np.abs(shares.mean(axis=0) - SHARES) < 3.5 * spread / np.sqrt(runs))
    errors = np.mean([each.standard_errors for each in found], axis=0)
    assert np.all(np.abs(errors / spread - 1.0) < 0.12)
    for kind, least in (("normal", 0.92), ("guaranteed", 0.95)):
        ends = [
            each.interval("shares", kind=kind) for each in found[: 400 if kind == "normal" else 60]
        ]
        covered = np.mean([(low <= SHARES) & (high >= SHARES) for low, high in ends], axis=0)
        assert np.all(covered >= least)


def test_both_tables_tell_more_than_either(tables: tuple[no.AnswerMechanism, ...]) -> None:
    """As much as independent estimates do that are weighted by their precision."""
    both = campaign(tables, (40_000, 10_000), np.random.default_rng(1))
    alone = [no.estimate_answers(part.mechanism, part.tally) for part in both.parts]  # type: ignore[arg-type]
    best = sum(each.standard_errors**-2.0 for each in alone) ** -0.5
    found = no.estimate_answers(both).standard_errors
    assert np.all(found < 1.03 * best)
    assert np.all(found < 0.95 * np.minimum(*(each.standard_errors for each in alone)))


def test_forged_reports_of_one_part_are_noticed(tables: tuple[no.AnswerMechanism, ...]) -> None:
    rng = np.random.default_rng(4)
    campaigns = [campaign(tables, (5_000, 5_000), rng) for _ in range(60)]
    tests = [no.goodness_of_fit(each, rng=rng) for each in campaigns]
    assert {each.degrees_of_freedom for each in tests} == {14 - 2 - 3}
    assert 7.5 < np.mean([each.statistic for each in tests]) < 10.5
    assert sum(each.p_value < 0.05 for each in tests) <= 6
    honest = campaigns[0]
    # two populations: the second table's people all answer the last
    tally = no.Tally.of(tables[1], tables[1].privatize(np.full(5_000, 3), rng))
    others = no.Evidence(
        [(honest.parts[0].mechanism, honest.parts[0].tally, None), (tables[1], tally, None)]
    )
    assert no.goodness_of_fit(others, rng=rng).p_value < 0.001
    assert no.estimate_answers(honest).spare_outputs == sum(m.n_outputs for m in tables) - 5


def test_evidence_adds_up_and_is_summarized(tables: tuple[no.AnswerMechanism, ...]) -> None:
    rng = np.random.default_rng(5)
    first, second = (campaign((table,), (800,), rng) for table in tables)
    both = first + second
    assert both.total == 1_600
    assert both.has_answers
    assert first + first == no.Evidence([(tables[0], first.tally + first.tally, None)])
    shown = no.summarize(both, question=SCALE)
    assert shown.reports == 1_600
    assert shown.epsilon == tables[1].epsilon
    assert "1,600 reports, epsilon = 2" in str(shown)
    assert "StackedAnswers(n_answers=4, n_parts=2)" in repr(both.channel)


def test_what_does_not_go_together_is_refused(
    tables: tuple[no.AnswerMechanism, ...], five_outputs: no.TableMechanism
) -> None:
    wrong = no.InvalidArgumentError
    tally = no.Tally.of(tables[0], [0, 1, 1])
    number = no.Tally.of(five_outputs, [0, 1])
    with pytest.raises(wrong, match=r"parts\[0\].bounds must be None for answers"):
        no.Evidence([(tables[0], tally, (0, 1))])
    with pytest.raises(wrong, match=r"parts must all be about numbers, or about.*'4 answers'"):
        no.Evidence([(five_outputs, number, (0, 1)), (tables[0], tally, None)])
    other = no.design(1.0, question=no.YesNo()).mechanism
    with pytest.raises(wrong, match=r"found \['4 answers', '2 answers'\]"):
        no.Evidence([(tables[0], tally, None), (other, no.Tally.of(other, [0]), None)])
    both = no.Evidence([(tables[0], tally, None), (tables[1], no.Tally.of(tables[1], [0]), None)])
    with pytest.raises(wrong, match="mechanism must"):
        no.estimate_mean(both)
    with pytest.raises(wrong, match="tally must be left out"):
        no.estimate_answers(both, tally)
    with pytest.raises(wrong, match="question must be a Scale"):
        no.summarize(both)
    with pytest.raises(wrong):
        no.estimate_distribution(both)
    with pytest.raises(wrong):
        no.estimate_variance(both)
    with pytest.raises(wrong, match="have at least two reports"):
        no.estimate_answers(no.Evidence([(tables[0], no.Tally.of(tables[0], [0]), None)]))
