"""What the routes of segments and rounds answer, as the OpenAPI document describes it."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["ComparisonModel", "StrataModel", "TrendModel"]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class StrataModel(_Model):
    """Which labels and rounds estimates are about, and what is hidden."""

    labels: dict[str, str] = Field(
        description="An empty label is that of people who did not tell; all labels where empty."
    )
    rounds: tuple[int, int] | None = Field(description="The first and the last; null for all.")
    minimum: int | None = Field(
        description="How many reports a combination has at least that is shown, and every release; "
        "null without segments."
    )
    combinations: int = Field(ge=1, description="How many combinations of labels there are.")
    shown: int = Field(ge=0, description="How many of them have published reports, in any round.")
    without_labels: int = Field(
        ge=0, description="How many reports of these rounds are published without their labels."
    )
    without_round: int = Field(
        ge=0, description="How many are published without their round; of all rounds alone."
    )
    partial: list[int] = Field(
        description="Which of these rounds are left out: what is published of them on some "
        "question is not everybody's. None where labels, or all rounds are asked for."
    )
    text: str = Field(description="The same as a sentence for people.")


class GroupModel(_Model):
    """People with the same labels."""

    group: str = Field(
        description="Their labels, with ' / ' between them; 'not told' for those who did not tell."
    )
    labels: dict[str, str] = Field(description="An empty label is that of those who did not tell.")
    reports: int = Field(ge=0, description="How many are published; 0 for a group that is hidden.")


class GroupEstimate(_Model):
    """A statistic of one group."""

    group: str
    value: float
    standard_error: float = Field(ge=0)
    interval: tuple[float, float] = Field(description="On its own.")


class DifferenceModel(_Model):
    """A statistic of the first group, less that of the second."""

    first: str
    second: str
    value: float
    standard_error: float = Field(ge=0)
    low: float = Field(description="The interval covers together with those of all other pairs.")
    high: float
    is_clear: bool = Field(description="Whether the interval leaves out 0.")


class StandardizedModel(_Model):
    """A statistic of a population with the given shares of the groups."""

    value: float | None
    standard_error: float | None = Field(ge=0)
    interval: tuple[float, float] | None
    reason: str | None = Field(description="Why there is none; null where there is one.")


class StatisticModel(_Model):
    """A statistic of all groups that are shown."""

    name: str = Field(
        description='"mean", the label of an answer whose share it is, "below X" or "quantile P".'
    )
    estimates: list[GroupEstimate]
    differences: list[DifferenceModel] | None = Field(
        description="Of all pairs; null where they are not asked for."
    )
    standardized: StandardizedModel | None = Field(description="Null where no weight is given.")


class ComparisonModel(_Model):
    """Groups of people, compared by one question."""

    campaign: str
    question: str
    by: list[str] = Field(description="The segments whose labels make the groups.")
    within: dict[str, str] = Field(description="The labels of all people who are compared.")
    rounds: tuple[int, int] | None = Field(description="The first and the last; null for all.")
    level: float = Field(description="Of intervals; of differences, of all pairs together.")
    minimum: int = Field(
        description="How many reports a combination has at least that is shown, and every release."
    )
    groups: list[GroupModel]
    hidden: int = Field(ge=0, description="How many groups have no published report.")
    text: str = Field(description="The same as a sentence for people.")
    statistics: list[StatisticModel]


class RoundEstimate(_Model):
    """The statistic of one round."""

    value: float
    standard_error: float = Field(ge=0)
    interval: tuple[float, float]


class TrendPoint(_Model):
    """The smoothed statistic of one round, which rests on an assumption."""

    value: float
    interval: tuple[float, float]
    jump: float = Field(ge=0, le=1.0001, description="The chance of a jump just before the round.")


class RoundModel(_Model):
    """One round."""

    round: int = Field(ge=0)
    start: str
    end: str
    is_over: bool = Field(description="Whether its grace time is over as well.")
    is_whole: bool = Field(
        description="Whether what is published stands for everybody who was asked for."
    )
    reports: int = Field(ge=0, description="How many are published.")
    estimate: RoundEstimate | None = Field(
        description="Null where too few are published, or not the whole round."
    )
    trend: TrendPoint | None = Field(description="Null where too few rounds have an estimate.")


class ShiftModel(_Model):
    """An alarm: the statistic seems to have changed."""

    alarm: int = Field(ge=0, description="The round that raised it.")
    since: int = Field(ge=0, description="The round in which the change began, it seems.")
    direction: Literal["up", "down"]


class TrendModel(_Model):
    """A statistic over the rounds of a campaign: of the last 200 that have begun, at most."""

    campaign: str
    question: str
    statistic: str = Field(
        description='"mean", the label of an answer whose share it is, "below X" or "quantile P".'
    )
    labels: dict[str, str]
    every: Literal["hour", "day", "week"]
    level: float = Field(description="Of every interval on its own.")
    cycle: int | None
    rounds: list[RoundModel]
    shifts: list[ShiftModel]
    false_alarms_per_year: float = Field(description="Of shifts, if nothing changes.")
    reason: str | None = Field(description="Why there is no trend; null where there is one.")
