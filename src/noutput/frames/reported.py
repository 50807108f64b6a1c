"""Count the reports of a campaign, each id once, inside the engine that holds them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from noutput import _checks
from noutput._progress import shown_progress
from noutput.campaign.archive import CAMPAIGN, COLUMNS, ID, OUTPUT, QUESTION
from noutput.errors import InvalidArgumentError
from noutput.frames import archived
from noutput.frames.packages import nw, pa, pc, pl, spark_functions
from noutput.frames.privatizing import open_frame
from noutput.mechanisms.table import TableMechanism, unit_mechanism
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign
    from noutput.estimate.summary import AnswerSummary, Summary
    from noutput.frames.privatizing import Opened

__all__ = ["ReportCounts", "tally_reports"]

_SIZE, _CODE = "noutput_size", "noutput_code"  # of an id, in bytes; of an answer
_LOW, _HIGH, _ROWS, _IDS, _SPLIT = (
    f"noutput_{name}" for name in ("low", "high", "rows", "ids", "split")
)
_LEAST = 2  # reports that an estimate needs
_PLACES = 256  # the most outputs that a table has
_BINARY, _DIGITS = 16, 32  # the size of an id as bytes, and as hexadecimal digits
_HEXADECIMAL = "^[0-9a-f]{32}$"
# why a row is refused; all are below the codes of answers
_REASONS = {
    -4: "of another campaign",
    -3: "on a question that it does not ask",
    -2: "with an output that its table does not have",
    -1: "without an id of 16 bytes or 32 hexadecimal digits",
}
_OTHER, _UNASKED, _OUTSIDE, _NO_ID = _REASONS

Key: TypeAlias = str | int


@dataclass(frozen=True, slots=True)
class ReportCounts:
    """Counts of the reports of a campaign, each id once.

    Parameters
    ----------
    campaign : Campaign
    tallies : dict of str to Tally
        By the name of the question, in the order of the campaign; those of its newest wave.
    rows : int
        How many rows were read.
    conflicting : int
        How many ids came with different answers; each is counted with the lowest of them, in the
        order of the campaign's questions and outputs.
    pending : int
        How many rows of an archive are in no file yet, and so are not counted: those that came
        last to a collector that runs, or that one left which was killed.
    earlier : tuple of dict of str to Tally
        The same of every earlier wave of an adaptive campaign, the first one first.

    Examples
    --------
    >>> import noutput as no
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Table, YesNo
    >>> campaign = Campaign(
    ...     "late", "Late trains", "Was your train late?", (YesNo(name="late"),),
    ...     (Table(1.1, (2,), ((3 << 30, 1 << 30), (1 << 30, 3 << 30))),),
    ...     datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC),
    ... )
    >>> counts = no.Tally(campaign.tables[0].fingerprint, (4_000, 6_000))
    >>> found = ReportCounts(campaign, {"late": counts}, 10_500, 0)
    >>> found.reports, found.repeated, found.summaries()["late"].reports
    (10000, 500, 10000)
    >>> found.waves == (found.tallies,)
    True
    """

    campaign: Campaign
    tallies: Mapping[str, Tally]
    rows: int
    conflicting: int
    pending: int = 0
    earlier: tuple[Mapping[str, Tally], ...] = ()

    @property
    def waves(self) -> tuple[Mapping[str, Tally], ...]:
        """The tallies of all waves by the name of the question, the first one first."""
        return (*self.earlier, self.tallies)

    @property
    def reports(self) -> int:
        """The number of different ids: of all reports that are counted."""
        return sum(tally.total for wave in self.waves for tally in wave.values())

    @property
    def repeated(self) -> int:
        """The number of rows whose id had been counted."""
        return self.rows - self.reports

    def summaries(
        self, *, level: float = 0.95, bins: int | None = None, method: str | None = None
    ) -> dict[str, Summary | AnswerSummary]:
        """Return what `summarize` says about every question with at least two reports."""
        from noutput.estimate.summary import summarize

        found: dict[str, Summary | AnswerSummary] = {}
        asked = zip(self.campaign.asked, self.campaign.tables, strict=True)
        for question, table in asked:
            tally = self.tallies[question.name]
            if tally.total < _LEAST:
                continue
            mechanism = unit_mechanism(table)
            options: dict[str, Any] = {"level": level}
            if isinstance(mechanism, TableMechanism):
                options |= {"bins": bins, "method": method}
            found[question.name] = summarize(mechanism, tally, question, **options)
        return found


def tally_reports(
    source: object,
    campaign: Campaign | None = None,
    *,
    engine: str = "arrow",
    master: str | None = None,
) -> ReportCounts:
    """Count the reports of a campaign that were collected as rows, each id once.

    Parameters
    ----------
    source : path, or pandas, Polars, PyArrow, DuckDB or PySpark frame
        The archive of a collector (``noutput serve --archive``), a Parquet file, a folder of
        Parquet files, or a frame. It has the columns ``campaign`` (the fingerprint), ``question``
        (its name), ``output`` (a whole number) and ``id`` (16 bytes, or 32 hexadecimal digits),
        as the wire format names them; others are passed over.
    campaign : Campaign, optional
        Whose reports these are. An archive with one campaign says so itself.
    engine : {"arrow", "duckdb", "spark"}
        Who reads and counts where the source is a path. With Spark it may be an address such as
        ``s3a://...``. "arrow" reads an archive shard by shard: a sixteenth is in memory at a time.
    master : str, optional
        Spark's master.

    Returns
    -------
    ReportCounts

    Raises
    ------
    InvalidArgumentError
        If any row is not a report of this campaign: the error says how many there are of each
        kind. Nothing is counted then, as a collector refuses a request as a whole.

    Notes
    -----
    Two group-bys of the engine: by id, then by answer. One row per output leaves it, and a lazy
    frame is run once.

    A collector counts the first report of an id, whatever comes later. Rows have no order; of one
    id with different answers, which no honest client sends, the lowest is counted, in the
    order of the campaign's questions and outputs. The number of reports is the collector's
    either way.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Campaign, Table, YesNo
    >>> campaign = Campaign(
    ...     "late", "Late trains", "Was your train late?", (YesNo(name="late"),),
    ...     (Table(1.1, (2,), ((3 << 30, 1 << 30), (1 << 30, 3 << 30))),),
    ...     datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC),
    ... )
    >>> reports = pa.table({
    ...     "campaign": [campaign.fingerprint] * 4,
    ...     "question": ["late"] * 4,
    ...     "output": [0, 1, 1, 1],
    ...     "id": [bytes([number]) * 16 for number in (1, 2, 3, 3)],
    ... })
    >>> found = tally_reports(reports, campaign)
    >>> found.tallies["late"].counts, found.repeated
    ((1, 2), 1)
    """
    with shown_progress("Counting") as progress:
        if isinstance(source, str | Path):
            with archived.opened(source, campaign, engine, master, progress) as (known, parts):
                found = _total(known, (_count(part, known) for part in parts))
            return replace(found, pending=archived.pending_reports(source, known.root))
        _checks.choice("engine", engine, archived.ENGINES)
        if campaign is None:
            raise InvalidArgumentError("campaign", "be given with a frame", campaign)
        return _total(campaign, [_count(source, campaign)])


class _Counted(NamedTuple):
    """One answer: how many ids have it, in how many rows, and how many of them have others."""

    code: int
    ids: int
    rows: int
    split: int


def _total(campaign: Campaign, parts: Iterable[_Part]) -> ReportCounts:
    """Add up parts that have no id in common; refuse them where a row does not belong."""
    tables = [table for wave in campaign.waves for table in wave.tables]
    counts = [[0] * table.n_outputs for table in tables]
    rows = conflicting = 0
    refused: Counter[int] = Counter()
    for part in parts:
        refused.update(part.refused)
        for counted in part.answers:
            place, output = divmod(counted.code, _PLACES)
            counts[place][output] += counted.ids
            rows += counted.rows
            conflicting += counted.split
    if refused:
        texts = [f"{refused[key]:,} {why}" for key, why in _REASONS.items() if refused[key]]
        rule = f"all be of the campaign {campaign.id!r} ({campaign.root[:12]})"
        raise InvalidArgumentError("reports", rule, ", ".join(texts))
    tallies = [
        Tally(table.fingerprint, tuple(each)) for table, each in zip(tables, counts, strict=True)
    ]
    names = list(campaign.question_indexes)
    *earlier, newest = (
        dict(zip(names, tallies[start : start + len(names)], strict=True))
        for start in range(0, len(tallies), len(names))
    )
    return ReportCounts(campaign, newest, rows, conflicting, earlier=tuple(earlier))


class _Part(NamedTuple):
    """The answers of a frame, and how many rows of it are refused, by reason."""

    answers: list[_Counted]
    refused: dict[int, int]


def _count(frame: object, campaign: Campaign) -> _Part:
    """Count a frame, each id once."""
    prepared = _prepare(open_frame(frame), campaign)
    coded = prepared.frame.select(ID, _code(prepared, campaign).alias(_CODE))
    code = nw.col(_CODE)
    once = coded.group_by(ID).agg(
        code.min().alias(_LOW), code.max().alias(_HIGH), nw.len().alias(_ROWS)
    )
    split = nw.when(nw.col(_LOW) == nw.col(_HIGH)).then(0).otherwise(1)
    answers = once.with_columns(split.alias(_SPLIT)).group_by(_LOW)
    found = answers.agg(
        nw.len().alias(_IDS), nw.col(_ROWS).sum(), nw.col(_SPLIT).sum()
    )  # fmt: skip
    result = [_Counted(*map(int, row)) for row in _rows(found, _LOW, _IDS, _ROWS, _SPLIT)]
    if all(counted.code >= 0 for counted in result):
        return _Part(result, {})
    refused = coded.filter(code < 0).group_by(_CODE).agg(nw.len().alias(_ROWS))
    return _Part([], {int(key): int(size) for key, size in _rows(refused, _CODE, _ROWS)})


def _rows(frame: Any, *columns: str) -> Iterator[tuple[Any, ...]]:
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    return iter(frame.select(*columns).iter_rows())


class _Prepared(NamedTuple):
    """Reports as `_code` reads them, whatever engine holds them.

    Parameters
    ----------
    frame : narwhals frame
    waves : sequence of str or int
        What the column `campaign` is for each wave.
    questions : sequence of str or int
        What the column `question` is for each question.
    digits : bool
        Whether ids are texts.
    """

    frame: Opened
    waves: list[Key]
    questions: list[Key]
    digits: bool


def _code(prepared: _Prepared, campaign: Campaign) -> nw.Expr:
    """Return the code of a row: 256 times the block's place and the output, or a reason.

    A block is a question in a wave: those of the first wave come first. Every condition is false
    where a value is missing.
    """
    given = nw.col(OUTPUT)  # maybe of a type that holds numbers beyond those of Int64
    output = nw.when((given >= 0) & (given < _PLACES)).then(given).cast(nw.Int64)
    questions = len(campaign.questions)

    def answer(otherwise: nw.Expr, block: int) -> nw.Expr:
        wave, place = divmod(block, questions)
        fits = output < campaign.waves[wave].tables[place].n_outputs
        code = nw.when(fits).then(output + _PLACES * block).otherwise(nw.lit(_OUTSIDE))
        asked = nw.col(QUESTION) == prepared.questions[place]
        return nw.when(asked).then(code).otherwise(otherwise)

    known = nw.col(_SIZE) == (_DIGITS if prepared.digits else _BINARY)
    if prepared.digits:
        known &= nw.col(ID).str.contains(_HEXADECIMAL)

    def own(otherwise: nw.Expr, wave: int) -> nw.Expr:
        blocks = range(wave * questions, (wave + 1) * questions)
        code: nw.Expr = reduce(answer, blocks, nw.lit(_UNASKED))
        code = nw.when(known).then(code).otherwise(nw.lit(_NO_ID))
        return nw.when(nw.col(CAMPAIGN) == prepared.waves[wave]).then(code).otherwise(otherwise)

    found: nw.Expr = reduce(own, range(len(campaign.waves)), nw.lit(_OTHER))
    return found


def _prepare(opened: Opened, campaign: Campaign) -> _Prepared:
    """Check the columns, and add the size of every id, which narwhals cannot ask for."""
    schema = opened.collect_schema()
    missing = [name for name in COLUMNS if name not in schema]
    if missing:
        rule = f"have the columns {', '.join(COLUMNS)}"
        raise InvalidArgumentError("source", rule, f"no {', '.join(missing)}")
    for name in (CAMPAIGN, QUESTION):
        if schema[name].is_nested():
            raise _no_texts(name, str(schema[name]))
    if not schema[OUTPUT].is_integer():
        raise InvalidArgumentError(f"column {OUTPUT!r}", "hold whole numbers", str(schema[OUTPUT]))
    engine = opened.implementation
    frame = opened.select(*COLUMNS).to_native()
    if engine.is_pandas():
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    if isinstance(frame, pa.Table):
        return _prepare_arrow(frame, campaign)
    names: list[Key] = [question.name for question in campaign.questions]
    digits = isinstance(schema[ID], nw.String)
    if not digits and not isinstance(schema[ID], nw.Binary):
        raise _wrong_id(str(schema[ID]))
    texts = nw.col(CAMPAIGN, QUESTION).cast(nw.String)
    sized = open_frame(_with_sizes(frame, engine, digits=digits)).with_columns(texts)
    waves: list[Key] = [wave.fingerprint for wave in campaign.waves]
    return _Prepared(sized, waves, names, digits)


def _with_sizes(frame: Any, engine: nw.Implementation, *, digits: bool) -> Any:
    if engine.is_duckdb():
        return frame.project(f"*, {'strlen' if digits else 'octet_length'}({ID}) AS {_SIZE}")
    if engine.is_spark_like():
        return frame.withColumn(_SIZE, spark_functions.octet_length(ID))
    column = pl.col(ID)
    size = column.str.len_bytes() if digits else column.bin.size()
    return frame.with_columns(size.alias(_SIZE))


def _prepare_arrow(table: pa.Table, campaign: Campaign) -> _Prepared:
    """Prepare a table without its texts: a fingerprint per row would be most of the memory."""
    for name in (CAMPAIGN, QUESTION):  # pandas does not know what its objects are
        if pa.types.is_nested(table.schema.field(name).type):
            raise _no_texts(name, str(table.schema.field(name).type))
    kind = table.schema.field(ID).type
    if pa.types.is_null(kind):  # what pandas has where there are no rows
        kind = pa.binary()
    digits = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
    if not digits and not any(matches(kind) for matches in binary):
        raise _wrong_id(str(kind))
    ids = table[ID] if digits else table[ID].cast(pa.binary())
    names = [question.name for question in campaign.questions]
    columns = {
        CAMPAIGN: _places(table[CAMPAIGN], [wave.fingerprint for wave in campaign.waves]),
        QUESTION: _places(table[QUESTION], names),
        OUTPUT: table[OUTPUT].cast(pa.int64(), safe=False),  # what is beyond becomes negative
        ID: ids,
        _SIZE: pc.binary_length(ids),
    }
    waves: list[Key] = list(range(len(campaign.waves)))
    return _Prepared(open_frame(pa.table(columns)), waves, list(range(len(names))), digits)


def _places(column: pa.ChunkedArray, names: list[str]) -> pa.ChunkedArray:
    """Return the place of every text among the names, -1 for others."""
    places = {name: place for place, name in enumerate(names)}
    chunks = []
    for chunk in column.chunks:
        encoded = chunk if pa.types.is_dictionary(chunk.type) else chunk.dictionary_encode()
        found = [places.get(value, -1) for value in encoded.dictionary.to_pylist()]
        chunks.append(pa.array(found, pa.int32()).take(encoded.indices))
    return pa.chunked_array(chunks, pa.int32())


def _no_texts(column: str, found: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"column {column!r}", "hold texts", found)


def _wrong_id(found: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"column {ID!r}", "hold 16 bytes or 32 hexadecimal digits", found)
