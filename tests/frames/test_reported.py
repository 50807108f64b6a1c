"""Reports of a campaign as rows: each id counts once, in every engine as in the collector."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from noutput import InvalidArgumentError, frames
from noutput.campaign import Campaign
from noutput.campaign.archive import DOCUMENT, campaign_folder, shard_folder
from tests.campaign.examples import adaptive_campaign, next_wave, survey_campaign
from tests.frames.conftest import Backend


@pytest.fixture(scope="module")
def campaign() -> Campaign:
    return survey_campaign("commute")


def rows(campaign: Campaign, answers: list[tuple[int, int, int]], *, digits: bool = False) -> Any:
    """Return reports by the question's place, the output and the number of the id."""
    names = [question.name for question in campaign.questions]
    ids = [number.to_bytes(16, "big") for _, _, number in answers]
    return pa.table(
        {
            "day": [3] * len(answers),
            "id": [each.hex() for each in ids] if digits else pa.array(ids, pa.binary()),
            "output": pa.array([output for _, output, _ in answers], pa.int16()),
            "question": [names[place] for place, _, _ in answers],
            "campaign": [campaign.fingerprint] * len(answers),
        }
    )


def replaced(table: Any, column: str, values: Any) -> Any:
    return table.set_column(table.schema.get_field_index(column), column, values)


ANSWERS = [(0, 1, 1), (0, 1, 2), (1, 0, 3), (0, 1, 1), (0, 1, 1), (1, 1, 4)]


def test_each_id_counts_once(backend: Backend, campaign: Campaign) -> None:
    check_once(frames.tally_reports(backend.make(rows(campaign, ANSWERS)), campaign), campaign)


def test_ids_may_be_digits(ordered: Backend, campaign: Campaign) -> None:
    table = rows(campaign, ANSWERS, digits=True)
    check_once(frames.tally_reports(ordered.make(table), campaign), campaign)


def check_once(found: frames.ReportCounts, campaign: Campaign) -> None:
    names = [question.name for question in campaign.questions]
    assert list(found.tallies) == names
    assert found.tallies[names[0]].counts[:2] == (0, 2)
    assert found.tallies[names[1]].counts[:2] == (1, 1)
    for table, tally in zip(campaign.tables, found.tallies.values(), strict=True):
        assert tally.fingerprint == table.fingerprint
        assert len(tally.counts) == table.n_outputs
    assert (found.rows, found.reports, found.repeated, found.conflicting) == (6, 4, 2, 0)


def test_of_different_answers_the_lowest_counts(ordered: Backend, campaign: Campaign) -> None:
    """By the place of the question, then by the output; the number of reports is right."""
    answers = [(1, 0, 1), (0, 1, 1), (0, 2, 1), (2, 1, 2), (2, 0, 2), (1, 1, 3)]
    found = frames.tally_reports(ordered.make(rows(campaign, answers)), campaign)
    first, second, third, *_ = found.tallies.values()
    assert (first.total, first.counts[1]) == (1, 1)
    assert (second.total, second.counts[1]) == (1, 1)
    assert (third.total, third.counts[0]) == (1, 1)
    assert (found.reports, found.rows, found.conflicting) == (3, 6, 2)


def test_no_reports(ordered: Backend, campaign: Campaign) -> None:
    found = frames.tally_reports(ordered.make(rows(campaign, ANSWERS).slice(0, 0)), campaign)
    assert (found.reports, found.rows, found.conflicting) == (0, 0, 0)
    assert found.summaries() == {}


def test_rows_of_others_are_refused_and_counted(backend: Backend, campaign: Campaign) -> None:
    size = campaign.tables[0].n_outputs
    good = rows(campaign, ANSWERS)
    ids = good["id"].to_pylist()
    names = good["question"].to_pylist()
    bad = pa.concat_tables(
        [
            good,
            replaced(good, "campaign", pa.array(["0" * 64] * 2 + [None] * 4, pa.string())),
            replaced(good, "question", pa.array(["unknown", *names[1:]])).slice(0, 2),
            replaced(good, "question", pa.array([None, *names[1:]], pa.string())).slice(0, 1),
            replaced(good, "output", pa.array([size, -1, 255, 0, 0, 0], pa.int16())).slice(0, 3),
            replaced(good, "id", pa.array([ids[0][:15], None, *ids[2:]], pa.binary())).slice(0, 2),
        ]
    )
    with pytest.raises(InvalidArgumentError) as error:
        frames.tally_reports(backend.make(bad), campaign)
    assert error.value.name == "reports"
    assert error.value.rule == f"all be of the campaign 'commute' ({campaign.fingerprint[:12]})"
    assert error.value.found == (
        "6 of another campaign, 2 on a question that it does not ask, "
        "3 with an output that its table does not have, "
        "2 without an id of 16 bytes or 32 hexadecimal digits"
    )


@pytest.mark.parametrize("wrong", ["0" * 31, "0" * 31 + "A", "0" * 31 + "é", "0" * 32 + "\n"])
def test_texts_that_are_no_ids_are_refused(
    ordered: Backend, campaign: Campaign, wrong: str
) -> None:
    table = rows(campaign, ANSWERS[:2], digits=True)
    table = replaced(table, "id", pa.array(["0" * 32, wrong]))
    with pytest.raises(InvalidArgumentError, match="found '1 without an id of 16 bytes"):
        frames.tally_reports(ordered.make(table), campaign)


def test_columns_are_checked(ordered: Backend, campaign: Campaign) -> None:
    table = rows(campaign, ANSWERS)
    with pytest.raises(InvalidArgumentError, match="have the columns campaign, question, output"):
        frames.tally_reports(ordered.make(table.drop_columns(["question"])), campaign)
    floats = replaced(table, "output", table["output"].cast(pa.float64()))
    with pytest.raises(InvalidArgumentError, match="column 'output' must hold whole numbers"):
        frames.tally_reports(ordered.make(floats), campaign)
    numbers = replaced(table, "id", pa.array(range(len(ANSWERS))))
    with pytest.raises(InvalidArgumentError, match="column 'id' must hold 16 bytes or 32"):
        frames.tally_reports(ordered.make(numbers), campaign)


@pytest.mark.parametrize("column", ["campaign", "question"])
def test_columns_of_texts_are_checked(ordered: Backend, campaign: Campaign, column: str) -> None:
    table = rows(campaign, ANSWERS)
    lists = replaced(table, column, pa.array([[each] for each in table[column].to_pylist()]))
    with pytest.raises(InvalidArgumentError, match=f"column '{column}' must hold texts"):
        frames.tally_reports(ordered.make(lists), campaign)


@pytest.mark.parametrize("column", ["campaign", "question"])
@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
def test_columns_of_files_are_checked(
    tmp_path: Path, campaign: Campaign, column: str, engine: str
) -> None:
    table = rows(campaign, ANSWERS)
    lists = pa.array([{"text": each} for each in table[column].to_pylist()])
    pq.write_table(replaced(table, column, lists), tmp_path / "some.parquet")
    with pytest.raises(InvalidArgumentError, match=f"column '{column}' must hold texts"):
        frames.tally_reports(tmp_path, campaign, engine=engine)


def test_outputs_of_any_size_are_refused(ordered: Backend, campaign: Campaign) -> None:
    table = rows(campaign, ANSWERS)
    huge = replaced(table, "output", pa.array([2**64 - 1, *[0] * 5], pa.uint64()))
    with pytest.raises(InvalidArgumentError, match="1 with an output that its table does not have"):
        frames.tally_reports(ordered.make(huge), campaign)


def test_a_frame_needs_a_campaign(campaign: Campaign) -> None:
    with pytest.raises(InvalidArgumentError, match="campaign must be given with a frame"):
        frames.tally_reports(rows(campaign, ANSWERS))


def test_missing_outputs_are_refused(ordered: Backend, campaign: Campaign) -> None:
    """pandas makes floats of them, which hold no whole numbers."""
    table = rows(campaign, ANSWERS)
    table = replaced(table, "output", pa.array([None, *[0] * 5], pa.int16()))
    rule = "hold whole numbers" if ordered.name == "pandas" else "1 with an output that its table"
    with pytest.raises(InvalidArgumentError, match=rule):
        frames.tally_reports(ordered.make(table), campaign)


def test_any_folder_of_parquet_is_read(tmp_path: Path, campaign: Campaign) -> None:
    """An id may be in several files."""
    table = rows(campaign, ANSWERS)
    for start in range(0, 6, 2):
        pq.write_table(table.slice(start, 2), tmp_path / f"{start}.parquet")
    for engine in ("arrow", "duckdb"):
        check_once(frames.tally_reports(tmp_path, campaign, engine=engine), campaign)
    pq.write_table(table, tmp_path / "all.parquet")
    check_once(frames.tally_reports(str(tmp_path / "all.parquet"), campaign), campaign)
    assert not frames.is_archive(tmp_path)
    with pytest.raises(InvalidArgumentError, match="campaign must be given unless the source is"):
        frames.tally_reports(tmp_path)
    pq.write_table(table.drop_columns(["id"]), tmp_path / "all.parquet")
    with pytest.raises(
        InvalidArgumentError, match="have the columns campaign, question, output, id"
    ):
        frames.tally_reports(tmp_path / "all.parquet", campaign)


@pytest.mark.parametrize(
    ("options", "rule"),
    [
        ({"engine": "sqlite"}, "engine must be one of"),
        ({"master": "local[2]"}, "master must be given with the engine 'spark' alone"),
    ],
)
def test_engines_are_checked(
    tmp_path: Path, campaign: Campaign, options: dict[str, str], rule: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=rule.replace("[", r"\[")):
        frames.tally_reports(tmp_path, campaign, **options)


def test_addresses_are_for_clusters(campaign: Campaign) -> None:
    with pytest.raises(InvalidArgumentError, match="be 'spark', with a campaign, where the source"):
        frames.tally_reports("s3a://bucket/reports", campaign)


def test_pending_reports_that_cannot_be_read_are_named(tmp_path: Path, campaign: Campaign) -> None:
    shard = tmp_path / campaign_folder(campaign.fingerprint) / shard_folder(0)
    shard.mkdir(parents=True)
    (shard.parent / DOCUMENT).write_text(campaign.to_json())
    pq.write_table(rows(campaign, ANSWERS), shard / "0.parquet")
    assert frames.is_archive(tmp_path)
    check_once(frames.tally_reports(tmp_path), campaign)
    (tmp_path / "_pending.db").write_bytes(b"no database")
    with pytest.raises(InvalidArgumentError, match=r"_pending\.db must be readable, or not exist"):
        frames.tally_reports(tmp_path)


def test_the_second_wave_is_summarized_within_its_own_bounds() -> None:
    """Its table was made for numbers up to 110, not for the 600 of the first wave."""
    second = next_wave(adaptive_campaign(), upper=110.0)
    answers = [(0, index % second.tables[0].n_outputs, index) for index in range(400)]
    found: Any = frames.tally_reports(rows(second, answers), second).summaries()["commute"]
    assert (found.question.lower, found.question.upper) == (0.0, 110.0)
    assert 0.0 <= found.mean.value <= 110.0
