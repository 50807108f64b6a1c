"""What the routes answer, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from noutput.collector.http.strata_models import StrataModel  # noqa: TC001 (pydantic reads it)

__all__ = [
    "ActionLog", "ActionModel", "AnswerModel", "AnswersEstimate", "CampaignList",
    "CampaignSummary", "CellsEstimate", "ClosingModel", "DistributionModel", "EstimatesModel",
    "Health", "MeanModel", "NumberEstimate", "PrivacyModel", "ProblemModel", "PublishedModel",
    "ReadersModel", "ReportOutcome", "TokenCreated", "TokenInfo", "TokenKind", "TokenList",
    "TokenRequest", "VarianceModel", "YesNoEstimate",
]  # fmt: skip


_CLAIMED = "Null where there is a warning: then nothing is claimed."

TokenKind: TypeAlias = Literal["admin", "read", "metrics"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ProblemModel(_Model):
    """A problem document (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str


class ReportOutcome(_Model):
    """What became of the reports of a request."""

    accepted: int = Field(ge=0, description="Counted now, and durably so.")
    repeated: int = Field(ge=0, description="Counted before.")


class CampaignSummary(_Model):
    """A campaign, its state and, for those who may know, how many reports it has."""

    id: str
    title: str
    text: str
    fingerprint: str
    epsilon: float
    objectives: list[str] = Field(description="What the table of each question is for.")
    public: bool
    opens: str
    closes: str
    closed: str | None = Field(
        description="When it was closed, by hand or by its time; null while it is not."
    )
    state: Literal["upcoming", "open", "closed"]
    reports: int = Field(ge=0, description="How many are published.")
    received: int | None = Field(
        ge=0,
        description="How many were counted, for its administrators; null for others, unless it "
        "is closed and none is published.",
    )


class ClosingModel(_Model):
    """What becomes of the reports of a campaign if it is closed now, which is for good."""

    received: int = Field(ge=0, description="How many were counted.")
    published: int = Field(ge=0, description="How many of them are published then.")
    hidden: int = Field(ge=0, description="The others: they are never published.")


class CampaignList(_Model):
    """Campaigns in the order of their creation."""

    campaigns: list[CampaignSummary]


class MeanModel(_Model):
    """The estimate of the mean.

    It is unbiased, or off by at most `bias_bound` on average, which the interval allows for, or
    the middle of a slack interval: of the means of all distributions that fit the reports.
    """

    value: float
    standard_error: float | None = Field(description=_CLAIMED)
    interval: tuple[float, float] | None = Field(description=_CLAIMED)
    method: Literal["unbiased", "nearly unbiased", "slack"]
    bias_bound: float = Field(ge=0)
    influence: float = Field(
        ge=0, description="How far one report can move the mean: k people who lie, k times as far."
    )


class VarianceModel(_Model):
    """The variance of the estimated distribution, moved into its interval."""

    value: float
    interval: tuple[float, float] | None = Field(description=_CLAIMED)


class QuantileModel(_Model):
    """The number below which a share of all numbers lies, moved into its interval."""

    share: float
    value: float
    interval: tuple[float, float] | None = Field(description=_CLAIMED)


class DistributionModel(_Model):
    """A histogram of equal bins between the bounds, its shares moved into their intervals."""

    edges: list[float]
    probabilities: list[float]
    lower: list[float] | None = Field(description=_CLAIMED)
    upper: list[float] | None = Field(description=_CLAIMED)
    method: str


class ShareModel(_Model):
    """The estimate of a share of all people: unbiased, so that it may lie below 0 or above 1.

    Its interval is cut to what is possible, and assumes nothing about what people answer.
    """

    value: float
    interval: tuple[float, float] | None = Field(description=_CLAIMED)
    standard_error: float | None = Field(ge=0, description=_CLAIMED)
    influence: float = Field(
        ge=0, description="How far one report can move the share, by the scores of exact intervals."
    )


class ScoreModel(_Model):
    """The estimate of the mean score: unbiased."""

    value: float
    interval: tuple[float, float] | None = Field(description=_CLAIMED)
    standard_error: float | None = Field(ge=0, description=_CLAIMED)


class AtMostModel(_Model):
    """The share of people with an answer, or one before it."""

    value: float
    interval: tuple[float, float] | None = Field(description=_CLAIMED)


class AnswerModel(_Model):
    """How many people have an answer; null where there are fewer than two reports."""

    answer: float | str
    label: str
    share: ShareModel | None
    joint_interval: tuple[float, float] | None = Field(
        description="Wider: the level holds for the shares of all answers together."
    )
    at_most: AtMostModel | None = Field(description="Null too where the answers have no order.")


class AnswerQuantileModel(_Model):
    """The first answer with a share of all people at or before it, and which it may be."""

    share: float
    value: float | str
    interval: tuple[float | str, float | str] | None = Field(description=_CLAIMED)


class PublishedModel(_Model):
    """The releases in which the reports on a question were published."""

    at: str = Field(description="When the last one was.")
    releases: int = Field(ge=1, description="How many there have been.")
    smallest: int = Field(ge=1, description="How many new reports the smallest one had.")
    last: int = Field(ge=1, description="How many new reports the last one had.")


class _QuestionEstimate(_Model):
    name: str
    label: str
    text: str
    epsilon: float = Field(description="Of a report on this question.")
    reports: int = Field(ge=0, description="How many are published.")
    reason: str | None = Field(description="Why there is no estimate; null where there is one.")
    warning: str | None = Field(
        description="The headline where reports are probably forged (goodness_of_fit below 0.001), "
        "to be shown before any figure. All intervals and standard errors of the question are null "
        "then, because they allow for chance and not for forgery."
    )
    published: PublishedModel | None = Field(description="Null before the first.")
    goodness_of_fit: float | None = Field(
        description="p-value: how plausible it is that all reports came from the table."
    )


class YesNoEstimate(_QuestionEstimate):
    """The share of people who say yes; null where there are fewer than two reports."""

    kind: Literal["yes/no"]
    yes: ShareModel | None


class AnswersEstimate(_QuestionEstimate):
    """What the reports on a scale or a choice say; null where there are fewer than two."""

    kind: Literal["scale", "choice"]
    answers: list[AnswerModel] = Field(description="As declared.")
    mean: ScoreModel | None = Field(description="Null too where the answers have no scores.")
    quantiles: list[AnswerQuantileModel] | None = Field(
        description="Answers, never anything between them. Null too where there is no order."
    )


class IntervalsModel(_Model):
    """What all intervals of a number but the mean's are."""

    kind: Literal["slack", "guaranteed"] = Field(
        description="slack: all distributions that fit the reports; guaranteed: with a proof for "
        "every number of reports, and always below 100."
    )
    assumption: str = Field(description="The same as a sentence for people.")


class NumberEstimate(_QuestionEstimate):
    """What the reports on a number without edges say; null where there are fewer than two."""

    kind: Literal["number"]
    unit: str
    lower: float
    upper: float
    mean: MeanModel | None
    variance: VarianceModel | None
    quantiles: list[QuantileModel] | None
    distribution: DistributionModel | None
    histogram: DistributionModel | None = Field(
        description="The same with fewer and wider bins, as many as the reports can tell apart."
    )
    intervals: IntervalsModel | None


class CellMeanModel(_Model):
    """The mean of a number with edges: that of the likeliest shares of its cells."""

    value: float
    interval: tuple[float, float] | None = Field(description=_CLAIMED)
    unbiased: float = Field(description="By which groups and rounds are compared.")
    standard_error: float | None = Field(ge=0, description=f"Of `unbiased`. {_CLAIMED}")
    influence: float = Field(ge=0, description="About how far one false report moves the value.")


class FigureModel(_Model):
    """A figure of the likeliest shares of the cells."""

    value: float
    interval: tuple[float, float] | None = Field(description=_CLAIMED)


class BelowModel(FigureModel):
    """The share of people strictly below an edge."""

    number: float


class CellModel(FigureModel):
    """The share of people from one edge, or bound, up to the next."""

    from_: float = Field(alias="from")
    to: float = Field(description="Not in the cell, but for the upper bound.")
    joint_interval: tuple[float, float] | None = Field(
        description="Wider: the level holds for all cells together."
    )


class CellQuantileModel(_Model):
    """The range of edges that a quantile lies in."""

    share: float
    value: float | None = Field(description="Null where more than two cells may hold it.")
    interval: tuple[float, float] | None = Field(description=_CLAIMED)


class CellIntervalsModel(_Model):
    """What all intervals of a number with edges are."""

    kind: Literal["normal", "guaranteed"] = Field(
        description="guaranteed: with a proof for every number of reports, and always below 100."
    )
    assumption: str = Field(description="The same as a sentence for people.")


class CellsEstimate(_QuestionEstimate):
    """What the reports on a number with edges say; null where there are fewer than two."""

    kind: Literal["number"]
    unit: str
    lower: float
    upper: float
    edges: list[float]
    mean: CellMeanModel | None
    standard_deviation: FigureModel | None = Field(description="Null too where it is not told.")
    quantiles: list[CellQuantileModel] | None
    below: list[BelowModel] | None
    cells: list[CellModel] | None
    intervals: CellIntervalsModel | None


class OperatorModel(_Model):
    """What the collector's operator can learn about a person."""

    epsilon: float
    text: str


class ReadersModel(_Model):
    """What everybody else can learn, who sees only what is published."""

    epsilon: float = Field(description="With a schedule, about what one person sends per period.")
    delta: float
    campaign_epsilon: float = Field(description="About what one person sends in all periods.")
    release: int = Field(ge=1, description="The fewest reports that were published together.")
    text: str


class PrivacyModel(_Model):
    """What is promised to a person who reports, about all that they send."""

    operator: OperatorModel
    readers: ReadersModel | None = Field(
        description="Null where reports need no token: whoever can invent reports can fill a "
        "release. Null too where nothing below the epsilon of the operator is proven."
    )


class WaveQuestion(_Model):
    """How a wave asked one question."""

    name: str
    lower: float | None = Field(description="Numbers below were moved to it; null for answers.")
    upper: float | None = Field(description="Numbers above were moved to it; null for answers.")
    reports: int = Field(ge=0, description="How many of this wave are published.")
    counts: list[int] = Field(description="How many of them have each output of the wave's table.")
    reason: str = Field(description="Why these bounds; empty in the first wave.")


class WaveModel(_Model):
    """One wave of a campaign; one that is not adaptive has one."""

    fingerprint: str = Field(description="Of the document up to this wave.")
    questions: list[WaveQuestion]


class EstimatesModel(_Model):
    """What a campaign's reports say."""

    campaign: str
    fingerprint: str
    epsilon: float = Field(description="Of all that one person sends.")
    ask: Literal["one", "all"] = Field(
        description="Whether a person answers one question, drawn at random, or all."
    )
    state: Literal["upcoming", "open", "closed"]
    reports: int = Field(ge=0, description="How many are published.")
    as_of: str | None = Field(
        description="When these counts were published; null before the first release."
    )
    privacy: PrivacyModel
    waves: list[WaveModel]
    level: float = Field(description="Of every interval on its own, but for `joint_interval`.")
    questions: list[NumberEstimate | CellsEstimate | AnswersEstimate | YesNoEstimate]
    strata: StrataModel | None = Field(
        default=None, description="Absent for a campaign without segments and rounds."
    )


class TokenRequest(_Model):
    """Which token is wanted."""

    kind: TokenKind
    campaign: str | None = Field(
        default=None, pattern="^[a-z0-9][a-z0-9-]{0,63}$",
        description="The only campaign that it is for; all where null.",
    )  # fmt: skip
    label: str = Field(default="", max_length=100, description="What people call it.")
    expires: str | None = Field(
        default=None, description="The instant from which it is not valid; never where null."
    )


class TokenInfo(_Model):
    """A token without its secret."""

    id: str
    kind: TokenKind
    campaign: str | None
    label: str
    created: str
    expires: str | None
    last_used: str | None = Field(description="The day.")
    parent: str | None = Field(description="The admin token that signed in, with which it ends.")


class TokenCreated(TokenInfo):
    """A new token; it is shown this once."""

    token: str


class TokenList(_Model):
    """All tokens without their secrets."""

    tokens: list[TokenInfo]


class AdmissionRequest(_Model):
    """How many one-time tokens are wanted."""

    count: int = Field(ge=1, le=10_000)


class AdmissionTokens(_Model):
    """New one-time tokens, each for one person; they are shown this once."""

    tokens: list[str]


class ActionModel(_Model):
    """An administrative action: no address, no label and no secret."""

    number: int = Field(ge=1, description="Without gaps: what is missing was taken out.")
    at: str
    by: str = Field(description='The id of a token, or "command line" for the operator.')
    name: str = Field(description="Such as campaign.close or token.create.")
    campaign: str | None = Field(description="Which campaign it is about.")
    token: str | None = Field(description="The id of the token that it is about.")
    detail: str = Field(description="The kind of a token, or how many there are.")


class ActionLog(_Model):
    """Administrative actions, the newest first."""

    entries: list[ActionModel]
    next: int | None = Field(description="The `before` of the next page; null on the last one.")


class Health(_Model):
    """The process answers, or reports can be counted."""

    status: Literal["ok"]
    version: str
