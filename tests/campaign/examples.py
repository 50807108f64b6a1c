"""Tables and campaigns that the tests share."""

from __future__ import annotations

from datetime import UTC, datetime

from noutput.campaign import Attribute, Campaign, CertifiedTable
from tests.tables import window_table

SHAPES = [(0.5, 2, 2, 0.5), (1.0, 3, 3, 0.4), (2.0, 5, 4, 0.3), (4.0, 8, 5, 0.2), (7.5, 16, 9, 0.1)]
OPENS = datetime(2026, 3, 1, tzinfo=UTC)
CLOSES = datetime(2036, 3, 1, 12, 30, 59, tzinfo=UTC)
NOW = datetime(2026, 11, 1, tzinfo=UTC).timestamp()


def example_table(shape: tuple[float, int, int, float]) -> CertifiedTable:
    return window_table(*shape).plain


def commute_campaign(id: str = "commute", epsilon: float = 1.0) -> Campaign:  # noqa: A002
    return Campaign(
        id=id,
        title="Commute",
        question="How many minutes was your way to work?",
        attributes=(Attribute("commute", "minutes", 0, 180),),
        table=example_table((epsilon, 3, 3, 0.4)),
        opens=OPENS,
        closes=CLOSES,
        goal="mean",
    )


def salary_campaign() -> Campaign:
    """Return a campaign with three attributes, 16 outputs and texts beyond ASCII."""
    return Campaign(
        id="salaire-2026",
        title="Salaire \u2013 \u6708\u7d66 \U0001f4b6",
        question='Combien gagnez-vous, "\u00e0 peu pr\u00e8s" ?',
        attributes=(
            Attribute("salary", "\u20ac", 0.1, 25_000.7),
            Attribute("age", "", -0.0, 120),
            Attribute("change_2", "%", -1e-3, 1e300),
        ),
        table=example_table(SHAPES[4]),
        opens=OPENS,
        closes=CLOSES,
        public=True,
        goal="distribution",
    )


def balanced_campaign() -> Campaign:
    """Return a campaign of the default size: 128 outputs (7 bits) and 128 knots."""
    return Campaign(
        id="balanced",
        title="Balanced",
        question="How many minutes was your way to work, and home?",
        attributes=(Attribute("there", "minutes", 0, 180), Attribute("back", "minutes", 0, 180)),
        table=example_table((1.0, 128, 128, 0.4)),
        opens=OPENS,
        closes=CLOSES,
    )


def example_campaigns() -> list[Campaign]:
    return [commute_campaign(), salary_campaign()]
