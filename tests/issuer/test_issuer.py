"""An issuer that is called over HTTP, by devices and by strangers."""

from __future__ import annotations

import os
import socket
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from noutput.campaign import Campaign, Client, Ledger, Route, enroll
from noutput.campaign.enrollment import DIRECTORY_PATH, REQUEST_TYPE, make_secret, token_request
from noutput.campaign.tokens import read_token
from noutput.collector.http.limits import Limits
from noutput.collector.ingest.admission import gate
from noutput.errors import DeliveryError, InvalidArgumentError
from noutput.issuer.codes import Codes, new_code
from noutput.issuer.keys import IssuerKey
from noutput.issuer.server import load_hook, running
from tests.campaign.examples import NOW
from tests.campaign.tokens import anonymous_campaign, issuer_key

CODES = ["kiosk-0001", "kiosk-0002", "kiosk-0003"]
ONCE = Route(attempts=1)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("issuer")
    (folder / "codes.txt").write_text("\n".join(CODES))
    return folder


@pytest.fixture(scope="module")
def address(used: Path) -> Iterator[str]:
    codes = Codes(used / "codes.txt", used / "used.db")
    with running(issuer_key(), codes) as found:
        yield found
    codes.close()


@pytest.fixture(scope="module")
def campaign(address: str) -> Campaign:
    return anonymous_campaign(issuer=address)


def post(address: str, body: bytes, code: str = "", media: str = REQUEST_TYPE) -> httpx.Response:
    headers = {"Content-Type": media}
    if code:
        headers["Authorization"] = f"Bearer {code}"
    return httpx.post(f"{address}/token-request", content=body, headers=headers)


def test_a_person_gets_one_token_per_code(campaign: Campaign, tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger") as ledger:
        token = enroll(campaign, ledger, CODES[0], ONCE)
        gate(campaign)([read_token(campaign, token)], False)
        assert enroll(campaign, ledger, "", ONCE) == token  # from the ledger
        report = Client(campaign, ledger, clock=lambda: NOW).report("yes", token)
        assert enroll(campaign, ledger, CODES[0], ONCE) == token  # from the report
        assert report.token == token
        assert ledger.pending() == [report]
    with Ledger(tmp_path / "ledger") as ledger:
        assert ledger.pending() == [report]
    with Ledger(None) as other, pytest.raises(DeliveryError, match="status 401") as caught:
        enroll(campaign, other, CODES[0], ONCE)
    assert CODES[0] not in str(caught.value)


def test_whoever_is_interrupted_gets_the_same_token(campaign: Campaign, address: str) -> None:
    secret = make_secret(campaign)
    body = token_request(campaign, secret)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: post(address, body, CODES[1]), range(4)))
    assert {answer.status_code for answer in answers} == {200}
    assert len({answer.content for answer in answers}) == 1
    other = token_request(campaign, make_secret(campaign))
    assert post(address, other, CODES[1]).status_code == 401


def test_used_codes_stay_used(tmp_path: Path) -> None:
    (tmp_path / "codes.txt").write_text("\n".join(CODES))
    for request, admitted in ((b"one", True), (b"another", False), (b"one", True)):
        codes = Codes(tmp_path / "codes.txt", tmp_path / "used.db")
        assert codes(CODES[1], request) is admitted
        codes.close()
    data = (tmp_path / "used.db").read_bytes()
    assert not any(code.encode() in data for code in CODES)


def test_the_directory_is_that_of_the_rfc(address: str) -> None:
    answer = httpx.get(address + DIRECTORY_PATH)
    assert answer.headers["content-type"] == "application/private-token-issuer-directory"
    assert answer.json() == {
        "issuer-request-uri": "/token-request",
        "token-keys": [{"token-type": 2, "token-key": issuer_key().public}],
    }
    preflight = httpx.options(f"{address}/token-request")
    assert preflight.status_code == 204
    assert preflight.headers["access-control-allow-origin"] == "*"


def connect(address: str, sent: bytes) -> socket.socket:
    host, port = address.removeprefix("http://").rsplit(":", 1)
    connection = socket.create_connection((host, int(port)), timeout=30)
    connection.sendall(sent)
    return connection


HEAD = f"POST /token-request HTTP/1.1\r\nContent-Type: {REQUEST_TYPE}\r\nContent-Length: 259\r\n"
UNFINISHED = [b"", HEAD.encode(), f"{HEAD}\r\n".encode()]


@pytest.mark.parametrize("sent", UNFINISHED, ids=["nothing", "half a head", "no body"])
def test_requests_that_never_arrive_shut_nobody_out(
    sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noutput.issuer.server.affordable", lambda _: 4)
    with running(issuer_key(), lambda *_: False) as address, ExitStack() as stack:
        waiting = []
        for _ in range(12):
            waiting.append(stack.enter_context(connect(address, sent)))
            assert httpx.get(address + DIRECTORY_PATH).status_code == 200
        for connection in waiting[:6]:  # the oldest have made room
            with suppress(ConnectionResetError):
                assert connection.recv(1000) == b""


def test_heads_have_the_limits_of_the_collector(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    large = b"GET / HTTP/1.1\r\nX: " + b"x" * Limits().header_bytes + b"\r\n\r\n"
    with connect(address, large) as connection:
        assert connection.recv(65_536).startswith(b"HTTP/1.1 431 ")
    with connect(address, b"nonsense\r\n\r\n") as connection:
        assert connection.recv(65_536).startswith(b"HTTP/1.1 400 ")
    impatient = Limits(header_seconds=0.1, body_seconds=0.1)
    monkeypatch.setattr("noutput.issuer.server.Limits", lambda: impatient)
    with running(issuer_key(), lambda *_: False) as other:
        for sent in UNFINISHED:
            with connect(other, sent) as connection:
                answer = connection.recv(65_536)
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert b"access-control-allow-origin: *" in answer


@pytest.mark.parametrize("code", ["", "kiosk-0004", "Kiosk-0003"])
def test_strangers_get_nothing(campaign: Campaign, address: str, code: str) -> None:
    body = token_request(campaign, make_secret(campaign))
    assert post(address, body, code).status_code == 401


def test_what_is_no_request_is_refused(campaign: Campaign, address: str) -> None:
    good = token_request(campaign, make_secret(campaign))
    wrong_key = good[:2] + bytes([good[2] ^ 1]) + good[3:]
    for body, status in {
        good[:-1]: 422, good + b"x": 413, b"\0\1" + good[2:]: 422, wrong_key: 422, b"": 422,
        good[:3] + b"\xff" * 256: 422, good[:3] + bytes(256): 422,
    }.items():  # fmt: skip
        assert post(address, body, CODES[2]).status_code == status
    assert post(address, good, CODES[2], "application/json").status_code == 415
    assert httpx.get(f"{address}/token-request").status_code == 405
    assert httpx.post(address + DIRECTORY_PATH).status_code == 405
    assert httpx.get(address).status_code == 404
    assert post(address, good, CODES[2]).status_code == 200  # the code was not used up by them


def test_a_device_finds_another_key_out(address: str) -> None:
    other = anonymous_campaign(issuer=address, key=IssuerKey.generate().public)
    with Ledger(None) as ledger, pytest.raises(DeliveryError, match="does not offer"):
        enroll(other, ledger, CODES[2], ONCE)


def test_a_hook_decides() -> None:
    seen: list[tuple[str, bytes]] = []

    def admit(credential: str, request: bytes) -> bool:
        seen.append((credential, request))
        return credential == "member 7"

    with running(issuer_key(), admit) as address:
        campaign = anonymous_campaign(issuer=address)
        with Ledger(None) as ledger, pytest.raises(DeliveryError, match="status 401"):
            enroll(campaign, ledger, route=ONCE)
        with Ledger(None) as ledger:
            enroll(campaign, ledger, "member 7", ONCE)
    assert [credential for credential, _ in seen] == ["", "member 7"]
    assert all(len(request) == 32 for _, request in seen)


async def _later(_credential: str, _request: bytes) -> bool:
    return False


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize(
    "hook", [lambda *_: "no", lambda *_: 1, _later], ids=["text", "1", "later"]
)
def test_nothing_but_true_admits(campaign: Campaign, hook: Any) -> None:
    body = token_request(campaign, make_secret(campaign))
    with running(issuer_key(), hook) as address:
        assert post(address, body, "member 7").status_code == 401


def test_a_hook_that_fails_is_503_and_its_log_names_nobody(
    campaign: Campaign, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    def admit(credential: str, _: bytes) -> bool:
        raise LookupError(credential)

    body = token_request(campaign, make_secret(campaign))
    with running(issuer_key(), admit) as address:
        answer = post(address, body, "member 7")
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (503, "*")
    logged = caplog.text + "".join(capfd.readouterr())
    assert "the hook failed with LookupError (test_issuer.py, line" in logged
    assert "member 7" not in logged


def test_hooks_are_loaded_by_name() -> None:
    hook: object = load_hook("noutput.issuer.codes:new_code")
    assert hook is new_code
    for name in ("noutput.nothing:x", "noutput.issuer.codes:nothing", "", "noutput.issuer.codes"):
        with pytest.raises(InvalidArgumentError, match="admit must be MODULE:FUNCTION"):
            load_hook(name)
    with pytest.raises(InvalidArgumentError, match="admit must name a function"):
        load_hook("noutput.issuer.codes:__all__")
    with pytest.raises(InvalidArgumentError, match="admit must name a function that is not async"):
        load_hook("tests.issuer.test_issuer:_later")


@pytest.mark.parametrize("text", ["short\n", "kiosk-0001\nkiosk-0001\n", "kiosk 0001\n"])
def test_other_codes_are_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "codes.txt").write_text(text)
    with pytest.raises(InvalidArgumentError, match="codes must have"):
        Codes(tmp_path / "codes.txt", tmp_path / "used.db")


def test_files_of_codes_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    codes = tmp_path / "codes.txt"
    codes.write_bytes(b"\xff\xfe" * 10)
    with pytest.raises(InvalidArgumentError, match="codes must be text in UTF-8"):
        Codes(codes, tmp_path / "used.db")
    codes.write_text("\ufeffkiosk-0001\n", encoding="utf-8")  # as some editors begin a file
    other = sqlite3.connect(tmp_path / "other.db")
    other.execute("CREATE TABLE used (something)")
    other.close()
    for used in (tmp_path, tmp_path / "nowhere" / "used.db", tmp_path / "other.db"):
        with pytest.raises(InvalidArgumentError, match="used must be a file of used codes"):
            Codes(codes, used)
    with closing(Codes(codes, tmp_path / "used.db")) as admit:
        assert admit("kiosk-0001", b"a")


def test_keys_are_private_files(tmp_path: Path) -> None:
    file = tmp_path / "issuer.key"
    issuer_key().save(file)
    assert file.stat().st_mode & 0o777 == 0o600
    assert IssuerKey.load(file).public == issuer_key().public
    with pytest.raises(InvalidArgumentError, match="file must not exist yet"):
        issuer_key().save(file)
    if os.name != "nt":
        file.chmod(0o644)
        with pytest.raises(InvalidArgumentError, match="only its owner can read"):
            IssuerKey.load(file)
    file.chmod(0o600)
    file.write_text("no key")
    with pytest.raises(InvalidArgumentError, match="key must be a PEM file"):
        IssuerKey.load(file)
