"""Vectors of questions of all kinds: their documents and their reports."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

from noutput.campaign import Campaign, Report, Table, YesNo
from noutput.campaign.canonical import canonical
from noutput.campaign.packed import encode_packed
from noutput.campaign.wire import BATCH_TYPE, PACKED_TYPE, REPORT_TYPE, encode_batch, encode_report
from noutput.mechanisms import exact
from noutput.questions import Answers
from tests.campaign.examples import (
    admitting_campaigns,
    answer_table,
    edges_campaign,
    example_campaigns,
    survey_campaign,
    survey_campaigns,
)
from tests.campaign.signing import signed
from tests.vectors.refused import changed_documents, changed_edges, refused_bodies

Document = dict[str, Any]
SHAPES = [(0.1, 2, 1), (1.0, 5, 1), (1.0, 11, 2), (2.0, 4, 8), (4.0, 64, 1)]


def canonical_forms() -> list[Document]:
    values: list[Any] = [
        None, True, False, 0, -0.0, 1, -1.5, 5e-324, 1.7976931348623157e308, 9007199254740993, "",
        "é\U0001f689", [], [[]], [1, "1", None], {}, {"b": 1, "a": [{}], "": False},
        {"z": 1, "é": 2, "\U0001f689": 3, "\uffee": 4, "Z": 5},
    ]  # fmt: skip
    return [{"value": value, "bytes": canonical(value).hex()} for value in values]


def draws(rng: random.Random) -> Document:
    """Return tables with one row per answer, and what words draw from their rows."""
    tables = [answer_table(*shape) for shape in SHAPES]
    cases = [
        {
            "table": index,
            "answer": answer,
            "word": f"{word:016x}",
            "output": table.draw(answer, word),
        }
        for index, table in enumerate(tables)
        for answer in rng.sample(range(table.n_rows), min(table.n_rows, 5))
        for word in _words(rng, table.weights[answer])
    ]
    return {"tables": [json.loads(each.to_json()) for each in tables], "draws": cases}


def _words(rng: random.Random, row: tuple[int, ...]) -> list[int]:
    """Return words whose lower half is at or just below a running sum of the row."""
    edge = sum(row[: rng.randrange(1, len(row))])
    lower = (0, exact.SCALE - 1, edge, edge - 1, rng.getrandbits(32))
    return [rng.getrandbits(32) << 32 | low for low in lower]


def answers() -> list[Document]:
    """Return values that are answers, with their places, and values that are none."""
    values = [1, 2, 0, 5, 6, 1.5, 0.5, 1000, -1, "1", "1.0", "2", "0.5", "1000", "", "yes", "no",
              "Yes", "true", "train", "vélo", "Train", " car", "60+", "under 30", True, False, None,
              [], [1], {}, 22, 45]  # fmt: skip
    return [
        {"question": question.to_document(), "value": value, "place": question.find(value)}
        for question in survey_campaign().questions
        if isinstance(question, Answers)
        for value in values
    ]


def good_documents() -> list[Document]:
    result = []
    for campaign in (*survey_campaigns(), *admitting_campaigns(), *example_campaigns()):
        found = json.loads(campaign.to_json())
        assert signed(found) == found
        del found["fingerprint"]
        found["tables"] = [table["fingerprint"] for table in found["tables"]]
        result.append(
            {
                "fingerprint": campaign.fingerprint,
                "epsilon": campaign.epsilon,
                "canonical": canonical(found).hex(),
                "text": campaign.to_json(),
            }
        )
    return result


def lying_tables(rng: random.Random) -> list[Document]:
    """Return tables at the limit of their epsilon, each with a twin that is above it by a unit."""
    result = []
    for _ in range(20):
        epsilon = round(rng.uniform(0.1, 6.0), 3)
        # the largest weight that the certificate allows against 2^32 - weight
        low, high = 1 << 31, exact.SCALE - 1
        while high - low > 1:
            middle = (low + high) // 2
            fits = exact.certify((middle,), (exact.SCALE - middle,), epsilon) is None
            low, high = (middle, high) if fits else (low, middle)
        rows, bad = ([[w, exact.SCALE - w], [exact.SCALE - w, w]] for w in (low, high))
        good = json.loads(Table(epsilon, (2,), tuple(map(tuple, rows))).to_json())
        result.append({"good": _late(good), "bad": _late({**good, "weights": bad})})
    return result


def _late(table: Document) -> Document:
    """Return a document that asks one yes/no question with this table."""
    question = YesNo(name="late")
    tables = (answer_table(1.0, 2),)
    found = json.loads(survey_campaign(questions=(question,), tables=tables).to_json())
    return signed({**found, "tables": [table]})


def wire_vectors(campaign: Campaign) -> Document:
    """Return reports on all questions with small and large outputs, and their encodings."""
    reports = []
    for i in range(13):
        place = i % len(campaign.questions)
        last = campaign.tables[place].n_outputs - 1
        output = (0, last, last // 2)[i % 3]
        name = campaign.questions[place].name
        reports.append(Report(campaign.fingerprint, name, output, f"{(7 * i + 3) << 90:032x}"))
    bodies = [
        {"type": REPORT_TYPE, "reports": 1, "body": encode_report(reports[0]).hex()},
        {"type": BATCH_TYPE, "reports": 13, "body": encode_batch(reports).hex()},
        {"type": PACKED_TYPE, "reports": 13, "body": encode_packed(campaign, reports).hex()},
    ]
    entries = [
        {"campaign": r.campaign, "question": r.question, "output": r.output, "id": r.id}
        for r in reports
    ]
    return {"campaign": campaign.to_json(), "reports": entries, "bodies": bodies}


def main(write: Callable[[str, Document], None], clamped: list[Document]) -> None:
    rng = random.Random(20_261_116)  # noqa: S311 (vectors are public)
    good = good_documents()
    write("canonical.json", {"cases": canonical_forms()})
    write("answers.json", {**draws(rng), "answers": answers()})
    survey, *others = survey_campaigns()
    bad = changed_documents(json.loads(survey.to_json()))
    bad += changed_edges(json.loads(edges_campaign().to_json()))
    lying = lying_tables(rng)
    write("campaigns.json", {"good": good, "lying": lying, "bad": bad, "clamped": clamped})
    cases = [wire_vectors(each) for each in (survey, *others, *example_campaigns())]
    write("wire.json", {"cases": cases, "refused": refused_bodies(survey)})
