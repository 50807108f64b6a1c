"""Writes the vectors that every client must agree with: `python -m tests.vectors.build`.

The files are part of the wire format. A change here that changes an existing vector is a change
of the format.
"""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

from noutput.campaign import Number, Table
from noutput.mechanisms import exact
from tests.campaign.examples import (
    SHAPES,
    balanced_campaign,
    commute_campaign,
    example_campaigns,
    example_table,
)
from tests.campaign.mutations import lying_pairs, malformed_tables
from tests.campaign.spellings import spellings
from tests.tables import jump_table
from tests.vectors import chains, identity, questions, strata

FOLDER = Path(__file__).parent
Document = dict[str, Any]


def exponentials(rng: random.Random) -> list[Document]:
    values = [0.0, 5e-324, 2.0**-60, 0.1, 0.5, 1.0, math.log(3.0), 2.0, 10.0, 31.999, 32.0, 1e308]
    values += [rng.uniform(0.0, 20.0) for _ in range(20)]
    return [{"epsilon": x, "floor": str(exact.exponential_floor(x))} for x in values]


JUMPS: list[tuple[float, ...]] = [  # knots of tables of a number, with jumps
    (0, 15, 15, 30, 45, 45, 60, 180),
    (-1e99, 0, 0, 1e99),
    (-1e300, -1e99, -1e99, 1e99, 1e300),
    (0, 5e-324, 5e-324, 1e-323),
    (2.0**-1000, 2.0**-999, 2.0**-999, 2.0**-998),
    (1e15, 1e15 + 5, 1e15 + 5, 1e15 + 7.5, 1e15 + 10),
    (-0.1, 0.1, 0.1, 0.3, 0.30000000000000004, 0.7, 0.7, 1.0),
]
PAIRS: list[tuple[int | tuple[float, ...], ...]] = [
    ((0, 45, 45, 180), 4),
    (3, (-1.0, 0.0, 0.0, 0.5, 1.0)),
    ((0, 15, 15, 30), (1e15, 1e15 + 4, 1e15 + 10)),
    (2, 3),
]


def draws(rng: random.Random) -> Document:
    """Return tables of a number and of a pair, and what words draw from them."""
    tables = [example_table(shape) for shape in SHAPES]
    tables += [jump_table(1.0 + index, knots) for index, knots in enumerate(JUMPS)]
    cases = [
        {"table": index, "x": x, "word": f"{word:016x}", "output": table.draw(x, word)}
        for index, table in enumerate(tables)
        for x in _inputs(rng, table.knots)
        for word in _words(rng, table)
    ]
    pairs = [jump_table(1.5, *axes) for axes in PAIRS]
    pair_cases = []
    for index, table in enumerate(pairs):
        for _ in range(60):
            x = [_value(rng, axis) for axis in table.axes]
            words = [rng.choice(_words(rng, table)), rng.getrandbits(64)]
            output = table.draw(x, words)
            texts = [f"{word:016x}" for word in words]
            pair_cases.append({"table": index, "x": x, "words": texts, "output": output})
    return {
        "tables": [json.loads(each.to_json()) for each in tables],
        "draws": cases,
        "pair_tables": [json.loads(each.to_json()) for each in pairs],
        "pair_draws": pair_cases,
    }


def _inputs(rng: random.Random, knots: tuple[float, ...]) -> list[float]:
    """Return knots, the numbers next to them, and others between the outer ones."""
    lower, upper = knots[0], knots[-1]
    near = [math.nextafter(knot, side) for knot in knots for side in (lower, upper)]
    special = [0.0, 1e-300, *(lower + (upper - lower) * rng.random() for _ in range(8))]
    numbers = dict.fromkeys([*knots, *near, *special])
    return [x for x in numbers if lower <= x <= upper]


def _value(rng: random.Random, axis: int | tuple[float, ...]) -> float:
    return rng.randrange(axis) if isinstance(axis, int) else rng.choice(_inputs(rng, axis))


def _words(rng: random.Random, table: Table) -> list[int]:
    """Return words whose lower half is at or just below a running sum of some row."""
    edges = [sum(row[: rng.randrange(1, len(row))]) for row in table.weights]
    lower = [0, exact.SCALE - 1, *edges, *(edge - 1 for edge in edges)]
    upper = (0, exact.SCALE - 1, rng.getrandbits(32), rng.getrandbits(32))
    return [rng.choice(upper) << 32 | low for low in rng.sample(lower, 4)]


def clamped(rng: random.Random) -> list[Document]:
    result: list[Document] = []
    for campaign in example_campaigns():
        for each in campaign.questions:
            assert isinstance(each, Number)
            bounds = {"lower": each.lower, "upper": each.upper}
            inside = [rng.uniform(each.lower, each.upper) for _ in range(6)]
            values = (each.lower, each.upper, 42, -1e9, 1e301, 0.1, *inside)
            result += [{**bounds, "value": value, "x": each.encode(value)} for value in values]
    return result


def balanced_vectors(rng: random.Random) -> Document:
    """Return a campaign of the default size, draws of its table, and reports on the wire."""
    campaign = balanced_campaign()
    (table, _) = campaign.tables
    inner = [rng.uniform(0, 180) for _ in range(3)]
    cases = [
        {"x": x, "word": f"{word:016x}", "output": table.draw(x, word)}
        for x in (0.0, 180.0, 90.0, *rng.sample(table.knots, 5), *inner)
        for word in _words(rng, table)
    ]
    return questions.wire_vectors(campaign) | {"draws": cases}


def write(name: str, content: Document) -> None:
    """Write one entry of a list a line."""
    parts = []
    for key, value in content.items():
        if isinstance(value, list):
            text = "[\n" + ",\n".join(json.dumps(entry) for entry in value) + "\n]"
        else:
            text = json.dumps(value)
        parts.append(f'"{key}": {text}')
    (FOLDER / name).write_text("{\n" + ",\n".join(parts) + "\n}\n", encoding="utf-8")


def main() -> None:
    rng = random.Random(20_260_301)  # noqa: S311 (vectors are public)
    write("exponential.json", {"cases": exponentials(rng)})
    write("draws.json", draws(rng))
    write("tables.json", {"lying": lying_pairs(rng, 100), "malformed": malformed_tables()})
    write("documents.json", {"documents": spellings(commute_campaign())})
    questions.main(write, clamped(rng))
    write("balanced.json", balanced_vectors(rng))
    chains.main(write)
    strata.main(write)
    identity.main(write)


if __name__ == "__main__":
    main()
