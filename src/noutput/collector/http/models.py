"""What the routes answer, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

__all__ = [
    "AnswersEstimate", "CampaignList", "CampaignSummary", "DistributionModel", "EstimatesModel",
    "Health", "MeanModel", "NumberEstimate", "ProblemModel", "ReportOutcome", "TokenCreated",
    "TokenInfo", "TokenKind", "TokenList", "TokenRequest", "VarianceModel",
]  # fmt: skip


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
    reports: int = Field(ge=0)


class CampaignList(_Model):
    """Campaigns in the order of their creation."""

    campaigns: list[CampaignSummary]


class MeanModel(_Model):
    """The estimate of the mean.

    It is unbiased, or off by at most `bias_bound` on average, which the interval allows for.
    """

    value: float
    standard_error: float
    interval: tuple[float, float]
    method: Literal["unbiased", "nearly unbiased"]
    bias_bound: float = Field(ge=0)


class VarianceModel(_Model):
    """The variance of the estimated distribution."""

    value: float
    interval: tuple[float, float]


class QuantileModel(_Model):
    """The number below which a share of all numbers lies."""

    share: float
    value: float
    interval: tuple[float, float]


class DistributionModel(_Model):
    """A histogram of equal bins between the bounds."""

    edges: list[float]
    probabilities: list[float]
    lower: list[float]
    upper: list[float]
    method: str


class _QuestionEstimate(_Model):
    name: str
    label: str


class AnswersEstimate(_QuestionEstimate):
    """How many reports there are on a question with answers."""

    kind: Literal["scale", "choice", "yes/no"]
    answers: list[str] = Field(description="The labels of the answers.")
    reports: int = Field(ge=0)


class NumberEstimate(_QuestionEstimate):
    """What the reports on one number say; null where there are fewer than two."""

    kind: Literal["number"]
    unit: str
    lower: float
    upper: float
    reports: int = Field(ge=0)
    mean: MeanModel | None
    variance: VarianceModel | None
    quantiles: list[QuantileModel] | None
    distribution: DistributionModel | None
    histogram: DistributionModel | None = Field(
        description="The distribution with four bins as one, where their number allows it: "
        "what wider bins hold is known better."
    )
    goodness_of_fit: float | None = Field(
        description="p-value: how plausible it is that all reports came from the table."
    )


class EstimatesModel(_Model):
    """What a campaign's reports say."""

    campaign: str
    fingerprint: str
    epsilon: float
    state: Literal["upcoming", "open", "closed"]
    reports: int = Field(ge=0)
    as_of: str = Field(description="When the counts were read.")
    level: float = Field(description="Of every interval on its own.")
    questions: list[NumberEstimate | AnswersEstimate]


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


class Health(_Model):
    """Whether reports can be counted."""

    status: Literal["ok"]
    version: str
