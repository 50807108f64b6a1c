"""Another implementation of RFC 9474 understands the issuer and the client, and is understood."""

from __future__ import annotations

import base64
import json
import secrets
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest

from noutput.campaign import Ledger, draw_report, enroll
from noutput.campaign.enrollment import REQUEST_TYPE, make_secret, token_from, token_request
from noutput.campaign.tokens import key_id, read_token, signed_part, write_token
from noutput.collector.ingest.admission import gate
from noutput.issuer.server import running
from tests.campaign.tokens import anonymous_campaign, issuer_key

pytestmark = pytest.mark.slow
FOLDER = Path(__file__).parent / "interop"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The other implementation, installed as its lock file says."""
    found = tmp_path_factory.mktemp("interop")
    shutil.copytree(FOLDER, found, dirs_exist_ok=True)
    npm = shutil.which("npm")
    assert npm is not None, "npm is needed"
    subprocess.run(
        [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=found, check=True
    )
    return found


def call(folder: Path, **step: Any) -> dict[str, Any]:
    node = shutil.which("node")
    assert node is not None, "node is needed"
    done = subprocess.run(
        [node, "interop.js"], cwd=folder, input=json.dumps(step), text=True,
        capture_output=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def number(value: int) -> str:
    data = value.to_bytes(-(-value.bit_length() // 8))
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def keys() -> tuple[dict[str, str], dict[str, str]]:
    """The issuer's key as JSON web keys: public, and private."""
    key = issuer_key()._key.private_numbers()
    public = {"kty": "RSA", "n": number(key.public_numbers.n), "e": number(key.public_numbers.e)}
    private = {name: number(getattr(key, name)) for name in ("d", "p", "q")}
    rest = {"dp": number(key.dmp1), "dq": number(key.dmq1), "qi": number(key.iqmp)}
    return public, {**public, **private, **rest}


def test_another_client_gets_a_token_of_this_issuer(folder: Path) -> None:
    with running(issuer_key(), lambda *_: True) as address:
        campaign = anonymous_campaign(issuer=address)
        nonce = secrets.token_bytes(32)
        message = signed_part(campaign, nonce)
        public, _ = keys()
        blinded = call(folder, do="blind", key=public, message=message.hex())
        body = b"\0\2" + key_id(campaign)[-1:] + bytes.fromhex(blinded["blinded"])
        headers = {"Content-Type": REQUEST_TYPE}
        answer = httpx.post(f"{address}/token-request", content=body, headers=headers)
    assert answer.headers["content-type"] == "application/private-token-response"
    rest = {"signature": answer.content.hex(), "inv": blinded["inv"]}
    done = call(folder, do="finalize", key=public, message=message.hex(), **rest)
    assert done["good"]
    token = write_token(campaign, nonce + bytes.fromhex(done["signature"]))
    gate(campaign)([read_token(campaign, token)], False)
    assert draw_report(campaign, "yes", token).token == token


def test_this_client_gets_a_token_of_another_issuer(folder: Path) -> None:
    campaign = anonymous_campaign()
    secret = make_secret(campaign)
    _, private = keys()
    blinded = token_request(campaign, secret)[3:].hex()
    done = call(folder, do="sign", key=private, blinded=blinded)
    token = token_from(campaign, secret, bytes.fromhex(done["signature"]))
    gate(campaign)([read_token(campaign, token)], False)


def test_the_command_serves_until_it_is_told_to_stop(tmp_path: Path) -> None:
    issuer_key().save(tmp_path / "issuer.key")
    (tmp_path / "codes.txt").write_text("only-code\n")
    command = [sys.executable, "-m", "noutput", "issuer", "serve", "issuer.key"]
    server = subprocess.Popen(
        [*command, "--codes", "codes.txt", "--port", "0"],
        cwd=tmp_path, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert server.stdout is not None
    try:
        address = server.stdout.readline().removeprefix("Signing at ").strip()
        campaign = anonymous_campaign(issuer=address)
        with Ledger(None) as ledger:
            token = enroll(campaign, ledger, "only-code")
        gate(campaign)([read_token(campaign, token)], False)
    finally:
        server.terminate()
        server.wait(30)
        server.stdout.close()
    assert (tmp_path / "codes.txt.used").stat().st_mode & 0o777 == 0o600
