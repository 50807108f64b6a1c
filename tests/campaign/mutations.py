"""Tables that lie about their privacy by as little as possible, and tables that are none."""

from __future__ import annotations

import json
import random
from typing import Any

from noutput.campaign import Table
from noutput.errors import PrivacyError
from noutput.mechanisms import certified, exact
from tests.campaign.examples import SHAPES, example_table

Document = dict[str, Any]
Rows = list[list[int]]


def table_document(epsilon: float, axes: list[Any], weights: Rows) -> Document:
    """Return a table document with the right fingerprint, whatever its content."""
    parts = (epsilon, axes, weights)
    text = certified.dump(*parts, fingerprint=certified.fingerprint_of(*parts))
    result: Document = json.loads(text)
    return result


def _shifted(base: Table, row: int, output: int, weight: int) -> Rows | None:
    """Give one cell a weight and take it from the cell of the row with the most to spare."""
    weights = [list(each) for each in base.weights]
    amount = weight - weights[row][output]
    least = [min(column) for column in zip(*weights, strict=True)]
    spare = [w - low for w, low in zip(weights[row], least, strict=True)]
    spare[output] = 0
    donor = spare.index(max(spare))
    if amount > spare[donor]:
        return None
    weights[row][output] = weight
    weights[row][donor] -= amount
    return weights


def lying_pairs(rng: random.Random, count: int) -> list[Document]:
    """Return tables at the limit, each with a twin that is worse: every other by one unit."""
    pairs: list[Document] = []
    while len(pairs) < count:
        size = rng.randrange(3, 7)
        shape = (round(rng.uniform(0.1, 6.0), 3), size, rng.randrange(3, 6), rng.uniform(0.1, 0.6))
        base = example_table(shape)
        output = rng.randrange(size)
        column = [row[output] for row in base.weights]
        row = column.index(max(column))
        most = exact.exponential_floor(base.epsilon) * min(column) >> 64
        extra = 1 if len(pairs) % 2 == 0 else int(2 ** rng.uniform(1, 24))
        good = _shifted(base, row, output, most)
        bad = _shifted(base, row, output, most + extra)
        if good is None or bad is None:
            continue
        pair: Document = {
            "output": output,
            "extra": extra,
            "good": table_document(base.epsilon, [list(base.knots)], good),
            "bad": table_document(base.epsilon, [list(base.knots)], bad),
        }
        Table.from_document(pair["good"])
        try:
            Table.from_document(pair["bad"])
        except PrivacyError:
            pairs.append(pair)
    return pairs


def malformed_tables() -> list[Document]:
    """Return tables that break another rule than the certificate's."""
    base = example_table(SHAPES[1])
    good: Document = json.loads(base.to_json())
    knots = list(base.knots)
    weights = [list(row) for row in base.weights]
    (a, b, c), *others = weights
    rows: dict[str, list[Any]] = {
        "a weight of zero": [[0, a + b, c], *others],
        "a negative weight": [[-1, a + b + 1, c], *others],
        "a row that adds up to one less": [[a - 1, b, c], *others],
        "a row that adds up to one more": [[a + 1, b, c], *others],
        "a row that is too long": [[a, b, c - 1, 1], *others],
        "a row that is too short": [[a, b + c], *others],
        "one row": weights[:1],
        "no knot for a row": [*weights, weights[-1]],
        "weights that are not whole": [[a + 0.5, b - 0.5, c], *others],
        "weights as text": [[str(a), b, c], *others],
    }
    cases = {why: {**good, "weights": found} for why, found in rows.items()}
    axes: dict[str, list[Any]] = {
        "no axis": [],
        "three axes": [[0.0, 1.0, 2.0], 2, 2],
        "knots that decrease": [[0.0, 2.0, 1.0]],
        "the first knot twice": [[0.0, 0.0, 1.0]],
        "the last knot twice": [[0.0, 1.0, 1.0]],
        "the first knot twice in two spellings": [[-0.0, 0.0, 1.0]],
        "no width": [[1.0, 1.0, 1.0]],
        "a width beyond all numbers": [[-1.7e308, 0.0, 1.7e308]],
        "two knots for three rows": [[0.0, 1.0]],
        "four knots for three rows": [[0.0, 1.0, 1.0, 2.0]],
        "two answers for three rows": [2],
        "four answers for three rows": [4],
        "one answer": [1],
        "no answer": [0],
        "4,160 rows": [list(map(float, range(65))), 64],
        "a pair for three rows": [[0.0, 1.0], 2],
        "a single knot and three answers": [[0.0], 3],
    }
    cases |= {why: table_document(base.epsilon, found, weights) for why, found in axes.items()}
    cases["65 answers"] = table_document(1.0, [65], [[1 << 31, 1 << 31]] * 65)
    triple = [weights[0], *[weights[1]] * 3, weights[2]]
    cases["a knot three times"] = table_document(base.epsilon, [[0.0, 1.0, 1.0, 1.0, 2.0]], triple)
    for why, epsilon in (("epsilon zero", 0.0), ("epsilon negative", -1.0)):
        cases[why] = table_document(epsilon, [knots], weights)
    changes: dict[str, Document] = {
        "another format": {"format": "table"},
        "a newer version": {"version": 2},
        "another scale": {"scale": 1 << 31},
        "a wrong fingerprint": {"fingerprint": "0" * 64},
        "epsilon as text": {"epsilon": "1.0"},
        "epsilon null": {"epsilon": None},
        "outputs": {"outputs": [-1.0, 0.0, 1.0]},
        "axes null": {"axes": None},
        "axes as a number": {"axes": 3},
        "an axis null": {"axes": [None]},
        "an axis as text": {"axes": ["3"]},
        "an axis as truth": {"axes": [True]},
        "half an answer": {"axes": [2.5]},
        "a knot as text": {"axes": [[0.0, "1.0", 2.0]]},
        "a knot null": {"axes": [[0.0, None, 2.0]]},
        "a knot as truth": {"axes": [[0.0, True, 2.0]]},
        "knots in a list of their own": {"axes": [[[0.0, 1.0, 2.0]]]},
        "an extra key": {"extra": 1},
    }
    cases |= {why: {**good, **change} for why, change in changes.items()}
    return [{"why": why, "table": found} for why, found in cases.items()]
