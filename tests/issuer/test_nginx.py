"""An issuer behind nginx with TLS, as its page shows it."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from noutput.campaign.enrollment import DIRECTORY_PATH
from noutput.issuer.server import running
from tests.campaign.tokens import anonymous_campaign, issuer_key
from tests.collector.nginx import Proxy, ask, has_ipv6, nginx, wait_for

BURST = 50
ENROLL = """
import sys
from pathlib import Path
from noutput.campaign import Campaign, Ledger, Route, enroll
with Ledger(None) as ledger:
    campaign = Campaign.from_json(Path(sys.argv[1]).read_bytes())
    print(len(enroll(campaign, ledger, "code", Route(attempts=1))))
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    folder = tmp_path_factory.mktemp("nginx")
    with running(issuer_key(), lambda credential, _: credential == "code") as address:
        here = {"127.0.0.1:8001": address.removeprefix("http://"), "rate=10r/s": "rate=1r/m"}
        with nginx(folder, {"issuer.conf": here}) as found:
            wait_for(found, DIRECTORY_PATH)
            yield found


def test_a_person_enrolls_through_it(proxy: Proxy) -> None:
    document = proxy.folder / "campaign.json"
    document.write_text(anonymous_campaign(issuer=proxy.url).to_json())
    done = subprocess.run(
        [sys.executable, "-c", ENROLL, str(document)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "SSL_CERT_FILE": str(proxy.certificate)}, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "472\n"), done.stderr


def test_an_address_that_asks_too_often_is_told_so_and_not_written_down(
    proxy: Proxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    found = [ask(proxy, DIRECTORY_PATH, "127.0.0.2").status for _ in range(BURST + 5)]
    assert found[:BURST] == [200] * BURST
    assert found[-1] == 429
    assert ask(proxy, DIRECTORY_PATH, "127.0.0.3").status == 200
    for log in ("error.log", "main.log"):
        assert "127.0.0.2" not in (proxy.folder / log).read_text()
    assert "127.0.0.2" not in caplog.text


def test_large_bodies_do_not_reach_the_issuer(proxy: Proxy) -> None:
    assert ask(proxy, DIRECTORY_PATH, "127.0.0.4", **{"Content-Length": "1025"}).status == 413


def test_what_it_adds_to_answers(proxy: Proxy) -> None:
    answer = ask(proxy, DIRECTORY_PATH, "127.0.0.5")
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert answer.headers["Server"] == "nginx"  # without a version


def test_it_listens_on_ipv6_as_well(proxy: Proxy) -> None:
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    assert ask(proxy, DIRECTORY_PATH, "::1").status == 200
