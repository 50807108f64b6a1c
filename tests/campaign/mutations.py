"""Tables that lie about their privacy by as little as possible, and tables that are none."""

from __future__ import annotations

import json
import math
import random
from typing import Any

from noutput.campaign import CertifiedTable
from noutput.errors import PrivacyError
from noutput.mechanisms import certified, exact
from tests.campaign.examples import SHAPES, example_table

Document = dict[str, Any]
Rows = list[list[int]]


def table_document(
    epsilon: float, outputs: list[float], knots: list[float], weights: Rows
) -> Document:
    """Return a table document with the right fingerprint, whatever its content."""
    parts = (epsilon, outputs, knots, weights)
    text = certified.dump(*parts, fingerprint=certified.fingerprint_of(*parts))
    result: Document = json.loads(text)
    return result


def _rebuilt(epsilon: float, outputs: tuple[float, ...], weights: Rows) -> Document:
    """Return a table document with these rows, its outputs rescaled so that knots reach +-1."""
    means = [math.fsum(a * w for a, w in zip(outputs, row, strict=True)) for row in weights]
    center = (means[0] + means[-1]) / 2 / exact.SCALE
    half = (means[-1] - means[0]) / 2 / exact.SCALE
    moved = [(a - center) / half for a in outputs]
    knots = [(mean / exact.SCALE - center) / half for mean in means]
    knots[0], knots[-1] = -1.0, 1.0
    return table_document(epsilon, moved, knots, weights)


def _shifted(base: CertifiedTable, row: int, output: int, weight: int) -> Rows | None:
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
            "good": _rebuilt(base.epsilon, base.outputs, good),
            "bad": _rebuilt(base.epsilon, base.outputs, bad),
        }
        CertifiedTable.from_document(pair["good"])
        try:
            CertifiedTable.from_document(pair["bad"])
        except PrivacyError:
            pairs.append(pair)
    return pairs


def malformed_tables() -> list[Document]:
    """Return tables that break another rule than the certificate's."""
    base = example_table(SHAPES[1])
    good: Document = json.loads(base.to_json())
    outputs, knots = list(base.outputs), list(base.knots)
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
    whole: dict[str, tuple[float, list[float], list[float]]] = {
        "equal outputs": (base.epsilon, [outputs[0], outputs[2], outputs[2]], knots),
        "outputs that decrease": (base.epsilon, outputs[::-1], knots),
        "a knot that is not the mean": (base.epsilon, outputs, [-1.0, knots[1] + 1e-6, 1.0]),
        "knots short of 1": (base.epsilon, outputs, [*knots[:2], 1.0 - 2.0**-50]),
        "knots that do not increase": (base.epsilon, outputs, [-1.0, -1.0, 1.0]),
        "epsilon zero": (0.0, outputs, knots),
        "epsilon negative": (-1.0, outputs, knots),
    }
    cases |= {why: table_document(*parts, weights) for why, parts in whole.items()}
    changes: dict[str, Document] = {
        "another format": {"format": "table"},
        "a newer version": {"version": 2},
        "another scale": {"scale": 1 << 31},
        "a wrong fingerprint": {"fingerprint": "0" * 64},
        "epsilon as text": {"epsilon": "1.0"},
        "epsilon null": {"epsilon": None},
        "outputs null": {"outputs": None},
        "an extra key": {"extra": 1},
    }
    cases |= {why: {**good, **change} for why, change in changes.items()}
    return [{"why": why, "table": found} for why, found in cases.items()]
