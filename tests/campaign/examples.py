"""Tables and campaigns that the tests share."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from typing import Any

from noutput._text import _HIDDEN
from noutput.campaign import (
    Admission,
    Campaign,
    Choice,
    NextWave,
    Number,
    Scale,
    Schedule,
    Segments,
    Table,
    YesNo,
)
from noutput.mechanisms import exact
from noutput.questions import Answers
from tests.tables import jump_table, window_table

SHAPES = [(0.5, 2, 2, 0.5), (1.0, 3, 3, 0.4), (2.0, 5, 4, 0.3), (4.0, 8, 5, 0.2), (7.5, 16, 9, 0.1)]
OPENS = datetime(2026, 3, 1, tzinfo=UTC)
CLOSES = datetime(2036, 3, 1, 12, 30, 59, tzinfo=UTC)
NOW = datetime(2026, 11, 1, tzinfo=UTC).timestamp()


def example_table(
    shape: tuple[float, int, int, float], lower: float = -1.0, upper: float = 1.0
) -> Table:
    return window_table(*shape).plain.rescaled(lower, upper)


def commute_campaign(id: str = "commute", epsilon: float = 1.0) -> Campaign:  # noqa: A002
    return Campaign(
        id=id,
        title="Commute",
        text="How many minutes was your way to work?",
        questions=(Number(0, 180, "minutes", name="commute"),),
        tables=(example_table((epsilon, 3, 3, 0.4), 0, 180),),
        opens=OPENS,
        closes=CLOSES,
        objectives=("mean",),
    )


def salary_campaign() -> Campaign:
    """Return a campaign with three attributes, 16 outputs and texts beyond ASCII."""
    questions = (
        Number(0.1, 25_000.7, "\u20ac", name="salary"),
        Number(-0.0, 120, name="age"),
        Number(-1e-3, 1e300, "%", name="change_2"),
    )
    return Campaign(
        id="salaire-2026",
        title="Salaire \u2013 \u6708\u7d66 \U0001f4b6",
        text='Combien gagnez-vous, "\u00e0 peu pr\u00e8s" ?',
        questions=questions,
        tables=tuple(example_table(SHAPES[4], each.lower, each.upper) for each in questions),
        opens=OPENS,
        closes=CLOSES,
        public=True,
        objectives=("distribution",) * 3,
    )


def balanced_campaign() -> Campaign:
    """Return a campaign of the default size: 128 outputs (7 bits) and 128 knots."""
    return Campaign(
        id="balanced",
        title="Balanced",
        text="How many minutes was your way to work, and home?",
        questions=(
            Number(0, 180, "minutes", name="there"),
            Number(0, 180, "minutes", name="back"),
        ),
        tables=(example_table((1.0, 128, 128, 0.4), 0, 180),) * 2,
        opens=OPENS,
        closes=CLOSES,
    )


def edges_campaign(id: str = "edges", **changes: Any) -> Campaign:  # noqa: A002
    """Return a campaign whose numbers have edges, none, and edges that were not chosen."""
    parts: dict[str, Any] = {
        "title": "Commute",
        "text": "How was your way to work?",
        "questions": (
            Number(0, 180, "minutes", edges=(15, 30.5, 45), name="minutes"),
            Number(-40, 60, edges=(), name="degrees"),
            Number(1e15, 1e15 + 10, cells=2, name="stamp"),
            Number(0, 1e-3, name="share"),
        ),
        "tables": (
            jump_table(1.0, (0, 15, 15, 30.5, 30.5, 45, 45, 100, 180)),
            example_table(SHAPES[1], -40, 60),
            jump_table(1.0, (1e15, 1e15 + 5, 1e15 + 5, 1e15 + 10), n_outputs=6),
            example_table(SHAPES[1], 0, 1e-3),
        ),
        "opens": OPENS,
        "closes": CLOSES,
    }
    return Campaign(id=id, **(parts | changes))


def answer_table(epsilon: float, n_answers: int, parts: int = 1) -> Table:
    """Return direct encoding whose every output is split into `parts` that are drawn alike."""
    least = math.ceil(exact.SCALE / (math.exp(epsilon) + n_answers - 1) / parts) * parts
    most = exact.SCALE - (n_answers - 1) * least
    wide = [[most if i == j else least for i in range(n_answers)] for j in range(n_answers)]
    rows = tuple(tuple(w // parts for w in row for _ in range(parts)) for row in wide)
    return Table(epsilon, (n_answers,), rows)


def survey_campaign(id: str = "survey", **changes: Any) -> Campaign:  # noqa: A002
    """Return a campaign with all kinds of questions, two with their own epsilon."""
    stars = answer_table(1.0, 5)
    parts: dict[str, Any] = {
        "title": "Enqu\u00eate \u2013 \u8abf\u67fb \U0001f689",
        "text": "How was your way to work?",
        "questions": (
            Number(0, 180, "minutes", name="commute", text="How long did it take?"),
            Scale(1, 2, 3, 4, 5, name="stars", label="Comfort"),
            Scale("under 30", "30 to 59", "60+", scores=(22, 45, 68), name="age", epsilon=0.5),
            Choice("train", "car", "v\u00e9lo", "other", name="means", epsilon=2),
            YesNo(name="late", label="Late", text="Were you late?"),
            Scale(0.5, 1, 1.5, 2, 1e3, name="kilometers"),
        ),
        "tables": (
            example_table(SHAPES[1], 0, 180), stars, answer_table(0.5, 3, 2),
            answer_table(2.0, 4, 8), answer_table(1.0, 2), stars,
        ),
        "opens": OPENS,
        "closes": CLOSES,
    }  # fmt: skip
    return Campaign(id=id, **(parts | changes))


def adaptive_campaign(id: str = "adaptive", **changes: Any) -> Campaign:  # noqa: A002
    """Return the first wave of an adaptive campaign with a number and yes/no."""
    parts: dict[str, Any] = {
        "title": "Commute",
        "text": "How was your way to work?",
        "questions": (Number(0, 600, "minutes", name="commute"), YesNo(name="late")),
        "tables": (example_table(SHAPES[1], 0, 600), answer_table(1.0, 2)),
        "opens": OPENS,
        "closes": CLOSES,
        "next_wave": NextWave(2_000, 10_000, datetime(2026, 12, 1, tzinfo=UTC)),
    }
    return Campaign(id=id, **(parts | changes))


def next_wave(campaign: Campaign, upper: float = 110.0, table: Table | None = None) -> Campaign:
    """Return a campaign whose next wave asks for numbers up to `upper`, of another table."""
    bounds = tuple(
        (each.lower, upper) if isinstance(each, Number) else None for each in campaign.questions
    )
    tables = [
        before
        if ends is None
        else (table or window_table(before.epsilon, 5, 4, 0.3).plain).rescaled(*ends)
        for before, ends in zip(campaign.tables, bounds, strict=True)
    ]
    inputs = tuple(
        tuple(
            tuple(100 * wave + output for output in range(each.tables[place].n_outputs))
            for wave, each in enumerate(campaign.waves)
        )
        for place in range(len(tables))
    )
    reasons = tuple("few are above" if each else "" for each in bounds)
    return campaign.successor(tuple(tables), bounds, inputs, reasons)


def is_seen(letter: str) -> bool:
    """Say whether documents may have a character."""
    return _HIDDEN.search(letter) is None


def chained_campaigns() -> list[Campaign]:
    """Return adaptive campaigns of one, two and three waves."""
    first = adaptive_campaign()
    second = next_wave(first)
    everything = survey_campaign(
        "survey-adaptive", ask="all", next_wave=NextWave(600, 100), admission=Admission("token")
    )
    edges = adaptive_campaign(
        "edges-adaptive",
        questions=(Number(0, 600, edges=(60, 110, 240), name="commute"), YesNo(name="late")),
        tables=(jump_table(1.0, (0, 60, 60, 110, 110, 240, 240, 600)), answer_table(1.0, 2)),
    )
    inner = jump_table(1.0, (0, 60, 60, 110))
    return [first, second, next_wave(second, 90.5), next_wave(everything),
            next_wave(edges, 110, inner)]  # fmt: skip


def late_campaign(
    id: str = "late",  # noqa: A002
    epsilon: float = 1.0,
    admission: Admission = Admission(),  # noqa: B008 (frozen)
) -> Campaign:
    """Return a campaign with one yes/no question."""
    return Campaign(
        id=id,
        title="Late",
        text="Were you late?",
        questions=(YesNo(name="late"),),
        tables=(answer_table(epsilon, 2),),
        opens=OPENS,
        closes=CLOSES,
        public=True,
        admission=admission,
    )


PLATFORMS = ("ios", "android", "web")
SEGMENTS = Segments((("platform", PLATFORMS), ("version", ("4.1", "vélo 🚉"))))
WEEKS = datetime(2026, 3, 29, tzinfo=UTC)  # four weeks after OPENS


def panel_campaign(id: str = "panel", **changes: Any) -> Campaign:  # noqa: A002
    """Return a campaign of four weeks with segments and a round per day."""
    parts = {"segments": SEGMENTS, "schedule": Schedule("day", 7), "closes": WEEKS}
    return survey_campaign(id, **(parts | changes))


def stratified_campaigns() -> list[Campaign]:
    """Return campaigns with segments, with a schedule, and with both."""
    return [
        panel_campaign(),
        panel_campaign("segments", schedule=None, closes=CLOSES),
        panel_campaign("rounds", segments=None, schedule=Schedule("day", 14, 3, 0), ask="all"),
        panel_campaign("hours", segments=Segments((("a", ("b", "c")),), 100),
                       schedule=Schedule("hour", 1, 1, 7)),
        panel_campaign("adaptive-segments", schedule=None, admission=Admission("token"),
                       next_wave=NextWave(600, 10_000)),
    ]  # fmt: skip


def survey_campaigns() -> list[Campaign]:
    """Return campaigns that ask one question, or all."""
    commute = Number(0, 180, "minutes", name="commute")
    return [
        survey_campaign(),
        survey_campaign("survey-all", ask="all", objectives=("mean", *("balanced",) * 5)),
        late_campaign(),
        survey_campaign(
            "commute", questions=(commute,), tables=(example_table(SHAPES[4], 0, 180),)
        ),
    ]


# A public key of 2,048 bits; nobody has kept what belongs to it.
ISSUER_KEY = (
    "MIIBUjA9BgkqhkiG9w0BAQowMKANMAsGCWCGSAFlAwQCAqEaMBgGCSqGSIb3DQEBCDALBglghkgBZQMEAgKiAwIBMA"
    "OCAQ8AMIIBCgKCAQEA1ReLLTvLosWyyF7H7ivN9f2GbNECtwA5gQgnPd4_qZ2OtdnOOJUUNnCKY17AJWHRCgxzx9W1"
    "6-KZPhQhxZHpjbNwgNF7VSqxSJBTWpaCbGntMpwpo4fVuDk1CWuaPFUvJimkWkMkclhTDL11rCDinbWvyNewDubELL"
    "9eDMtskcbIXvo_eYX2fLaum-U2QRbNtiZ98RFtj1OAdWB6rNkM0ndPKxPMW7rCrgX5xxwHdNlrrlKXbKMWA9mA2ZC6"
    "UGUo48mey4pxg8kRGfKTCH8FKMORK7EfEI6LVDgnnTEkQJUvc60Slhrpcrh42wbaqVsNS486RpKpTfVNRCeGVJhRww"
    "IDAQAB"
)


def anonymous_admission() -> Admission:
    return Admission("anonymous", issuer="https://issuer.example", key=ISSUER_KEY)


def admitting_campaigns() -> list[Campaign]:
    """Return campaigns that say who may report."""
    return [
        late_campaign(admission=Admission(reports_per_hour=5000)),
        late_campaign(admission=Admission("token")),
        late_campaign(admission=anonymous_admission()),
    ]


def answers_to(campaign: Campaign) -> dict[str, Any]:
    """Return an answer to every question, as a client takes it."""
    return {
        question.name: question.labels[0] if isinstance(question, Answers) else question.lower
        for question in campaign.questions
        if isinstance(question, Answers | Number)
    }


def example_campaigns() -> list[Campaign]:
    return [commute_campaign(), salary_campaign(), edges_campaign()]
