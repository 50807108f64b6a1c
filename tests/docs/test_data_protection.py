"""Numbers and sentences of docs/data-protection.md that the code decides."""

from __future__ import annotations

import math
import re

import noutput as no
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import schema
from tests.docs.blocks import ROOT

TEXT = (ROOT / "docs" / "data-protection.md").read_text(encoding="utf-8")


def test_factors_are_upper_bounds() -> None:
    found = re.findall(r"([\d.]+) at ε = ([\d.]+)", TEXT)
    assert len(found) == 4
    for factor, epsilon in found:
        assert float(factor) == math.ceil(10 * math.exp(float(epsilon))) / 10
    (shown,) = re.findall(r"at most \[([\d.]+)\] times", TEXT)
    assert (shown, "1") in found


def test_the_example_is_the_default_campaign() -> None:
    (codes,) = re.findall(r"one of \[(\d+)\] codes", TEXT)
    assert int(codes) == no.design(1.0).mechanism.n_outputs
    steps = re.findall(r"at least (?:\[(\d+)\] more people|(\d+) reports by default)", TEXT)
    assert {int(one or other) for one, other in steps} == {ReleasePolicy().minimum}


def test_every_table_of_a_database_is_told_of() -> None:
    """A new table changes what is stored: whoever adds one says here where the page has it."""
    told = {
        "admin_log": "log of actions", "campaigns": "its document", "counts": "one count",
        "high_water": "checksums", "history": "published when", "issued_tokens": "hashes of tokens",
        "noutput_schema": "database", "releases": "published when", "seals": "checksums",
        "tokens": "hashes of tokens",
    }  # fmt: skip
    assert set(schema._metadata.tables) == set(told)
    for words in told.values():
        assert words in TEXT
