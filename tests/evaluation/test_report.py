"""What the report says beside its numbers, and how it looks on a phone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from noutput.evaluation import claims, readings, report
from noutput.evaluation.comparison import limit
from noutput.evaluation.datasets import Dataset, load
from noutput.evaluation.document import Block, Heading, Items, Table, Text, to_html
from noutput.evaluation.results import Results, Row
from noutput.evaluation.run import FinishedRun
from noutput.evaluation.scenarios import FULL, make
from noutput.evaluation.verdicts import FAILS, HOLDS, PART, UNDECIDED, UNTESTED
from tests.end_to_end.browser import PHONE, chromium
from tests.evaluation.scenes import small


def everything() -> list[Block]:
    """Return all that is said about claims, as if nothing had been computed."""
    findings = claims.check(Results(FULL, ()))
    rows = tuple(
        Row(figure, "adult", "pm", estimator, 1.0, 1.0, 0.1, 5, truth=truth)
        for figure, truth in (("distribution", ""), ("variance", "bins"))
        for estimator in ("em", "em-sum", "em-relative")
    )
    return [*report._claims(tuple(findings)), *readings.sections(Results(FULL, rows))]


@pytest.mark.slow
def test_tables_of_verdicts_fit_on_a_phone(tmp_path: Path) -> None:
    blocks = everything()
    tables = [block for block in blocks if isinstance(block, Table) and "paper" in block.columns[0]]
    assert [len(table.columns) for table in tables] == [3, 4]
    html = to_html(tables, "Claims", tmp_path).replace(UNTESTED, UNDECIDED)  # the longest word
    (tmp_path / "index.html").write_text(html, encoding="utf-8")
    with chromium() as browser:
        page = browser.new_page(viewport={"width": PHONE[0], "height": PHONE[1]})
        page.goto((tmp_path / "index.html").as_uri())
        room = "table => [table.scrollWidth, table.clientWidth]"
        widths = [table.evaluate(room) for table in page.query_selector_all("table")]
        page_width = page.evaluate("document.documentElement.scrollWidth")
    assert len(widths) == 2
    assert all(needed <= given for needed, given in widths)
    assert page_width == PHONE[0]


def test_every_claim_has_its_numbers_below_the_table() -> None:
    blocks = everything()
    for claim in claims.CLAIMS:
        (place,) = (
            i for i, b in enumerate(blocks) if isinstance(b, Heading) and claim.text[:-1] in b.text
        )
        assert isinstance(blocks[place + 1], Items)


@pytest.mark.parametrize(
    ("verdict", "count", "words"),
    [
        (HOLDS, 1, "1 holds"),
        (PART, 3, "3 hold in part"),
        (FAILS, 2, "2 do not hold"),
        (UNDECIDED, 1, "1 is undecided"),
        (UNTESTED, 4, "4 are not tested"),
    ],
)
def test_verdicts_are_counted(verdict: str, count: int, words: str) -> None:
    assert report._counted(verdict, count) == words


def texts(blocks: list[Block]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, Text))


def test_the_size_of_the_numerical_designs_is_told() -> None:
    names = ("numerical-worst", "numerical-average")
    mechanisms = {(name, 2.0): make(name, 2.0) for name in names}
    outcome = FinishedRun(small("mean", mechanisms=names), {}, mechanisms, {}, {}, frozenset())
    blocks = list(report._sizes(outcome))
    assert "also where the average is minimized" in texts(blocks)
    assert isinstance(blocks[1], Table)
    assert blocks[1].rows == tuple(
        (label, str(mechanisms[name, 2.0].n_outputs))  # type: ignore[attr-defined] # a table
        for name, label in zip(names, ("N-output (worst)", "N-output (average)"), strict=True)
    )


def test_both_truths_are_told() -> None:
    data = Dataset("adult", ("a",), np.array([[-1.0], [1.0]]))
    blocks = list(report._truths([data]))
    assert "The paper does not say" in texts(blocks)
    assert "Verdicts use the variance of the true histogram" in texts(blocks)
    assert isinstance(blocks[1], Table)
    error = 1.0 - (63 / 64) ** 2
    assert blocks[1].rows == (("Adult", f"{error:.2g}"),)


def test_other_numbers_than_the_known_ones_stand_in_the_report() -> None:
    data = Dataset("adult", ("a",), np.array([[-1.0], [1.0]]), ("a note",))
    assert report._remarks(data) == (f"**{data.difference}**", "a note")
    assert report._remarks(load("uniform")) == ("nothing is left out",)


def test_deviations_of_few_runs_are_judged_by_their_own_limit() -> None:
    rows = [Row("mean", "adult", "pm", "", 1.0, 1.5, 0.1, runs, 1.0) for runs in (5, 100)]
    assert limit(99) < 5.0 < limit(4)
    found = report._agreement(rows)
    assert isinstance(found, Text)
    assert "1 of 2 measured errors differ from the prediction by more than noise" in found.text


def test_settings_whose_runs_are_all_equal_are_counted_but_not_judged() -> None:
    rows = [Row("mean", "adult", "pm", "", e, 1.5, se, 5, 1.0) for e, se in ((1.0, 0.0), (2, 0.1))]
    found = report._agreement(rows)
    assert isinstance(found, Text)
    assert "0 of 1 measured errors differ" in found.text
    assert "PM on Adult at epsilon 2, is at +5.0 standard errors" in found.text
    assert "In 1 further setting all runs gave the same error" in found.text
    alone = report._agreement(rows[:1])
    assert isinstance(alone, Text)
    assert alone.text.startswith("**Theory.** In 1 setting all runs gave the same error")
    assert "farthest" not in alone.text


def test_errors_of_zero_are_left_out_of_geometric_means() -> None:
    values = {("em", 1.0): 0.0, ("gp", 1.0): 0.0, ("em", 2.0): 0.2, ("gp", 2.0): 0.1}
    rows = [
        Row("distribution", "adult", "pm", estimator, epsilon, value, 0.0, 5)
        for (estimator, epsilon), value in values.items()
    ]
    blocks = list(report._gain(rows, ("pm",)))
    assert "1 setting with an error of exactly 0 is left out" in texts(blocks)
    assert isinstance(blocks[1], Table)
    assert blocks[1].rows == (("PM", "0.50"),)


def test_readings_without_an_error_have_no_ratio() -> None:
    rows = tuple(
        Row("distribution", "adult", "pm", estimator, 1.0, 0.0, 0.0, 5)
        for estimator in ("em", "em-sum", "em-relative")
    )
    tables = [b for b in readings.sections(Results(FULL, rows)) if isinstance(b, Table)]
    assert [line[2] for line in tables[1].rows] == ["", ""]
