"""`noutput verify` and adaptive campaigns: the second wave is computed again."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import noutput as no
from noutput.campaign import Campaign, NextWave, fetch_campaign, send_batch
from noutput.cli.verify import command
from noutput.collector.cells import CellLayout
from noutput.collector.http.limits import Limits
from noutput.collector.ingest import adapting
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.server import Options, Running, running
from noutput.collector.simulation import simulate_people
from noutput.errors import InvalidArgumentError
from noutput.planner.successors import check_successor, next_campaign
from tests.campaign.examples import adaptive_campaign, late_campaign, next_wave
from tests.collector.conftest import make_campaign


@pytest.fixture(autouse=True)
def few_are_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the wave of a collector begin after fewer reports than the rule needs."""
    monkeypatch.setattr(adapting, "FEWEST_REPORTS", 1)


@pytest.fixture(scope="module")
def first() -> Campaign:
    table = no.design(2.0, 16).mechanism.plain.rescaled(0, 600)
    late = adaptive_campaign().tables[1]
    return adaptive_campaign(tables=(table, late), next_wave=NextWave(4_000, 40_000))


@pytest.fixture(scope="module")
def second(first: Campaign) -> Campaign:
    rng = np.random.default_rng(7)
    mechanism, minutes = no.design(2.0, 16).mechanism, no.Interval(0, 600)
    drawn = mechanism.privatize(minutes.to_unit(rng.gamma(4.0, 10.0, 4_000), clip=True), rng)
    counts = [no.Tally.of(mechanism, drawn).counts, (2_000, 2_000)]
    return next_campaign(first, counts)


def run(tmp_path: Path, campaign: Campaign, *options: str) -> tuple[int, str]:
    file = tmp_path / "campaign.json"
    file.write_text(campaign.to_json(), encoding="utf-8")
    done = CliRunner().invoke(command, [str(file), *options])
    return done.exit_code, done.output


def test_the_rule_finds_the_range(second: Campaign) -> None:
    ((lower, upper), late) = second.bounds  # type: ignore[misc]  # of a number
    assert lower == 0.0
    assert 70.0 <= upper <= 200.0
    assert late is None
    assert second.reasons[1] == ""
    assert check_successor(second) == second


def test_a_second_wave_by_the_rule_is_verified(tmp_path: Path, second: Campaign) -> None:
    status, text = run(tmp_path, second)
    assert status == 0
    assert f"Root        {second.root}" in text
    assert "Wave 1, commute: 0 to 600 minutes. As declared." in text
    assert "is what the rule 'range 1' gives for the 8,000 reports of which" in text


def test_another_second_wave_is_not_by_the_rule(tmp_path: Path, first: Campaign) -> None:
    status, text = run(tmp_path, next_wave(first, 33.0, first.tables[0]))
    assert status == 1
    assert "NOT BY THE RULE 'range 1': commute: the rule gives 0 to 600 minutes, and the " in text


def test_campaigns_of_one_wave_are_certified(tmp_path: Path, first: Campaign) -> None:
    status, text = run(tmp_path, first)
    assert status == 0
    assert (
        "The second wave begins once 4,000 reports are published, at least 500 of every number."
        in text
    )
    status, text = run(tmp_path, adaptive_campaign())
    assert "at least 500 of every number, or at 2026-12-01T00:00:00Z." in text
    status, text = run(tmp_path, late_campaign())
    assert status == 0
    assert "Root" not in text
    with pytest.raises(InvalidArgumentError, match=r"campaign must have a second wave"):
        check_successor(first)
    with pytest.raises(InvalidArgumentError, match=r"campaign must be the first wave of an adapt"):
        next_campaign(late_campaign(), [(1, 2)])


def test_reports_that_fit_nothing_stop_the_narrowing(first: Campaign) -> None:
    """Forgers who all send one output: the reports fit no distribution, and the range stays."""
    outputs = first.tables[0].n_outputs
    forged = tuple(4_000 if output == outputs // 2 else 100 for output in range(outputs))
    found = next_campaign(first, [forged, (2_000, 2_000)])
    assert found.bounds[0] == (0.0, 600.0)
    assert found.tables == first.tables
    assert "fit no distribution" in found.reasons[0]


def changed(second: Campaign, **parts: Any) -> Campaign:
    """Return a second wave of which somebody has changed something by hand."""
    known = {name: getattr(second, name) for name in ("tables", "bounds", "inputs", "reasons")}
    assert second.predecessor is not None
    return second.predecessor.successor(*(known | parts).values())


def test_reasons_are_those_of_the_rule(tmp_path: Path, second: Campaign) -> None:
    status, text = run(tmp_path, changed(second, reasons=("Our experts say so.", "")))
    assert status == 1
    assert f"commute: the rule gives the reason {second.reasons[0]!r}" in text
    assert "'Our experts say so.'" in text
    status, text = run(tmp_path, changed(second, reasons=(second.reasons[0], "Because.")))
    assert status == 1
    assert "late: the rule gives no reason, and the document has 'Because.'" in text


def test_the_rule_makes_one_successor_only(tmp_path: Path, second: Campaign) -> None:
    inputs = tuple((*each, each[0]) for each in second.inputs)
    tables = (second.tables[0].rescaled(0, 1), second.tables[1])
    third = second.successor(tables, ((0.0, 1.0), None), inputs, ("few are above", ""))
    status, text = run(tmp_path, third)
    assert status == 1
    assert "NOT BY THE RULE 'range 1': it gives 2 waves, and the document has 3" in text
    assert "is what the rule" not in text


@contextmanager
def collecting(folder: Path, first: Campaign, people: int) -> Iterator[Running]:
    """A collector that has published the reports of some people."""
    file = folder / "first.json"
    file.write_text(first.to_json(), encoding="utf-8")
    database, limits = str(folder / "reports.db"), Limits(client_reports_per_hour=0)
    policy = ReleasePolicy(10, 0.0)
    options = Options(database, port=0, campaigns=(file,), limits=limits, policy=policy)
    with running(options) as found:
        address = f"{found.url}/campaigns/{first.id}"
        everybody = simulate_people(first, people, "lognormal", np.random.default_rng(1))
        send_batch(address, first, everybody.reports(first))
        found.note()
        yield found


def small(**parts: Any) -> Campaign:
    """Return an adaptive campaign whose first wave is too small to find a range."""
    opened = make_campaign()
    wanted: dict[str, Any] = {"opens": opened.opens, "closes": opened.closes, "public": True}
    return adaptive_campaign(**(wanted | {"next_wave": NextWave(40, 200)} | parts))


def begun(address: str, first: Campaign) -> Campaign:
    """Return the campaign when its second wave has begun."""
    for _ in range(200):
        found = fetch_campaign(address, root=first.root)
        if len(found.waves) > 1:
            return found
        time.sleep(0.1)
    raise TimeoutError("no wave has begun")


def test_the_document_is_that_of_the_collector(tmp_path: Path) -> None:
    first = small()
    with collecting(tmp_path, first, 120) as collector:
        second = begun(f"{collector.url}/campaigns/{first.id}", first)
        where = ("--collector", collector.url)
        status, text = run(tmp_path, second, *where)
        assert status == 0
        assert f"The collector at {collector.url} has this document." in text
        assert "at least as many reports of every output of the first wave" in text
        status, text = run(tmp_path, first, *where)
        assert status == 0
        assert "has a newer wave of it" in text
        (counts,) = second.inputs[0]
        more = next_campaign(first, [(counts[0] + 1, *counts[1:]), *second.inputs[1]])
        assert run(tmp_path, more)[0] == 0  # the rule was kept
        status, text = run(tmp_path, more, *where)
        assert status == 1
        assert "NOT THAT OF THE COLLECTOR" in text
        assert second.fingerprint in text
        status, text = run(tmp_path, small(title="Another"), *where)
        assert status == 1


def test_inputs_are_counts_that_the_collector_published(tmp_path: Path) -> None:
    """A collector whose own second wave counts a report that it never published."""
    first = small(next_wave=NextWave(10**6, 10**7))
    with collecting(tmp_path, first, 120) as collector:
        row = collector.store.campaign(first.id)
        assert row is not None
        known = CellLayout(first).tallies(collector.store.published(row.key).counts)
        counts = [tally.counts for tally in known]
        counts[0] = (counts[0][0] + 1, *counts[0][1:])
        forged = next_campaign(first, counts)
        values = (first.fingerprint, forged.fingerprint, forged.to_json())
        assert collector.store.succeed(row.key, *values)
        begun(f"{collector.url}/campaigns/{first.id}", first)
        status, text = run(tmp_path, forged, "--collector", collector.url)
        assert status == 1
        said = f"commute: {counts[0][0]} reports of output 0, of which {counts[0][0] - 1} are publ"
        assert said in text


def test_counts_of_private_campaigns_are_not_compared(tmp_path: Path) -> None:
    first = small(public=False)
    with collecting(tmp_path, first, 120) as collector:
        second = begun(f"{collector.url}/campaigns/{first.id}", first)
        status, text = run(tmp_path, second, "--collector", collector.url)
        assert status == 0
        assert "Its counts were not compared: " in text
