"""Summaries of numbers and of answers: text, page, picture, JSON and frames."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest
from matplotlib.figure import Figure

import noutput as no
from noutput import _extras
from noutput.errors import InvalidArgumentError, MissingExtraError
from noutput.estimate.summary import CERTAIN, SUSPICIOUS, text
from noutput.estimate.summary.page import picture
from tests.estimate.answer_tables import direct, mixed
from tests.tables import window_table

STARS = no.Scale(1, 2, 3, 4, 5, name="stars", label="Stars")
WAYS = no.Choice("train", "car <& bicycle>", "電車", "other")
TWO = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])


def tally(table: no.AnswerMechanism, shares: list[float], people: int = 20_000) -> no.Tally:
    counts = np.random.default_rng(1).multinomial(people, np.array(shares) @ table.table())
    return no.Tally(table.fingerprint, tuple(counts.tolist()))


@pytest.fixture(scope="module")
def stars() -> no.AnswerSummary:
    table = mixed(5, 1.0)
    return no.summarize(table, tally(table, [0.05, 0.0, 0.2, 0.35, 0.4]), STARS)


@pytest.fixture(scope="module")
def minutes() -> no.Summary:
    asked = no.Number(0, 180, "minutes", label="Commute")
    counted = no.Tally(TWO.fingerprint, (6_000, 4_000))
    found: no.Summary = no.summarize(TWO, counted, asked, bins=16)
    return found


def test_a_scale_as_text(stars: no.AnswerSummary) -> None:
    lines = str(stars).splitlines()
    assert lines[0].startswith("Stars: 20,000 reports, epsilon = 1")
    assert [line.split("  ")[0] for line in lines[2:7]] == list("12345")
    assert {line.index("%") for line in lines[2:7]} == {lines[2].index("%")}  # aligned
    assert any(line.startswith("Mean score") for line in lines)
    assert any(line.startswith("Median              4  (4 to 4)") for line in lines)
    assert "Forged reports: no sign of them" in lines[-2]
    assert "-" not in "".join(lines)  # no share is shown below zero


def test_a_number_as_text(minutes: no.Summary) -> None:
    shown = str(minutes)
    assert shown.startswith("Commute: 10,000 reports, epsilon = 1.1")
    assert "minutes)" in shown
    assert "Upper quartile" in shown
    assert shown.count("█") > 10


def test_labels_are_aligned_by_columns_of_a_terminal() -> None:
    table = direct(4, 1.0)
    found = no.summarize(table, tally(table, [0.4, 0.3, 0.2, 0.1]), WAYS)
    lines = str(found).splitlines()[2:6]
    assert len({text.columns(line) for line in lines}) == 1
    assert "no spare outputs" in str(found)
    assert found.cdf is None
    assert found.mean is None
    assert found.quantiles == {}


def test_yes_and_no_are_one_share() -> None:
    table = direct(2, 1.0)
    found = no.summarize(table, tally(table, [0.9, 0.1]), no.YesNo(label="Did it crash?"))
    assert [bar.label for bar in found.bars] == ["yes"]
    assert str(found).startswith("Did it crash? 20,000 reports")
    assert found.mean is not None
    assert found.mean.value == pytest.approx(found.shares[1].value)
    assert found.full_scale == 1.0


def test_pages_are_well_formed_and_escaped(stars: no.AnswerSummary, minutes: no.Summary) -> None:
    table = direct(4, 1.0)
    ways = no.summarize(table, tally(table, [0.4, 0.3, 0.2, 0.1]), WAYS)
    for found in (stars, minutes, ways):
        page = ET.fromstring(found._repr_html_())  # noqa: S314 - our own
        drawn = page.findall(".//{http://www.w3.org/2000/svg}rect")
        assert len(drawn) == len(found.bars)
    assert "car &lt;&amp; bicycle&gt;" in ways._repr_html_()
    assert picture([]) == ""


def test_plots_have_a_bar_and_a_line_per_answer(stars: no.AnswerSummary) -> None:
    axes = stars.plot(Figure().subplots())
    assert [bar.get_width() for bar in axes.containers[0]] == pytest.approx(
        [100.0 * share for share in stars.shown]
    )
    assert [label.get_text() for label in axes.get_yticklabels()] == list("12345")
    assert len(axes.collections[0].get_paths()) == 5


def test_json_has_unbiased_shares_and_those_that_are_shown(stars: no.AnswerSummary) -> None:
    content = json.loads(json.dumps(stars.to_dict(), allow_nan=False))
    assert content["question"] == STARS.to_document()
    assert [row["answer"] for row in content["answers"]] == [1, 2, 3, 4, 5]
    assert sum(row["share"] for row in content["answers"]) == pytest.approx(1.0)
    assert min(row["shown"] for row in content["answers"]) >= 0.0
    assert all(row["low"] <= row["high"] for row in content["answers"])
    assert content["quartiles"][1]["value"] == 4
    assert content["reports"] == 20_000


def test_json_of_numbers(minutes: no.Summary) -> None:
    content = json.loads(json.dumps(minutes.to_dict(), allow_nan=False))
    assert content["question"]["unit"] == "minutes"
    assert content["reports"] == minutes.reports == 10_000
    assert content["forged_reports"]["p_value"] == minutes.goodness


def test_frames(stars: no.AnswerSummary, minutes: no.Summary) -> None:
    frame = stars.to_frame("pandas")
    assert list(frame.columns) == [
        "answer", "label", "share", "low", "high", "shown", "cdf", "cdf_low", "cdf_high",
        "cdf_unbiased",
    ]  # fmt: skip
    assert minutes.to_frame("polars")["statistic"].to_list()[0] == "mean"
    assert type(stars.to_frame()).__module__.startswith("pandas")
    with pytest.raises(InvalidArgumentError, match="package must be one of 'pandas', 'polars'"):
        stars.to_frame("excel")


def test_a_missing_package_is_named(
    stars: no.AnswerSummary, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name.partition(".")[0])

    monkeypatch.setattr(_extras, "import_module", missing)
    with pytest.raises(MissingExtraError, match="polars"):
        stars.to_frame("polars")
    with pytest.raises(MissingExtraError, match="plot"):
        stars.plot()


def test_a_design_is_known_by_its_parts() -> None:
    table = mixed(5, 1.0)
    design = SimpleNamespace(mechanism=table, question=STARS)
    reports = table.privatize(np.arange(500) % 5, rng=np.random.default_rng(2))
    found = no.summarize(design, reports)
    assert isinstance(found, no.AnswerSummary)
    assert found.question is STARS
    other = no.Scale(*"abcde")
    assert no.summarize(design, reports, question=other).question is other
    unknown = SimpleNamespace(mechanism=TWO, question=None)
    assert no.summarize(unknown, [0, 1, 1], bins=4).question == no.Number(-1, 1)


def test_the_level_is_that_of_all_intervals() -> None:
    table = mixed(5, 1.0)
    counted = tally(table, [0.2] * 5)
    narrow, wide = (no.summarize(table, counted, STARS, level=level) for level in (0.5, 0.99))
    assert "99% intervals" in str(wide)
    for one, other in zip(narrow.shares, wide.shares, strict=True):
        assert one.half < other.half


def test_forged_reports_are_told() -> None:
    table = mixed(5, 1.0)
    counts = [500] * table.n_outputs
    counts[0] = 3_000
    found = no.summarize(table, no.Tally(table.fingerprint, tuple(counts)), STARS)
    assert found.goodness < CERTAIN
    assert "LIKELY" in found.notes[0]
    assert found.estimate.spare_outputs == table.n_outputs - 5


def forged_number() -> no.Summary:
    """Return what 70% of honest people and 30% of forged reports say about 0 to 600 seconds."""
    table = no.design(2.0).mechanism
    rng = np.random.default_rng(30)
    honest = np.clip(rng.lognormal(4.6, 0.45, 7_000) / 300.0 - 1.0, -1.0, 1.0)
    outputs = np.concatenate([table.privatize(honest, rng=rng), [table.n_outputs - 1] * 3_000])
    found: no.Summary = no.summarize(table, outputs, no.Number(0, 600, "s"), bins=16)
    return found


def forged_answers() -> no.AnswerSummary:
    table = mixed(5, 1.0)
    counts = (3_000, *[500] * (table.n_outputs - 1))
    return no.summarize(table, no.Tally(table.fingerprint, counts), STARS)


@pytest.mark.parametrize("forged", [forged_number, forged_answers])
def test_forged_reports_are_the_headline_and_no_confidence_is_claimed(forged: Any) -> None:
    found = forged()
    assert found.warning.startswith("Some reports are probably forged.")
    assert "Raw answers that were passed as reports" in found.warning
    heading, _, second, *_ = str(found).splitlines()
    assert (heading, second) == (found.heading, f"WARNING: {found.warning}")
    assert found.warning in found._repr_html_()
    for shown in (str(found), found._repr_html_()):
        assert "95%" not in shown.replace("95.", "")
        assert " to " not in "".join(shown.splitlines()[3:]).replace("0 to", "").replace("5 to", "")
    assert {texts[1:] for texts in found.lines.values()} == {("", "")}
    content = found.to_dict()
    assert content["warning"] == found.warning
    told = json.dumps(content)
    for name in re.findall(r'"(\w*interval\w*|standard_error|low|high|cdf_low|cdf_high)": ', told):
        assert f'"{name}": null' in told
        assert not re.search(rf'"{name}": [^n]', told)
    assert {row[name] for row in found.records() for name in ("low", "high")} == {None}
    axes = found.plot(Figure().subplots())
    assert "NOT RELIABLE" in axes.get_xlabel()
    assert not axes.collections  # no lines of intervals


def test_honest_reports_have_no_warning(minutes: no.Summary, stars: no.AnswerSummary) -> None:
    for found in (minutes, stars):
        assert found.warning == ""
        assert found.to_dict()["warning"] is None
        assert "In brackets: 95% intervals." in str(found)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"question": no.Number(0, 1)}, "question must be a Scale, a Choice or a YesNo"),
        ({}, "question must be a Scale"),
        ({"question": STARS, "bins": 8}, "bins must be given for numbers only"),
        ({"question": no.YesNo()}, "have as many answers as the table has rows, 5"),
        ({"question": STARS, "level": 1.0}, "level must lie strictly between 0 and 1"),
    ],
)
def test_bad_input_for_answers(arguments: dict[str, Any], message: str) -> None:
    table = mixed(5, 1.0)
    with pytest.raises(InvalidArgumentError, match=message):
        no.summarize(table, tally(table, [0.2] * 5), **arguments)


def test_bad_input_for_numbers() -> None:
    counted = no.Tally(TWO.fingerprint, (5, 5))
    with pytest.raises(InvalidArgumentError, match="question must be a Number"):
        no.summarize(TWO, counted, STARS)
    with pytest.raises(InvalidArgumentError, match="bins must be a whole number"):
        no.summarize(TWO, counted, no.Number(0, 1), bins=0)
    with pytest.raises(InvalidArgumentError, match="mechanism must be a TableMechanism"):
        no.summarize(no.mechanism("pm", 1.0), counted, no.Number(0, 1))


@pytest.mark.parametrize(("people", "kind"), [(99, "guaranteed"), (100, "normal")])
def test_guaranteed_intervals_of_few_reports_are_named(people: int, kind: str) -> None:
    table = direct(3, 1.0)
    found = no.summarize(table, tally(table, [0.5, 0.3, 0.2], people), no.Scale(1, 2, 3))
    assert found.estimate.interval_kind == found.to_dict()["intervals"]["kind"] == kind
    assert ("Intervals are guaranteed: fewer than 100 reports." in str(found)) == (
        kind == "guaranteed"
    )


def test_guaranteed_intervals_of_many_answers_are_wider() -> None:
    table, question = direct(3, 1.0), no.Scale(1, 2, 3)
    counted = tally(table, [0.5, 0.3, 0.2], 5_000)
    found = no.summarize(table, counted, question, kind="guaranteed")
    assert "Intervals are guaranteed." in found.notes
    for each, other in zip(
        found.shares, no.summarize(table, counted, question).shares, strict=True
    ):
        assert each.value == other.value
        assert each.low < other.low < other.high < each.high


def test_a_summary_at_the_prompt_is_its_text(stars: no.AnswerSummary, minutes: no.Summary) -> None:
    assert repr(stars) == str(stars)
    assert repr(minutes) == str(minutes)


ADJUSTED = "Shares are adjusted so that none is negative and all add up to 100%."
MOVED = "The mean score is adjusted so that it lies in its interval."


@pytest.fixture(scope="module")
def agreed() -> no.AnswerSummary:
    """All answer 3, and by chance even more reports say so than expected."""
    table = direct(3, 1.0)
    counts = no.Tally(table.fingerprint, (40, 45, 215))
    return no.summarize(table, counts, no.Scale(1, 2, 3))


def test_what_is_shown_lies_in_its_interval(agreed: no.AnswerSummary) -> None:
    assert agreed.estimate.mean is not None
    assert agreed.mean is not None
    assert agreed.cdf is not None
    assert agreed.estimate.mean > 3.0 == agreed.mean.high
    assert min(agreed.estimate.cdf) < 0.0
    for each in (agreed.mean, *agreed.cdf):
        assert each.low <= each.value <= each.high
    for bar in agreed.bars:
        assert bar.low <= bar.share <= bar.high
    assert sum(agreed.shown) == pytest.approx(1.0)
    assert {ADJUSTED, MOVED} <= set(agreed.notes)


def test_json_has_the_unbiased_estimates_by_this_name(agreed: no.AnswerSummary) -> None:
    content = agreed.to_dict()
    assert content["mean"]["unbiased"] == agreed.estimate.mean
    assert content["mean"]["value"] == 3.0
    found = [row["cdf_unbiased"] for row in content["answers"]]
    assert found == agreed.estimate.cdf.tolist()
    assert [row["share"] for row in content["answers"]] == agreed.estimate.shares.tolist()


def test_shares_that_need_no_adjustment_have_no_note() -> None:
    table = direct(3, 1.0)
    found = no.summarize(table, no.Tally(table.fingerprint, (3000, 3000, 4000)), no.Scale(1, 2, 3))
    assert "adjusted" not in str(found)
    assert found.shown == pytest.approx(found.estimate.shares.tolist())


def test_a_share_of_yes_is_moved_into_its_interval() -> None:
    table = direct(2, 1.0)
    found = no.summarize(table, no.Tally(table.fingerprint, (10, 290)), no.YesNo())
    assert [bar.texts[0] for bar in found.bars] == ["100.0%"]
    assert "The share is adjusted so that it lies in its interval." in found.notes


def test_counts_that_no_shares_explain_are_shown_within_their_intervals() -> None:
    table = direct(3, 1.0)
    found = no.summarize(
        table, no.Tally(table.fingerprint, (9_000, 9_000, 2_500)), no.Scale(1, 2, 3)
    )
    assert all(bar.low <= bar.share <= bar.high for bar in found.bars)
    assert "Shares are adjusted so that each lies in its interval." in found.notes


@pytest.mark.parametrize("question", [STARS, no.Choice("a", "b", "c", "d", "e"), no.Number(0, 128)])
def test_raw_answers_are_no_reports(question: no.Question) -> None:
    """Shares of five stars added up to 217%, and a mean of 27 minutes was below 0."""
    design = no.design(1.0, question=question)
    rng = np.random.default_rng(2)
    raw = rng.choice(5, 20_000, p=[0.05, 0.1, 0.2, 0.35, 0.3])
    if isinstance(question, no.Number):
        raw = np.clip(rng.lognormal(3.3, 0.65, 20_000), 0, 127).astype(int)
    with pytest.raises(InvalidArgumentError, match="raw answers") as caught:
        no.summarize(design, raw)
    assert caught.value.name == "reports"


def test_a_mean_of_numbers_outside_the_bounds_is_explained(minutes: no.Summary) -> None:
    asked = no.Number(0, 10)
    found = no.summarize(TWO, no.Tally(TWO.fingerprint, (10, 290)), asked, bins=16)
    assert found.mean.value > 10.0 == found.mean.high
    told = "the mean's estimate lies outside the bounds"
    assert told in found.outside_text
    assert found.outside_text in found.notes
    assert minutes.outside_text == ""
    assert told not in str(minutes)


def test_what_intervals_assume_is_told(minutes: no.Summary, stars: no.AnswerSummary) -> None:
    told = "The intervals hold whatever the distribution is."
    assert minutes.assumption_text == told
    for shown in (str(minutes), minutes._repr_html_()):
        assert told in shown
    content = minutes.to_dict()["intervals"]
    assert content == {
        "mean": "normal", "others": "slack", "kind": "slack", "assumption": told,
    }  # fmt: skip
    again = no.Tally(TWO.fingerprint, (6_000, 4_000))
    proven = no.summarize(TWO, again, minutes.question, bins=16, kind="guaranteed")
    assert proven.to_dict()["intervals"]["kind"] == "guaranteed"
    assert "proven for every distribution and every number of reports" in str(proven)
    few = no.summarize(TWO, no.Tally(TWO.fingerprint, (60, 39)), minutes.question)
    assert few.interval_kind == "guaranteed"
    for found in (proven, few):  # the sentence is about all intervals, so the mean's is proven, too
        content = found.to_dict()
        assert content["intervals"]["mean"] == "guaranteed"
        assert content["mean"]["guaranteed_interval"] == [found.mean.low, found.mean.high]
        usual = found.mean_estimate.interval(found.level)
        assert found.mean.low < usual[0] < found.mean.value < usual[1] < found.mean.high
    assert stars.to_dict()["intervals"]["assumption"] == "Nothing is assumed about the answers."


def test_intervals_do_not_depend_on_the_method(minutes: no.Summary) -> None:
    again = no.Tally(TWO.fingerprint, (6_000, 4_000))
    fitted = no.summarize(TWO, again, minutes.question, bins=16, method="em")
    for name, figure in fitted.figures.items():
        other = minutes.figures[name]
        assert (figure.low, figure.high) == (other.low, other.high)
        assert figure.low <= figure.value <= figure.high
    assert (fitted.coarse.lower, fitted.coarse.upper) == (
        minutes.coarse.lower,
        minutes.coarse.upper,
    )


def commuters(people: int, **options: Any) -> no.Summary:
    table = window_table(2.0, 16, 33, 0.4)
    x = np.random.default_rng(5).beta(2.0, 5.0, people) * 2.0 - 1.0
    counted = no.Tally.of(table, table.privatize(x, rng=np.random.default_rng(6)))
    found: no.Summary = no.summarize(table, counted, no.Number(0, 180, "minutes"), **options)
    return found


def test_more_reports_tell_more_bars_apart() -> None:
    few, many = commuters(300), commuters(100_000)
    assert 2 <= len(few.coarse.lower) < len(many.coarse.lower) <= 18
    for found in (few, many):
        shown = found.coarse
        count = len(shown.probabilities)
        assert sum(shown.probabilities) == pytest.approx(1.0)
        for low, share, high in zip(shown.lower, shown.probabilities, shown.upper, strict=True):
            assert low <= share <= high
        if count > 2:
            assert np.mean(np.subtract(shown.upper, shown.lower)) <= 1.0 / count
        assert all(edge % 5.0 == 0.0 for edge in shown.edges)


def test_fine_bins_lie_in_their_intervals() -> None:
    found = commuters(3_000).fine
    assert len(found.probabilities) == 64
    assert sum(found.probabilities) == pytest.approx(1.0)
    for low, share, high in zip(found.lower, found.probabilities, found.upper, strict=True):
        assert low <= share <= high


def test_what_reports_cannot_tell_is_said_in_words() -> None:
    found = no.summarize(TWO, no.Tally(TWO.fingerprint, (30, 20)), no.Number(0, 180))
    assert not found.is_told
    assert found.bars == []
    assert found.unknown_text.startswith("These reports cannot tell the median, ")
    assert found.unknown_text.endswith("how the values are spread: they may be nearly anything.")
    assert found.unknown_text in str(found)
    assert "█" not in str(found)
    assert found._repr_html_()
    assert found.plot(Figure().subplots()) is not None
    assert commuters(100_000).unknown_text == ""


@pytest.mark.parametrize(
    ("p_value", "told"),
    [
        (0.00099, "LIKELY: no honest people would send these counts (p = 0.00099)"),
        (0.001, "unusual: one honest question in 20 looks like this (p = 0.001)"),
        (0.049, "unusual: one honest question in 20 looks like this (p = 0.049)"),
        (0.05, "no sign of them (p = 0.05)"),
    ],
)
def test_few_honest_questions_are_called_forged(
    stars: no.AnswerSummary, minutes: no.Summary, p_value: float, told: str
) -> None:
    assert (CERTAIN, SUSPICIOUS) == (0.001, 0.05)
    for found in (stars, minutes):
        kind = type(found)
        changed = type(kind.__name__, (kind,), {"goodness": p_value})
        again: Any = object.__new__(changed)
        again.__dict__.update(found.__dict__)
        assert again.notes[0].startswith(f"Forged reports: {told}")
