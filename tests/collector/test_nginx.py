"""Two collectors on PostgreSQL behind nginx with TLS, as the deployment page shows it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.campaign.examples import late_campaign
from tests.collector.nginx import Proxy, ask, has_ipv6, nginx, wait_for
from tests.collector.postgresql import PostgresqlServer
from tests.collector.process import Running, launch
from tests.docs.blocks import ROOT
from tests.jvm.conftest import Machine, machine  # noqa: F401 (a fixture)

BURST = 16
NODE = shutil.which("node")
_ANSWER = """
import {{ Client, fetchCampaign }} from "{client}";
const campaign = await fetchCampaign("{url}");
const policy = {{ epsilon: 8, total: 8, days: 30 }};
const client = new Client(campaign, {{ policy, storage: new Map() }});
console.log(JSON.stringify(await client.submit("{url}", "yes")));
"""

pytestmark = pytest.mark.slow


@dataclass
class Behind:
    proxy: Proxy
    servers: list[Running]
    database: str


@pytest.fixture(scope="module")
def behind(
    postgresql: PostgresqlServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Behind]:
    folder = tmp_path_factory.mktemp("nginx")
    (folder / "late.json").write_text(late_campaign().to_json())
    database = postgresql.new_database()
    servers = [start(database, folder) for _ in range(2)]
    try:
        ports = {
            f":{port};": f":{server.port};"
            for port, server in zip((8001, 8002), servers, strict=True)
        }
        with nginx(folder, {"noutput.conf": {}, "upstream.conf": ports}) as proxy:
            wait_for(proxy, "/health")
            yield Behind(proxy, servers, database)
    finally:
        for server in servers:
            server.process.terminate()
            server.process.wait(30)


def start(database: str, folder: Path, port: int = 0) -> Running:
    limits = ("--rate", "0.001", "--burst", str(BURST), "--trusted-proxy", "127.0.0.1")
    return launch(database, "--campaign", str(folder / "late.json"), *limits, port=port)


def run(command: list[str], proxy: Proxy, given: str = "", **more: str) -> str:
    environment = {**os.environ, "SSL_CERT_FILE": str(proxy.certificate),
                   "NODE_EXTRA_CA_CERTS": str(proxy.certificate), **more}  # fmt: skip
    done = subprocess.run(
        command, cwd=proxy.folder, env=environment, input=given, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def report_python(proxy: Proxy, ledger: str) -> str:
    noutput = [sys.executable, "-m", "noutput", "report", f"{proxy.url}/campaigns/late"]
    kept = str(proxy.folder / ledger)
    return run(
        [*noutput, "--value", "yes", "--epsilon", "8", "--total", "8", "--ledger", kept], proxy
    )


def received(proxy: Proxy, servers: list[Running]) -> int:
    token = next(each.token for each in servers if each.token is not None)
    command = [sys.executable, "-m", "noutput", "campaign", "list", "--collector", proxy.url]
    found = json.loads(run([*command, "--json"], proxy, NOUTPUT_TOKEN=token))
    (campaign,) = found["campaigns"]
    return int(campaign["received"])


def test_python_and_javascript_report_through_it(behind: Behind) -> None:
    proxy, servers = behind.proxy, behind.servers
    before = received(proxy, servers)
    report_python(proxy, "first.db")
    assert received(proxy, servers) == before + 1
    if NODE is None:
        pytest.skip("node is not installed")
    client = (ROOT / "clients" / "js" / "noutput.js").as_uri()
    script = proxy.folder / "answer.mjs"
    script.write_text(_ANSWER.format(client=client, url=f"{proxy.url}/campaigns/late"))
    run([NODE, str(script)], proxy)
    assert received(proxy, servers) == before + 2


def test_the_jvm_reports_through_it(
    behind: Behind,
    machine: Machine,  # noqa: F811 (the fixture)
) -> None:
    proxy, servers = behind.proxy, behind.servers
    before = received(proxy, servers)
    task = json.dumps({"url": f"{proxy.url}/campaigns/late", "values": "yes", "epsilon": 8})
    unknown = run(machine.command("Taking"), proxy, task.replace("}", ', "attempts": 1}'))
    assert unknown.startswith("DeliveryException: no answer from https://")
    trusted = proxy.folder / "trusted.p12"
    run(["keytool", "-importcert", "-noprompt", "-alias", "proxy", "-storepass", "changeit",
         "-file", str(proxy.certificate), "-keystore", str(trusted)], proxy)  # fmt: skip
    store = "-Djavax.net.ssl.trustStore"
    setting = f"{store}={trusted} {store}Password=changeit"
    told = run(machine.command("Taking"), proxy, task, JAVA_TOOL_OPTIONS=setting)
    assert told == "accepted 1, repeated 0\n"
    assert received(proxy, servers) == before + 1


def test_limits_are_those_of_the_client_and_not_of_the_proxy(
    behind: Behind,
) -> None:
    proxy = behind.proxy
    # each of two processes has limits of its own
    found = [ask(proxy, "/health", "127.0.0.2").status for _ in range(2 * BURST + 2)]
    assert found[: 2 * BURST - 2] == [200] * (2 * BURST - 2)
    assert found[-1] == 429
    assert ask(proxy, "/health", "127.0.0.3").status == 200
    spoofed = {"X-Forwarded-For": "198.51.100.7", "Forwarded": "for=198.51.100.7"}
    assert ask(proxy, "/health", "127.0.0.2", **spoofed).status == 429
    for log in ("error.log", "main.log"):
        assert "127.0.0.2" not in (proxy.folder / log).read_text()


def test_what_it_adds_to_answers(behind: Behind) -> None:
    proxy = behind.proxy
    answer = ask(proxy, "/health", "127.0.0.4")
    assert answer.headers["Strict-Transport-Security"] == "max-age=31536000"
    assert answer.headers["Server"] == "nginx"  # without a version


def test_it_listens_on_ipv6_as_well(behind: Behind) -> None:
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    assert ask(behind.proxy, "/health", "::1").status == 200


def test_reports_are_counted_where_a_collector_ends(behind: Behind) -> None:
    proxy, servers = behind.proxy, behind.servers
    before = received(proxy, servers)
    servers[0].process.terminate()
    servers[0].process.wait(30)
    try:
        for place in range(3):
            report_python(proxy, f"later-{place}.db")
        assert received(proxy, servers) == before + 3
    finally:
        token = servers[0].token
        servers[0] = start(behind.database, proxy.folder, servers[0].port)
        servers[0].token = token
