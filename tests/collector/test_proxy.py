"""Behind a reverse proxy: whose forwarding headers are believed."""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from noutput.campaign import Campaign
from noutput.collector.server import Options
from noutput.errors import InvalidArgumentError
from tests.collector.process import Running, running

BURST = 4


def start(folder: Path, campaign: Campaign, *options: str) -> AbstractContextManager[Running]:
    document = folder / "commute.json"
    document.write_text(campaign.to_json())
    limited = ("--rate", "0.001", "--burst", str(BURST), *options)
    return running(str(folder / "reports.db"), document, *limited)


@pytest.fixture(scope="module")
def behind(tmp_path_factory: pytest.TempPathFactory, campaign: Campaign) -> Iterator[Running]:
    """A collector that this machine is a trusted proxy for."""
    folder = tmp_path_factory.mktemp("behind")
    with start(folder, campaign, "--trusted-proxy", "127.0.0.1") as server:
        yield server


def call(
    server: Running, path: str, headers: dict[str, str], body: str | None = None
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET" if body is None else "POST", path, body, headers)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def statuses(server: Running, *addresses: str) -> list[int]:
    """Ask for each address in turn, as a proxy would that forwards it."""
    return [call(server, "/health", {"X-Forwarded-For": each}).status for each in addresses]


def sign_in(server: Running, **headers: str) -> str:
    assert server.token is not None
    form = {"Content-Type": "application/x-www-form-urlencoded", **headers}
    answer = call(server, "/sign-in", form, urlencode({"token": server.token}))
    assert answer.status == 303
    return answer.headers["set-cookie"]


def test_clients_behind_a_trusted_proxy_have_limits_of_their_own(behind: Running) -> None:
    assert statuses(behind, *["192.0.2.1"] * (BURST + 1)) == [200] * BURST + [429]
    assert statuses(behind, *["192.0.2.2"] * (BURST + 1)) == [200] * BURST + [429]
    assert statuses(behind, "2001:db8::1", "192.0.2.1") == [200, 429]


def test_what_a_client_writes_before_the_proxys_word_is_not_believed(behind: Running) -> None:
    spoofed = [f"198.51.100.{i}, 127.0.0.1, 192.0.2.3" for i in range(BURST + 1)]
    assert statuses(behind, *spoofed) == [200] * BURST + [429]


def test_the_cookie_is_secure_where_a_trusted_proxy_speaks_https(behind: Running) -> None:
    client = {"X-Forwarded-For": "192.0.2.4"}
    assert "; Secure" in sign_in(behind, **client, **{"X-Forwarded-Proto": "https"})
    assert "; Secure" not in sign_in(behind, **client, **{"X-Forwarded-Proto": "http"})
    assert "; Secure" not in sign_in(behind, **client)


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--trusted-proxy", "192.0.2.0/24")])
def test_nobody_else_chooses_an_address_or_a_scheme(
    tmp_path: Path, campaign: Campaign, options: tuple[str, ...]
) -> None:
    with start(tmp_path, campaign, *options) as server:
        assert "; Secure" not in sign_in(server, **{"X-Forwarded-Proto": "https"})
        spoofed = [f"198.51.100.{i}" for i in range(BURST)]
        assert statuses(server, *spoofed) == [200] * (BURST - 1) + [429]
        forwarded = {"Forwarded": "for=198.51.100.99", "X-Real-IP": "198.51.100.98"}
        assert call(server, "/health", forwarded).status == 429


@pytest.mark.parametrize("address", ["*", "", "nginx", "127.0.0.1:8000", "10.0.0.1/8", "::1/200"])
def test_a_proxy_is_named_by_its_address(address: str) -> None:
    with pytest.raises(InvalidArgumentError, match="trusted_proxies must be"):
        Options(database="x.db", trusted_proxies=(address,))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "10.0.0.0/8", "fd00::/8"])
def test_addresses_and_networks_are_fine(address: str) -> None:
    assert Options(database="x.db", trusted_proxies=(address,)).trusted_proxies == (address,)
