from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput.campaign import Campaign, Choice, Number, Scale, Table, YesNo
from noutput.campaign.canonical import canonical
from noutput.errors import DocumentError, InvalidArgumentError, NoutputError, PrivacyError
from noutput.questions import Answers, Question, question_from_document
from tests.campaign.examples import (
    CLOSES,
    OPENS,
    SHAPES,
    answer_table,
    example_table,
    is_seen,
    late_campaign,
    survey_campaign,
    survey_campaigns,
)
from tests.campaign.signing import packed, signed
from tests.campaign.spellings import edited
from tests.campaign.vectors import vectors
from tests.tables import jump_table

CAMPAIGNS = vectors("campaigns")
BAD = {case["why"]: case for case in CAMPAIGNS["bad"]}
ANSWERS = vectors("answers")


@pytest.mark.parametrize(
    "case", vectors("canonical")["cases"], ids=lambda case: repr(case["value"])
)
def test_the_canonical_form_agrees_with_the_vectors(case: dict[str, Any]) -> None:
    assert canonical(case["value"]).hex() == case["bytes"]
    assert packed(case["value"]).hex() == case["bytes"]


@pytest.mark.parametrize("case", CAMPAIGNS["good"], ids=range(len(CAMPAIGNS["good"])))
def test_documents_of_the_vectors_are_read_and_written(case: dict[str, Any]) -> None:
    campaign = Campaign.from_json(case["text"])
    assert campaign.fingerprint == case["fingerprint"]
    assert campaign.epsilon == case["epsilon"]
    assert campaign.to_json() == case["text"]
    assert Campaign.from_json(case["text"].encode()) == campaign


@pytest.mark.parametrize("case", BAD.values(), ids=BAD.keys())
def test_changed_documents_are_refused(case: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="must") as caught:
        Campaign.from_json(json.dumps(case["campaign"]))
    assert case["error"] == "document"
    if case["why"] != "an old fingerprint":
        assert caught.value.name != "fingerprint" or case["why"] == "without fingerprint"


def test_tables_that_lie_by_one_unit_are_refused() -> None:
    for pair in CAMPAIGNS["lying"]:
        Campaign.from_json(json.dumps(pair["good"]))
        with pytest.raises(PrivacyError):
            Campaign.from_json(json.dumps(pair["bad"]))


NEWER = [
    "version 0", "version 2", "version 10", "an unknown key", "an unknown key of a wave",
    "segments", "a schedule", "admission by a text", "admission of another kind",
    "admission with another key", "an unknown kind",
]  # fmt: skip


@pytest.mark.parametrize("why", NEWER)
def test_what_a_newer_version_may_know_says_so(why: str) -> None:
    with pytest.raises(DocumentError, match="newer version of noutput"):
        Campaign.from_json(json.dumps(BAD[why]["campaign"]))


@pytest.mark.parametrize("version", [0, 2, 10, "1", 1.0, True, None])
def test_another_version_is_named(version: Any) -> None:
    found = json.loads(survey_campaign().to_json())
    rule = rf"^version must be 1: otherwise the document needs .*; found {version!r}$"
    with pytest.raises(DocumentError, match=rule):
        Campaign.from_json(json.dumps({**found, "version": version}))
    for index, table in enumerate(found["tables"]):
        tables = [*found["tables"]]
        tables[index] = {**table, "version": version}
        rule = rf"^tables\[{index}\]\.version must be 1; found {version!r}$"
        with pytest.raises(DocumentError, match=rule):
            Campaign.from_json(json.dumps({**found, "tables": tables}))


def test_an_unknown_key_is_named() -> None:
    found = json.loads(survey_campaign().to_json())
    with pytest.raises(
        DocumentError, match="key 'budget' must be absent: the document needs a newer"
    ):
        Campaign.from_json(json.dumps(signed({**found, "budget": 3})))
    wave = {**found["waves"][0], "bounds": []}
    with pytest.raises(DocumentError, match=r"key 'waves\[0\]\.bounds' must be absent"):
        Campaign.from_json(json.dumps(signed({**found, "waves": [wave]})))


def test_draws_agree_with_the_vectors() -> None:
    tables = [Table.from_document(each) for each in ANSWERS["tables"]]
    assert len(ANSWERS["draws"]) > 100
    for case in ANSWERS["draws"]:
        output = tables[case["table"]].draw(case["answer"], int(case["word"], 16))
        assert output == case["output"]


def test_answers_agree_with_the_vectors() -> None:
    for case in ANSWERS["answers"]:
        question = question_from_document(case["question"])
        assert isinstance(question, Answers)
        assert question.find(case["value"]) == case["place"], case
        if case["place"] is None:
            with pytest.raises(InvalidArgumentError, match=r"values\['\w+'\] must be one of"):
                question.encode(case["value"])


def test_equal_tables_are_one_object() -> None:
    stars = survey_campaign().tables
    assert stars[1] is stars[5]
    twins = (answer_table(1.0, 5), answer_table(1.0, 5))
    questions = (Scale(1, 2, 3, 4, 5, name="a"), Choice(*"abcde", name="b"))
    campaign = survey_campaign(questions=questions, tables=twins)
    assert campaign.tables[0] is campaign.tables[1]
    assert len(json.loads(campaign.to_json())["tables"]) == 1
    found = Campaign.from_json(campaign.to_json())
    assert found.tables[0] is found.tables[1]


def test_epsilon_is_the_largest_or_the_sum() -> None:
    one, every, late, _ = survey_campaigns()
    assert one.epsilon == 2.0
    assert every.epsilon == 6.5
    assert late.epsilon == 1.0


def test_the_fingerprint_covers_every_part() -> None:
    base = survey_campaign()
    first, *others = base.questions
    assert isinstance(first, Number)
    changes: list[dict[str, Any]] = [
        {},
        {"id": "other"},
        {"title": "Other"},
        {"text": "Why?"},
        {"public": True},
        {"opens": CLOSES.replace(year=2030)},
        {"ask": "all"},
        {"objectives": ("mean", *base.objectives[1:])},
        {"questions": (replace(first, label="Way"), *others)},
        {"questions": (replace(first, text="Why?"), *others)},
        {"questions": (replace(first, unit="hours"), *others)},
        {
            "questions": (replace(first, upper=181), *others),
            "tables": (base.tables[0].rescaled(0, 181), *base.tables[1:]),
        },
        {"questions": (replace(first, edges=()), *others)},
        {"questions": (replace(first, epsilon=1.0), *others)},
        {"questions": (first, *others[:-1], Scale(0, 1, 2, 3, 4, name="kilometers"))},
        {"tables": (example_table((1.0, 4, 4, 0.4), 0, 180), *base.tables[1:])},
        {"tables": (*base.tables[:-1], answer_table(0.75, 5))},
    ]
    prints = {replace(base, **change).fingerprint for change in changes}
    assert len(prints) == len(changes)


REFUSED: dict[str, dict[str, Any]] = {
    "no question": {"questions": (), "tables": ()},
    "no name": {"questions": (YesNo(),)},
    "no question at all": {"questions": ("late",)},
    "a name twice": {"questions": (YesNo(name="a"),) * 2, "tables": (answer_table(1.0, 2),) * 2},
    "a table too few": {"tables": ()},
    "a table of other answers": {"tables": (answer_table(1.0, 3),)},
    "a table for numbers": {"tables": (example_table(SHAPES[0]),)},
    "no table at all": {"tables": (None,)},
    "another epsilon": {"questions": (YesNo(name="late", epsilon=0.5),)},
    "an unknown objective": {"objectives": ("all",)},
    "an objective too many": {"objectives": ("shares", "shares")},
    "another way to ask": {"ask": "some"},
}


@pytest.mark.parametrize("change", REFUSED.values(), ids=REFUSED.keys())
def test_bad_parts_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="must"):
        replace(late_campaign(), **change)


names = st.from_regex(r"[a-z][a-z0-9_]{0,7}", fullmatch=True)
letters = st.characters(exclude_categories=("Cs", "Cc")).filter(is_seen)
texts = st.text(letters, max_size=12)
labels = st.lists(st.text(letters, min_size=1, max_size=8), min_size=2, max_size=5, unique=True)
floats = st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=5, unique_by=lambda x: x + 0.0)


@st.composite
def questions(draw: st.DrawFn, name: str) -> Question:
    common: dict[str, Any] = {"name": name, "label": draw(texts), "text": draw(texts)}
    common["epsilon"] = draw(st.sampled_from([None, 0.5, 1.0]))
    kind = draw(st.integers(0, 4))
    if kind == 0:
        lower, width = draw(st.floats(-1e6, 1e6)), draw(st.floats(0.001, 1e6))
        cells = draw(st.sampled_from([None, 2, 3]))
        return Number(lower, lower + width, draw(texts), cells=cells, **common)
    if kind == 1:
        return Scale(*sorted(draw(floats)), **common)
    if kind == 2:
        found = draw(labels)
        return Scale(*found, scores=draw(st.sampled_from([None, range(len(found))])), **common)
    return Choice(*draw(labels), **common) if kind == 3 else YesNo(**common)


def number_table(question: Question) -> Table:
    assert isinstance(question, Number)
    inner = (edge for edge in question.edges or () for _ in "lr")
    return jump_table(question.epsilon or 1.0, (question.lower, *inner, question.upper))


@st.composite
def campaigns(draw: st.DrawFn) -> Campaign:
    found = [draw(questions(name)) for name in draw(st.lists(names, min_size=1, unique=True))]
    tables = [
        answer_table(each.epsilon or 1.0, each.n_answers)
        if isinstance(each, Answers)
        else number_table(each)
        for each in found
    ]
    return Campaign(
        "c", draw(texts) + "t", draw(texts) + "t", tuple(found), tuple(tables), OPENS, CLOSES,
        ask=draw(st.sampled_from(["one", "all"])),
    )  # fmt: skip


@settings(max_examples=40, deadline=None)
@given(campaigns())
def test_random_campaigns_round_trip(campaign: Campaign) -> None:
    text = campaign.to_json()
    assert Campaign.from_json(text) == campaign
    found = json.loads(text)
    assert signed(found) == found


def test_edited_documents_are_read_or_refused() -> None:
    rng = random.Random(20_261_116)  # noqa: S311 (documents of a test)
    texts = [late_campaign().to_json(), survey_campaign().to_json()]
    read = 0
    for number in range(200):
        data = edited(rng, texts[number % 2])
        try:
            campaign = Campaign.from_json(data)
        except NoutputError:
            continue
        assert Campaign.from_json(campaign.to_json()) == campaign
        read += 1
    assert read > 2


JUNK: list[Any] = [None, True, -1, 0, 0.5, 1e400, 10**400, "", "x", [], [[]], {}, {"a": 1}]


def places(found: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the places of everything in a document, but for most numbers of tables."""
    if isinstance(found, list) and len(path) > 2 and "tables" in path:
        found = found[:1]
    inside = found.items() if isinstance(found, dict) else enumerate(found)
    result = []
    for key, value in inside:
        result.append((*path, key))
        if isinstance(value, dict | list):
            result += places(value, (*path, key))
    return result


def test_junk_at_any_place_is_refused_without_a_crash() -> None:
    good = json.loads(survey_campaign().to_json())
    rng = random.Random(1)  # noqa: S311 (a test)
    for place in places(good):
        for junk in rng.sample(JUNK, 3):
            found = copy.deepcopy(good)
            inner = found
            for key in place[:-1]:
                inner = inner[key]
            if inner[place[-1]] == junk:
                continue
            inner[place[-1]] = junk
            with pytest.raises(NoutputError):
                Campaign.from_json(json.dumps(found).replace("Infinity", "1e400"))


def test_an_unknown_key_is_quoted() -> None:
    found = json.loads(survey_campaign().to_json())
    with pytest.raises(DocumentError, match=r"^key 'a\\n\\x1b\[31mb' must be absent"):
        Campaign.from_json(json.dumps(signed({**found, "a\n\x1b[31mb": 3})))
