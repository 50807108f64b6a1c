"""Runs the JavaScript client's own tests, on the readable and on the small file."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path

import pytest

from noutput.campaign import Campaign
from noutput.errors import NoutputError
from tests.campaign.examples import example_campaigns
from tests.campaign.spellings import edited

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize("module", ["noutput.js", "noutput.min.js"])
def test_the_clients_own_tests_pass(module: str) -> None:
    assert NODE
    done = subprocess.run(
        [NODE, "--test"], cwd=CLIENT, env={**os.environ, "NOUTPUT_MODULE": module},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ran = re.search(r"^\S tests (\d+)$", done.stdout, re.MULTILINE)
    assert ran
    assert int(ran[1]) >= 25


def is_read(document: bytes) -> bool:
    try:
        Campaign.from_json(document)
    except NoutputError:
        return False
    return True


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_both_clients_refuse_the_same_documents() -> None:
    assert NODE
    rng = random.Random(20_260_301)  # noqa: S311 (documents of a test)
    texts = [campaign.to_json() for campaign in example_campaigns()]
    documents = [edited(rng, texts[number % 2]) for number in range(4000)]
    done = subprocess.run(
        [NODE, "testing/verdicts.js"], cwd=CLIENT, capture_output=True, text=True, check=True,
        input=json.dumps([b64encode(each).decode() for each in documents]), timeout=120,
    )  # fmt: skip
    python = [is_read(each) for each in documents]
    javascript = json.loads(done.stdout)
    differ = [d for d, p, j in zip(documents, python, javascript, strict=True) if p != j]
    assert differ == []
    assert 100 < sum(python) < 3900  # some of them are read


def test_the_small_file_is_small_and_made_from_the_source() -> None:
    small = (CLIENT / "noutput.min.js").read_bytes()
    digest = hashlib.sha256((CLIENT / "noutput.js").read_bytes()).hexdigest()
    assert len(small) < 8000
    assert digest.encode() in small.splitlines()[0], "run clients/js/build.js"


def test_every_name_has_a_type() -> None:
    source = (CLIENT / "noutput.js").read_text(encoding="utf-8")
    types = (CLIENT / "noutput.d.ts").read_text(encoding="utf-8")
    for line in source.splitlines():
        if line.startswith("export "):
            words = line.removeprefix("export ").removeprefix("async ").split()
            assert f"export {words[0]} {words[1].split('(')[0]}" in types
