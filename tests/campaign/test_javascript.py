"""Runs the JavaScript client's own tests, on the readable and on the small file."""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import random
import re
import shutil
import struct
import subprocess
from base64 import b64encode
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from noutput.campaign import Campaign
from noutput.errors import NoutputError
from tests.campaign.examples import (
    chained_campaigns,
    edges_campaign,
    example_campaigns,
    stratified_campaigns,
    survey_campaigns,
)
from tests.campaign.signing import signed
from tests.campaign.spellings import edited

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = shutil.which("node")


@pytest.mark.skipif(NODE is None, reason="node is not installed")
@pytest.mark.parametrize(
    "module", ["noutput.js", pytest.param("noutput.min.js", marks=pytest.mark.slow)]
)
def test_the_clients_own_tests_pass(module: str) -> None:
    assert NODE
    done = subprocess.run(
        [NODE, "--test"], cwd=CLIENT, env={**os.environ, "NOUTPUT_MODULE": module},
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False, timeout=600,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    ran = re.search(r"^\S tests (\d+)$", done.stdout, re.MULTILINE)
    assert ran
    assert int(ran[1]) >= 60


def is_read(document: bytes) -> bool:
    try:
        Campaign.from_json(document)
    except NoutputError:
        return False
    return True


def check_verdicts(documents: list[bytes]) -> int:
    """Compare both clients on every document, and return how many of them are read."""
    assert NODE
    done = subprocess.run(
        [NODE, "testing/verdicts.js"], cwd=CLIENT, capture_output=True, text=True, check=True,
        input=json.dumps([b64encode(each).decode() for each in documents]), timeout=120,
    )  # fmt: skip
    python = [is_read(each) for each in documents]
    javascript = json.loads(done.stdout)
    differ = [d for d, p, j in zip(documents, python, javascript, strict=True) if p != j]
    assert differ == []
    return sum(python)


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_both_clients_refuse_the_same_documents() -> None:
    rng = random.Random(20_260_301)  # noqa: S311 (documents of a test)
    campaigns = (*example_campaigns(), *survey_campaigns(), *stratified_campaigns()[:3])
    texts = [campaign.to_json() for campaign in campaigns]
    documents = [edited(rng, texts[number % len(texts)]) for number in range(3000)]
    assert 100 < check_verdicts(documents) < 2900  # some of them are read


_CONTENT: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 0.5, -0.0, 5e-324, 1e308, 1 << 32, 10**400, "", "a", "1", "one",
    "all", "yes/no", "balanced", "cdf", "\u00e9" * 101, "a\x85", "\ud800", [], [1, 2], ["a", "b"],
    {}, {"a": 1},
)  # fmt: skip
_NAMES = ("", "__proto__", "constructor", "epsilon", "kind", "label", "scores", "text", "unit")


def changed(rng: random.Random, found: Any) -> Any:
    """Return JSON with one change at a random place: another value, one less, or one more."""
    if isinstance(found, dict | list) and found and rng.random() < 0.8:
        keys = list(found) if isinstance(found, dict) else list(range(len(found)))
        key = rng.choice(keys)
        pairs = {k: changed(rng, found[k]) if k == key else found[k] for k in keys}
        if rng.random() < 0.1:
            del pairs[key]
        return pairs if isinstance(found, dict) else list(pairs.values())
    value = rng.choice(_CONTENT)
    if isinstance(found, dict):
        return {**found, rng.choice(_NAMES): value}
    return [*found, value] if isinstance(found, list) else value


def remade(rng: random.Random, found: dict[str, Any]) -> bytes:
    """Return a document with one or two changes, and with the fingerprint that it then has."""
    for _ in range(rng.randrange(1, 3)):
        found = changed(rng, found)
    with suppress(ArithmeticError, LookupError, TypeError, ValueError, struct.error):
        found = signed(found)  # where its content has one
    return json.dumps(found).encode()


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_both_clients_refuse_the_same_content() -> None:
    rng = random.Random(20_261_116)  # noqa: S311 (documents of a test)
    originals = [json.loads(campaign.to_json()) for campaign in survey_campaigns()]
    documents = [remade(rng, originals[number % len(originals)]) for number in range(800)]
    assert 20 < check_verdicts(documents) < 700  # some of them are read


def moved(rng: random.Random, numbers: list[Any]) -> list[Any]:
    """Return a list with one change: an entry twice, one less, two exchanged, or another number."""
    index = rng.randrange(len(numbers)) if numbers else 0
    entry = numbers[index] if numbers else 15.0
    before, after = numbers[:index], numbers[index + 1 :]
    others = (
        math.nextafter(entry, -math.inf), math.nextafter(entry, math.inf), -0.0, int(entry), 7.5,
        -1e308, 1e308, str(entry), None, True, [entry],
    )  # fmt: skip
    match rng.randrange(5):
        case 0:
            return [*before, entry, entry, *after]
        case 1:
            return [*before, *after]
        case 2:
            return [*before, *after[:1], entry, *after[1:]]
        case 3:
            return [*before, rng.choice(others), *after]
    return [*before, entry, rng.choice(others), *after]


def with_other_knots(rng: random.Random, found: dict[str, Any]) -> bytes:
    """Return a document whose first table has other knots, which its question mostly fits."""
    (question, *questions), (table, *tables) = found["questions"], found["tables"]
    knots = moved(rng, table["axes"][0])
    axes = rng.choice([[knots]] * 8 + [[len(knots)], [knots, 2], knots, []])
    edges: list[Any] = [left for left, right in pairwise(knots) if left == right]
    if rng.random() < 0.2 and all(isinstance(edge, float) for edge in edges):
        edges = moved(rng, edges)
    question = {**question, "edges": edges}
    if not edges and rng.random() < 0.5:
        del question["edges"]
    if rng.random() < 0.5:
        question |= {"lower": knots[0], "upper": knots[-1]}
    weights = [table["weights"][k % len(table["weights"])] for k in range(len(knots))]
    again = {
        **found,
        "questions": [question, *questions],
        "tables": [{**table, "axes": axes, "weights": weights}, *tables],
    }
    with suppress(ArithmeticError, LookupError, TypeError, ValueError, struct.error):
        again = signed(again)  # where its content has one
    return json.dumps(again).encode()


@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_both_clients_refuse_the_same_knots_and_edges() -> None:
    rng = random.Random(20_261_118)  # noqa: S311 (documents of a test)
    campaigns = (edges_campaign(), chained_campaigns()[-1])
    originals = [json.loads(campaign.to_json()) for campaign in campaigns]
    documents = [with_other_knots(rng, originals[number % 2]) for number in range(1200)]
    assert 100 < check_verdicts(documents) < 1000  # some of them are read


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_both_clients_refuse_the_same_chains() -> None:
    rng = random.Random(20_261_117)  # noqa: S311 (documents of a test)
    originals = [json.loads(campaign.to_json()) for campaign in chained_campaigns()]
    documents = []
    for number in range(900):
        found = originals[number % len(originals)]
        place = rng.randrange(len(found["waves"]))
        wave = found["waves"][place]
        for _ in range(rng.randrange(1, 3)):
            wave = changed(rng, wave)
        waves = [*found["waves"][:place], wave, *found["waves"][place + 1 :]]
        again = {**found, "waves": waves}
        with suppress(ArithmeticError, LookupError, TypeError, ValueError, struct.error):
            again = signed(again) if rng.random() < 0.8 else again
        documents.append(json.dumps(again).encode())
    assert 20 < check_verdicts(documents) < 800  # some of them are read


@pytest.mark.slow
@pytest.mark.skipif(NODE is None, reason="node is not installed")
def test_both_clients_refuse_the_same_segments_and_schedules() -> None:
    rng = random.Random(22)  # noqa: S311 (documents of a test)
    originals = [json.loads(campaign.to_json()) for campaign in stratified_campaigns()]
    documents = []
    for number in range(900):
        found = originals[number % len(originals)]
        key = rng.choice(("segments", "schedule", "segments", "schedule", "closes"))
        part = changed(rng, found[key]) if key != "closes" else "2026-03-15T00:00:00Z"
        again = {**found, key: part}
        with suppress(ArithmeticError, TypeError, ValueError, struct.error):
            again = signed(again)  # where its content has one
        text = json.dumps(again, indent=1)
        place = text.index(f'"{key}"')
        spelled = edited(rng, text[place:]) if rng.random() < 0.3 else text[place:].encode()
        documents.append(text[:place].encode() + spelled)
    assert 20 < check_verdicts(documents) < 800  # some of them are read


def test_the_small_file_is_small_and_made_from_the_source() -> None:
    small = (CLIENT / "noutput.min.js").read_bytes()
    digest = hashlib.sha256((CLIENT / "noutput.js").read_bytes()).hexdigest()
    assert len(small) < 18_200
    assert len(gzip.compress(small, 9, mtime=0)) < 8_250
    assert digest.encode() in small.splitlines()[0], "run clients/js/build.js"


def test_every_name_has_a_type() -> None:
    source = (CLIENT / "noutput.js").read_text(encoding="utf-8")
    types = (CLIENT / "noutput.d.ts").read_text(encoding="utf-8")
    for line in source.splitlines():
        if line.startswith("export "):
            words = line.removeprefix("export ").removeprefix("async ").split()
            assert f"export {words[0]} {words[1].split('(')[0]}" in types
