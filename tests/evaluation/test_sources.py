"""Downloads and conversions, on small originals from a server on this machine."""

from __future__ import annotations

import gzip
import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest

from noutput.errors import InvalidArgumentError
from noutput.evaluation import datasets, sources
from noutput.evaluation.sources import SOURCES, Member, MissingDataError, fetch

TRAIN = b"39, State-gov, 77516, Bachelors, 13, N, A, N, W, M, 2174, 0, 40, US, <=50K\n\n"
TEST = b"|1x3 Cross validator\n25, Private, 226802, 11th, 7, N, M, O, B, M, 0, 0, 38, US, <=50K.\n"
NEWS = b"url, timedelta, shares\nhttp://a/, 731.0, 593\n"
HOUSES = (
    "url,id,Lng,Lat,Cid,tradeTime,DOM,followers,totalPrice,price,square,livingRoom,drawingRoom,"
    "kitchen,bathRoom,floor,buildingType,constructionTime,renovationCondition,buildingStructure,"
    "ladderRatio,elevator,fiveYearsProperty,subway,district,communityAverage\n"
    "u,1,116.4,40.0,2,2016,,1,415,31680,131,2,1,1,1,\u9ad8 26,1,\u672a\u77e5,3,6,0.2,1,nan,1,7,"
    "56021\n"
).encode("gbk")


def packed(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


@pytest.fixture
def address() -> Iterator[str]:
    files = {
        "/adult.zip": packed({"adult.data": TRAIN, "adult.test": TEST}),
        "/news.zip": packed({"OnlineNewsPopularity/OnlineNewsPopularity.csv": NEWS}),
        "/other.zip": packed({"readme": b""}),
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = files.get(self.path)
            self.send_response(200 if content else 404)
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (its name there)
            del format, args

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def known(name: str, *contents: bytes, **changes: Any) -> sources.Source:
    """Return a source whose hashes are those of small originals."""
    source = SOURCES[name]
    members = tuple(
        Member(member.name, hashlib.sha256(content).hexdigest())
        for member, content in zip(source.members, contents, strict=True)
    )
    return replace(source, members=members, **changes)


def use(monkeypatch: pytest.MonkeyPatch, name: str, source: sources.Source) -> None:
    monkeypatch.setattr(sources, "SOURCES", {**SOURCES, name: source})


def lines(path: Path) -> list[str]:
    return gzip.decompress(path.read_bytes()).decode().splitlines()


def test_adult(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "adult", known("adult", TRAIN, TEST, url=f"{address}/adult.zip"))
    path = fetch("adult", tmp_path)
    assert lines(path) == [
        "age,fnlwgt,education-num,capital-gain,capital-loss,hours-per-week",
        "39,77516,13,2174,0,40",
        "25,226802,7,0,0,38",
    ]
    assert datasets.load("adult", tmp_path).people == 2


def test_online_news(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, "online_news", known("online_news", NEWS, url=f"{address}/news.zip"))
    assert lines(fetch("online_news", tmp_path)) == ["timedelta,shares", "731.0,593"]


def test_an_unknown_file_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "adult", replace(SOURCES["adult"], url=f"{address}/adult.zip"))
    with pytest.raises(InvalidArgumentError, match=r"adult\.data must have the SHA-256 5b0026"):
        fetch("adult", tmp_path)
    assert not (tmp_path / "adult.csv.gz").exists()


def test_an_archive_without_the_file_is_refused(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "adult", replace(SOURCES["adult"], url=f"{address}/other.zip"))
    with pytest.raises(InvalidArgumentError, match=r"must contain adult\.data"):
        fetch("adult", tmp_path)


def test_a_failed_download_says_what_else_helps(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use(monkeypatch, "adult", replace(SOURCES["adult"], url=f"{address}/gone.zip"))
    with pytest.raises(MissingDataError, match=r"gone\.zip could not be downloaded.*NOUTPUT_DATA"):
        fetch("adult", tmp_path)


def test_the_users_own_file_is_converted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is no number, such as the Chinese word for unknown, counts as missing."""
    use(monkeypatch, "beijing_housing", known("beijing_housing", HOUSES))
    (tmp_path / "new.csv").write_bytes(HOUSES)
    header, row = lines(fetch("beijing_housing", tmp_path))
    cells = dict(zip(header.split(","), row.split(","), strict=True))
    assert len(cells) == 21
    assert (cells["DOM"], cells["constructionTime"], cells["fiveYearsProperty"]) == ("", "", "")
    assert (cells["Lng"], cells["communityAverage"]) == ("116.4", "56021")


class Sheet:
    """What xlrd makes of the credit file."""

    rows: ClassVar[list[list[object]]] = [
        ["", "X1", "Y"],
        ["ID", "LIMIT_BAL", "default payment next month"],
        [1.0, 20000.0, 0.5],
    ]
    nrows = len(rows)

    def row_values(self, place: int) -> list[object]:
        return self.rows[place]


class Reader:
    """Stands for xlrd, which reads only what it cannot write."""

    def open_workbook(self, *, file_contents: bytes) -> Reader:
        assert file_contents == b"a sheet"
        return self

    def sheet_by_index(self, place: int) -> Sheet:
        assert place == 0
        return Sheet()


def test_credit_keeps_all_but_the_row_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "need", lambda _module, _extra: Reader())
    assert list(SOURCES["credit"].convert(b"a sheet")) == [
        ["LIMIT_BAL", "default.payment.next.month"],
        ["20000", "0.5"],
    ]
