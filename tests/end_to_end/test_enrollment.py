"""A collector, an issuer, and enrolled people with clients in both languages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from noutput.cli import noutput
from noutput.collector.server import Options, running
from noutput.issuer import server as issuer
from noutput.issuer.codes import Codes
from tests.campaign.tokens import anonymous_campaign, issuer_key, token_campaign
from tests.end_to_end.browser import chromium
from tests.end_to_end.elsewhere import elsewhere

CODES = ["first-code", "second-code", "third-code"]


def report(url: str, ledger: Path, *options: str) -> str:
    arguments = ["report", url, "--value", "yes", "--ledger", str(ledger), "--attempts", "1"]
    done = CliRunner().invoke(noutput, [*arguments, *options], catch_exceptions=True)
    return done.output if done.exit_code == 0 else f"{done.exception}"


def test_everybody_who_is_enrolled_reports_once(tmp_path: Path) -> None:
    (tmp_path / "codes").write_text("\n".join(CODES))
    codes = Codes(tmp_path / "codes", tmp_path / "used")
    with issuer.running(issuer_key(), codes) as address:
        campaign = anonymous_campaign(issuer=address)
        document = tmp_path / "late.json"
        document.write_text(campaign.to_json())
        options = Options(str(tmp_path / "reports.db"), port=0, campaigns=(document,))
        with running(options) as collector:
            url = f"{collector.url}/campaigns/late"
            assert "Enrolled" in report(url, tmp_path / "one", "--code", CODES[0], "--enroll")
            assert "counted (id" in report(url, tmp_path / "one")
            assert "counted before (id" in report(url, tmp_path / "one")
            assert "401" in report(url, tmp_path / "two", "--code", CODES[0])
            node = shutil.which("node")
            assert node is not None
            script = Path(__file__).parent / "enrolled.js"
            done = subprocess.run(
                [node, script, url, CODES[1]], capture_output=True, text=True, check=False
            )
            assert done.returncode == 0, done.stderr
            found = json.loads(done.stdout)
            assert (found["accepted"], found["repeated"]) == ([1, 0], 1)
            stolen = report(url, tmp_path / "three", "--token", found["token"])
            assert "counted before" in stolen
            (row,) = collector.store.campaigns()
            assert sum(collector.store.counts(row.key).values()) == 2
    codes.close()


def test_tokens_are_issued_from_the_shell(tmp_path: Path) -> None:
    document = tmp_path / "late.json"
    document.write_text(token_campaign().to_json())
    database = str(tmp_path / "reports.db")
    with running(Options(database, port=0, campaigns=(document,))) as collector:
        url = f"{collector.url}/campaigns/late"
        arguments = ["token", "issue", "late", "--count", "2", "--database", database]
        done = CliRunner().invoke(noutput, [*arguments, "--output", str(tmp_path / "tokens")])
        assert done.exit_code == 0, done.output
        assert "2 new tokens of late" in done.output
        first, second = (tmp_path / "tokens").read_text().split()
        assert (tmp_path / "tokens").stat().st_mode & 0o777 == 0o600
        assert "counted (id" in report(url, tmp_path / "one", "--token", first)
        assert "counted (id" in report(url, tmp_path / "two", "--token", second)
        assert "token must be given" in report(url, tmp_path / "three")
        done = CliRunner().invoke(noutput, ["simulate", url])
        assert "simulated people have no tokens" in done.output
        done = CliRunner().invoke(noutput, arguments)
        assert re.findall(r"^[\w-]{24}$", done.output, re.MULTILINE)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["issue", "nothing"], "campaign must be the id of a campaign; found 'nothing'"),
        (["issue", "late", "--database", "nowhere.db"], "there is no database nowhere.db"),
    ],
)
def test_tokens_of_nothing_are_refused(
    tmp_path: Path, arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from noutput.collector.store import open_store

    monkeypatch.chdir(tmp_path)
    open_store("noutput.db").close()
    done = CliRunner().invoke(noutput, ["token", *arguments])
    assert done.exit_code
    assert message in f"{done.output}{done.exception}"


def test_an_issuer_has_a_key_and_codes(tmp_path: Path) -> None:
    run = CliRunner().invoke
    done = run(noutput, ["issuer", "keygen", str(tmp_path / "issuer.key")])
    assert re.search(r'^key = "[\w-]{456}"$', done.output, re.MULTILINE)
    codes = run(noutput, ["issuer", "codes", "--count", "3"]).output.split()
    assert len(set(codes)) == 3
    done = run(noutput, ["issuer", "serve", str(tmp_path / "issuer.key")])
    assert "Give either --codes or --admit." in done.output


ENROLL = """
async ({ url, credential }) => {
  const noutput = await import("/noutput.min.js");
  const { admit, enroll } = await import("/enroll.js");
  const campaign = await noutput.fetchCampaign(url);
  const token = await enroll(campaign, { credential });
  const same = await enroll(campaign, { credential });
  const client = new noutput.Client(campaign, { policy: { epsilon: 2, total: 2 } });
  const admitted = await admit(campaign, token);
  const { accepted, reports } = await client.submit(url, "yes", { admitted });
  return [accepted, token === same, reports[0].token === token];
}
"""


@pytest.mark.slow
def test_a_page_of_another_origin_enrolls_and_reports(tmp_path: Path) -> None:
    shutil.copy("clients/js/enroll.js", tmp_path)
    (tmp_path / "codes").write_text("\n".join(CODES))
    codes = Codes(tmp_path / "codes", tmp_path / "used")
    with issuer.running(issuer_key(), codes) as address:
        document = tmp_path / "late.json"
        document.write_text(anonymous_campaign(issuer=address).to_json())
        options = Options(str(tmp_path / "reports.db"), port=0, campaigns=(document,))
        with running(options) as collector, elsewhere(tmp_path) as site, chromium() as browser:
            page = browser.new_page()
            page.goto(site)
            values = {"url": f"{collector.url}/campaigns/late", "credential": CODES[0]}
            assert page.evaluate(ENROLL, values) == [1, True, True]
            page.close()
    codes.close()
