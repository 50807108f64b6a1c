"""Campaign draft: a small TOML file, as people write it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from noutput import _checks
from noutput.campaign.attribute import Attribute
from noutput.campaign.campaign import Campaign
from noutput.errors import DocumentError, InvalidArgumentError

if TYPE_CHECKING:
    from noutput.mechanisms.certified import CertifiedTable

__all__ = ["CampaignDraft"]

_NEEDED = ("id", "title", "question", "epsilon", "opens", "closes", "attributes")
_OPTIONAL = ("public", "goal", "table")
_ATTRIBUTE_NEEDED = ("name", "lower", "upper")
_TABLE = ("outputs", "objective", "method")
_OBJECTIVES = {"balanced": "balanced", "mean": "worst", "distribution": "distribution"}
_PAPER_METHODS = ("numerical", "analytical")


@dataclass(frozen=True, slots=True)
class CampaignDraft:
    """All of a campaign but its table, and what the table is to be designed for.

    Parameters
    ----------
    parts : dict
        The arguments of `Campaign`, without its table.
    design : dict
        The arguments of `noutput.design`: `epsilon`, and what the file says of the others.

    Examples
    --------
    >>> draft = CampaignDraft.from_toml('''
    ... id = "commute"
    ... title = "Commute"
    ... question = "How many minutes was your way to work?"
    ... epsilon = 1.0
    ... opens = 2026-03-01T00:00:00Z
    ... closes = 2026-04-01T00:00:00Z
    ...
    ... [[attributes]]
    ... name = "commute"
    ... unit = "minutes"
    ... lower = 0
    ... upper = 180
    ...
    ... [table]
    ... outputs = 32
    ... ''')
    >>> draft.design, draft.parts["goal"]
    ({'epsilon': 1.0, 'objective': 'balanced', 'n_outputs': 32}, 'balanced')
    """

    parts: dict[str, Any]
    design: dict[str, Any]

    @classmethod
    def from_toml(cls, text: str) -> CampaignDraft:
        """Read a draft; every error names the key, the rule and what was found."""
        try:
            found = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise DocumentError("file", "be TOML", str(error)) from None
        _check_keys("", found, _NEEDED, _OPTIONAL)
        design: dict[str, Any] = {"epsilon": _checks.positive("epsilon", found.pop("epsilon"))}
        table = _read_table(found.pop("table", {}))
        found.setdefault("goal", _goal(table))
        if found["goal"] in _OBJECTIVES:  # `Campaign` refuses others
            design |= {"objective": _objective(found["goal"], table.pop("objective", None))}
        design |= table
        for name in ("opens", "closes"):
            if not isinstance(found[name], datetime) or found[name].tzinfo is None:
                rule = "be an instant with a time zone, such as 2026-03-01T00:00:00Z"
                raise DocumentError(name, rule, str(found[name]))
        found["attributes"] = _read_attributes(found["attributes"])
        return cls(found, design)

    def campaign(self, table: CertifiedTable) -> Campaign:
        """Return the campaign with this table."""
        return Campaign(**self.parts, table=table)


def _read_attributes(value: object) -> tuple[Attribute, ...]:
    if not isinstance(value, list) or not all(isinstance(entry, dict) for entry in value):
        raise DocumentError("attributes", "be tables, each headed [[attributes]]", value)
    result = []
    for index, entry in enumerate(value):
        _check_keys(f"attributes[{index}].", entry, _ATTRIBUTE_NEEDED, ("unit",))
        try:
            result.append(Attribute(**{"unit": "", **entry}))
        except InvalidArgumentError as error:
            name = f"attributes[{index}].{error.name}"
            raise DocumentError(name, error.rule, error.found) from None
    return tuple(result)


def _read_table(value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DocumentError("table", "be a table, headed [table]", value)
    _check_keys("table.", value, (), _TABLE)
    result = dict(value)
    if "outputs" in result:
        result["n_outputs"] = _checks.whole("table.outputs", result.pop("outputs"), 2, 256)
    return result


def _goal(table: dict[str, Any]) -> str:
    """Return the goal that a table is for where the draft names none: "balanced" for any other."""
    objective = table.get("objective")
    if objective is None:
        return "mean" if table.get("method") in _PAPER_METHODS else "balanced"
    return objective if objective in ("balanced", "distribution") else "mean"


def _objective(goal: str, objective: object) -> object:
    """Return the objective of a table for a goal; refuse one that serves another goal."""
    if objective is None:
        return _OBJECTIVES[goal]
    if _goal({"objective": objective}) != goal:
        raise DocumentError("table.objective", f"serve the goal {goal!r}", objective)
    return objective


def _check_keys(
    prefix: str, found: dict[str, Any], needed: Iterable[str], optional: Iterable[str]
) -> None:
    known = [*needed, *optional]
    for key in found:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            rule = f"be {near[0]!r}" if near else f"be one of {known}"
            raise DocumentError(f"key {prefix}{key}", rule, key)
    for key in needed:
        if key not in found:
            raise DocumentError(f"{prefix}{key}", "be given", None)
