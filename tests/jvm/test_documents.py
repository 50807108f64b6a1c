"""The JVM client and the Python client read the same documents, damaged ones included."""

from __future__ import annotations

import json
import math
import random
import struct
from base64 import b64encode
from contextlib import suppress
from typing import Any

import pytest

from noutput.campaign import Campaign
from noutput.errors import NoutputError, PrivacyError
from tests.campaign.examples import (
    admitting_campaigns,
    chained_campaigns,
    edges_campaign,
    example_campaigns,
    stratified_campaigns,
    survey_campaigns,
)
from tests.campaign.signing import signed
from tests.campaign.spellings import edited
from tests.campaign.test_javascript import changed, remade
from tests.jvm.conftest import Machine


def verdict(document: bytes) -> str:
    try:
        Campaign.from_json(document)
    except PrivacyError:
        return "privacy"
    except NoutputError:
        return "document"
    return "read"


def restrata(rng: random.Random, number: int) -> bytes:
    """Return a document with other segments, or another schedule."""
    originals = stratified_campaigns()
    found = json.loads(originals[number % len(originals)].to_json())
    key = rng.choice(("segments", "schedule"))
    again = {**found, key: changed(rng, found[key])}
    with suppress(ArithmeticError, TypeError, ValueError, struct.error):
        again = signed(again)  # where its content has one
    return json.dumps(again).encode()


def moved(rng: random.Random, number: int) -> bytes:
    """Return a document where a number of edges, knots and bounds is another: all, or some."""
    originals = (edges_campaign(), chained_campaigns()[-1])
    found = json.loads(originals[number % len(originals)].to_json())
    numbers = sorted({x for table in found["tables"] for axis in table["axes"] if type(axis) is list
                      for x in axis})  # fmt: skip
    old, other = rng.choice(numbers), rng.choice(numbers)
    near = (math.nextafter(old, math.inf), math.nextafter(old, -math.inf), -0.0, old + 1)
    new, share = rng.choice((other, *near)), rng.choice((0.2, 1.0))

    def again(value: Any) -> Any:
        if isinstance(value, list):
            return [again(entry) for entry in value]
        return new if type(value) is float and value == old and rng.random() < share else value

    for question in found["questions"]:
        question |= {key: again(question[key]) for key in ("lower", "upper", "edges")
                     if key in question}  # fmt: skip
    for table in found["tables"]:
        table["axes"] = again(table["axes"])
    for wave in found["waves"]:
        if "bounds" in wave:
            wave["bounds"] = again(wave["bounds"])
    return json.dumps(signed(found)).encode()


def compare(machine: Machine, seed: int, count: int) -> int:
    """Compare both clients on many documents, and return how many of them are read."""
    rng = random.Random(seed)  # noqa: S311 (documents of a test)
    newer = (
        *survey_campaigns(),
        *admitting_campaigns(),
        *chained_campaigns(),
        *stratified_campaigns(),
        edges_campaign(),
    )
    texts = [campaign.to_json() for campaign in (*example_campaigns(), *newer)]
    originals = [json.loads(campaign.to_json()) for campaign in newer]
    documents = [edited(rng, texts[number % len(texts)]) for number in range(count)]
    documents += [remade(rng, originals[number % len(originals)]) for number in range(count)]
    documents += [restrata(rng, number) for number in range(count)]
    documents += [moved(rng, number) for number in range(count)]
    lines = "".join(b64encode(each).decode() + "\n" for each in documents)
    found = machine.run("Verdicts", given=lines)
    wanted = [verdict(each) for each in documents]
    differ = [
        (ours, theirs, document)
        for document, ours, theirs in zip(documents, wanted, found, strict=True)
        if (ours == "read") != (theirs == "read")
    ]
    assert differ == []
    return wanted.count("read")


@pytest.mark.slow
def test_both_clients_refuse_the_same_documents(machine: Machine) -> None:
    """Edits of the text, and changes of the content with the fingerprints that it then has."""
    assert 20 < compare(machine, 20_261_117, 500) < 950  # some of them are read


@pytest.mark.slow
def test_both_clients_refuse_the_same_of_many_documents(machine: Machine) -> None:
    assert 200 < compare(machine, 20_261_118, 5000) < 9500
