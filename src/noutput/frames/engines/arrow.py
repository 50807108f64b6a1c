"""The engine "arrow": batches of Parquet or CSV through this process, in constant memory.

The first batch of every source is empty: it tells the types.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeAlias

from noutput.errors import InvalidArgumentError
from noutput.frames.packages import pa, pa_csv, pc, pq
from noutput.frames.reports import ATTRIBUTE
from noutput.frames.storage import check_file, is_csv, parquet_files
from noutput.questions import Answers, Question

if TYPE_CHECKING:
    from noutput._progress import Progress

__all__ = [
    "Source",
    "open_values",
    "read_reports",
    "text_answers",
    "text_numbers",
    "write",
]

Source: TypeAlias = Path | BinaryIO

_ROWS = 1 << 18  # rows per batch, and per row group of what is written
BLOCK = 1 << 23  # bytes of CSV parsed at once
_LINE = re.compile(r"Row #(\d+)")
_SIZE = re.compile(r"Expected \d+ columns, got (\d+)")
_VALUE = re.compile(r"(?:invalid value|Failed to parse string:) '(.*?)'")


def open_values(
    source: Source,
    columns: Mapping[str, Question],
    texts: Sequence[str],
    progress: Progress | None = None,
) -> tuple[pa.Schema, Iterator[pa.RecordBatch]]:
    """Return all columns of a file, a folder or a stream of CSV, and batches of the wanted ones.

    In CSV, numbers are parsed as floats, answers are texts that may be missing, and `texts` are
    left as they are; Parquet knows types.
    """
    if isinstance(source, Path) and not (is_csv(source) and source.is_file()):
        files = parquet_files(source, [*columns, *texts])
        return pq.read_schema(files[0]), _parquet_batches(files, [*columns, *texts], progress)
    if isinstance(source, Path):
        check_file(source)
    answers = {name: each for name, each in columns.items() if isinstance(each, Answers)}
    kinds = {name: pa.string() if name in answers else pa.float64() for name in columns}
    kinds |= dict.fromkeys(texts, pa.string())
    header, stream = _csv_input(source)
    if not set(columns) <= set(header):
        _check_header(_source_name(source), header)
    schema = pa.schema([(name, kinds.get(name, pa.string())) for name in dict.fromkeys(header)])
    batches = _csv_batches(_source_name(source), header, stream, kinds, progress)
    return schema, (_with_gaps(batch, answers) for batch in batches)


def _with_gaps(batch: pa.RecordBatch, answers: Mapping[str, Answers]) -> pa.RecordBatch:
    for name, question in answers.items():
        place = batch.schema.get_field_index(name)
        batch = batch.set_column(place, name, text_answers(question, batch.column(place)))
    return batch


def read_reports(
    source: Path,
    columns: Sequence[str],
    texts: Sequence[str] = (),
    progress: Progress | None = None,
) -> Iterator[pa.RecordBatch]:
    """Return batches with some columns of stored reports; `texts` are labels in CSV."""
    if is_csv(source):
        text = {ATTRIBUTE, *texts}
        kinds = {name: pa.string() if name in text else pa.int32() for name in columns}
        return _csv_batches(str(source), *_csv_input(source), kinds, progress)
    return _parquet_batches(parquet_files(source, columns), columns, progress)


def write(tables: Iterable[pa.Table], place: Path, schema: pa.Schema, *, as_csv: bool) -> None:
    """Write tables to a new file."""
    kind = pa_csv.CSVWriter if as_csv else pq.ParquetWriter
    with kind(place, schema) as writer:
        for table in tables:
            writer.write_table(table.replace_schema_metadata(schema.metadata))


def _source_name(source: Source) -> str:
    """Return what errors call a source."""
    return str(source) if isinstance(source, Path) else getattr(source, "name", "stream")


def _parquet_batches(
    files: Sequence[str], columns: Sequence[str], progress: Progress | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield batches of some columns, in the order of the files and rows."""
    first = pq.read_schema(files[0])
    wanted = pa.schema([first.field(name) for name in columns])
    yield _empty(wanted)
    rows = sum(pq.read_metadata(file).num_rows for file in files) if progress else 0
    done = 0
    for file in files:
        # what is buffered ahead is kept until the file is closed: memory would grow with it
        with pq.ParquetFile(file, pre_buffer=False) as opened:
            for batch in opened.iter_batches(_ROWS, columns=list(columns)):
                yield batch.select(list(columns))
                done += batch.num_rows
                if progress and rows:
                    progress(done / rows)


def _csv_input(source: Source) -> tuple[list[str], Any]:
    """Open CSV, and return its header and a stream that still starts with the header."""
    if isinstance(source, Path):
        try:
            with source.open(newline="", encoding="utf-8-sig") as file:
                header = next(csv.reader(file), [])
        except (UnicodeDecodeError, csv.Error) as error:
            rule = "be CSV text in UTF-8 with a header"
            raise InvalidArgumentError(f"file {str(source)!r}", rule, str(error)) from None
        return header, pa.OSFile(str(source))
    lines: list[bytes] = []

    def spell() -> Iterator[str]:
        for line in iter(source.readline, b""):
            lines.append(line)
            yield line.decode("utf-8-sig" if len(lines) == 1 else "utf-8")

    try:
        header = next(csv.reader(spell()), [])
    except (UnicodeDecodeError, csv.Error) as error:
        rule = "be CSV text in UTF-8 with a header"
        raise InvalidArgumentError(_source_name(source), rule, str(error)) from None
    return header, io.BufferedReader(_Rejoined(b"".join(lines), source), BLOCK)


class _Rejoined(io.RawIOBase):
    """Bytes that were read already, and then the rest of their stream."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        super().__init__()
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = len(buffer)
        part = self._head[:size] or self._rest.read(size)
        self._head = self._head[size:]
        buffer[: len(part)] = part
        return len(part)


def _check_header(name: str, header: Sequence[str]) -> None:
    """Refuse a file without a header, and one whose columns are not separated by commas."""
    if not header:
        raise InvalidArgumentError(f"file {name!r}", "be CSV text with a header", "no text")
    other = next((sign for sign in ";\t|" if sign in header[0]), None)
    if len(header) == 1 and other:
        rule = f"have commas between columns, not {other!r}"
        raise InvalidArgumentError(f"file {name!r}", rule, header[0])


def _csv_batches(
    name: str,
    header: Sequence[str],
    stream: Any,
    kinds: dict[str, pa.DataType],
    progress: Progress | None = None,
) -> Iterator[pa.RecordBatch]:
    """Yield batches of some columns of an opened CSV file or stream.

    Where there is one column, an empty line is a missing value.
    """
    for column in kinds:
        if header.count(column) > 1:
            raise InvalidArgumentError(f"file {name!r}", "name every column once", column)
    yield _empty(pa.schema(list(kinds.items())))
    size = stream.size() if isinstance(stream, pa.NativeFile) else 0
    try:
        with (
            stream,
            pa_csv.open_csv(
                stream,
                # several threads would lose count of the lines, which errors name
                read_options=pa_csv.ReadOptions(block_size=BLOCK, use_threads=False),
                parse_options=pa_csv.ParseOptions(
                    newlines_in_values=True, ignore_empty_lines=len(header) > 1
                ),
                convert_options=pa_csv.ConvertOptions(
                    column_types=kinds, include_columns=list(kinds)
                ),
            ) as batches,
        ):
            for number, batch in enumerate(batches, 1):  # one per block; the stream is far ahead
                yield batch
                if progress and size:
                    progress(min(number * BLOCK / size, 1.0))
    except pa.ArrowInvalid as error:
        raise _refused(name, header, kinds, str(error)) from None


def _refused(
    name: str, header: Sequence[str], kinds: dict[str, pa.DataType], text: str
) -> InvalidArgumentError:
    """Return what an error of Arrow's reader means to whoever made the file."""
    line, value, size = _LINE.search(text), _VALUE.search(text), _SIZE.search(text)
    place = f"file {name!r}" + (f" at line {line[1]}" if line else "")
    if size:
        rule = f"have {len(header)} columns, as the header"
        return InvalidArgumentError(place, rule, int(size[1]))
    numbers = [column for column, kind in kinds.items() if kind != pa.string()]
    rule = f"hold numbers in {numbers}" if numbers else "be CSV text in UTF-8"
    if value and value[1].lower() in ("true", "false"):
        rule += ", 0 and 1 for truth values"
    return InvalidArgumentError(place, rule, value[1] if value else text)


def text_numbers(name: str, column: str, array: pa.Array) -> pa.Array:
    """Return the numbers of a column of texts, as `_csv_batches` does for a file of this name."""
    missing = pa.array(pa_csv.ConvertOptions().null_values, array.type)
    texts = pc.utf8_trim_whitespace(array)
    given = pc.if_else(pc.is_in(texts, missing), pa.scalar(None, array.type), texts)
    try:
        return given.cast(pa.float64())
    except pa.ArrowInvalid as error:
        value = _VALUE.search(str(error))
        rule = f"hold numbers in {[column]}"
        raise InvalidArgumentError(f"file {name!r}", rule, value[1] if value else "") from None


def text_answers(question: Answers, array: pa.Array) -> pa.Array:
    """Return texts with gaps where a file of text has what stands for a missing value.

    What is the label of an answer, such as "None", is no missing value.
    """
    gaps = set(pa_csv.ConvertOptions().null_values) - set(question.labels)
    texts = pc.utf8_trim_whitespace(array)
    missing = pc.is_in(texts, pa.array(sorted(gaps), array.type))
    return pc.if_else(missing, pa.scalar(None, array.type), array)


def _empty(schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], schema=schema)
