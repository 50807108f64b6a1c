"""A campaign: what is asked, how privately, and when, as one immutable document."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from noutput import _checks
from noutput.campaign.attribute import Attribute
from noutput.campaign.text import (
    check_instant,
    check_pattern,
    check_text,
    format_instant,
    parse_instant,
)
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document
from noutput.mechanisms.certified import CertifiedTable

__all__ = ["FORMAT", "GOALS", "MAX_ATTRIBUTES", "VERSION", "Campaign"]

FORMAT = "noutput-campaign"
VERSION = 1
GOALS = ("balanced", "mean", "distribution")
MAX_ATTRIBUTES = 64
_ID = re.compile(r"[a-z0-9][a-z0-9-]{0,63}", re.ASCII)
_KEYS = (
    "id", "title", "question", "goal", "public", "opens", "closes", "attributes", "table",
    "fingerprint",
)  # fmt: skip
_ATTRIBUTE_KEYS = ("name", "unit", "lower", "upper")


@dataclass(frozen=True)
class Campaign:
    r"""What is asked, how privately, and when.

    Parameters
    ----------
    id : str
        Its name in addresses: from 1 to 64 of the characters a-z, 0-9 and -.
    title, question : str
        What people read; up to 200 and 1,000 bytes of UTF-8.
    attributes : tuple of Attribute
        What is asked for. Every report is about one of them, drawn at random.
    table : CertifiedTable
        Draws the reports of every attribute: each is mapped to [-1, 1] first.
    opens, closes : datetime
        When reports are counted, from `opens` until just before `closes`; whole seconds.
    public : bool
        Whether anyone may read the estimates.
    goal : "balanced", "mean" or "distribution"
        What the table was designed for; "balanced" is the mean and the distribution.

    Guarantees
    ----------
    Every report of the campaign satisfies :math:`\epsilon`-local differential privacy with
    `epsilon` = ``table.epsilon``, which the table has proven in whole numbers. This holds for
    the report as a whole and for all attributes together: which attribute it is about does not
    depend on any value.

    Examples
    --------
    >>> from datetime import UTC
    >>> quarter = 1 << 30
    >>> rows = ((3 * quarter, quarter), (quarter, 3 * quarter))
    >>> table = CertifiedTable(1.1, (-2.0, 2.0), (-1.0, 1.0), rows)
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", question="How long was your way to work?",
    ...     attributes=(Attribute("commute", "minutes", 0, 180),), table=table,
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2026, 4, 1, tzinfo=UTC),
    ... )
    >>> Campaign.from_json(campaign.to_json()) == campaign
    True
    >>> campaign.epsilon, campaign.is_open(datetime(2026, 3, 31, tzinfo=UTC))
    (1.1, True)
    >>> campaign.attribute_indexes, len(campaign.fingerprint)
    ({'commute': 0}, 64)
    """

    id: str
    title: str
    question: str
    attributes: tuple[Attribute, ...]
    table: CertifiedTable
    opens: datetime
    closes: datetime
    public: bool = False
    goal: str = "balanced"

    def __post_init__(self) -> None:
        rule = "be a letter a-z or a digit and at most 63 more of a-z, 0-9 and -"
        check_pattern("id", self.id, _ID, rule)
        check_text("title", self.title, 1, 200)
        check_text("question", self.question, 1, 1000)
        _checks.choice("goal", self.goal, GOALS)
        if not isinstance(self.public, bool):
            raise InvalidArgumentError("public", "be true or false", self.public)
        for name in ("opens", "closes"):
            object.__setattr__(self, name, check_instant(name, getattr(self, name)))
        if not self.opens < self.closes:
            rule = f"be later than opens ({format_instant(self.opens)})"
            raise InvalidArgumentError("closes", rule, format_instant(self.closes))
        object.__setattr__(self, "attributes", tuple(self.attributes))
        names = [attribute.name for attribute in self.attributes]
        if not 1 <= len(names) <= MAX_ATTRIBUTES:
            rule = f"have from 1 to {MAX_ATTRIBUTES} entries"
            raise InvalidArgumentError("attributes", rule, len(names))
        if len(set(names)) < len(names):
            raise InvalidArgumentError("attributes", "have different names", names)

    @property
    def epsilon(self) -> float:
        """The privacy loss of one report, proven by the table."""
        return self.table.epsilon

    @cached_property
    def attribute_indexes(self) -> dict[str, int]:
        """The place of every attribute's name."""
        return {attribute.name: index for index, attribute in enumerate(self.attributes)}

    def is_open(self, now: datetime) -> bool:
        """Say whether reports are counted at this instant."""
        return self.opens <= now < self.closes

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form, as 64 hexadecimal digits.

        Notes
        -----
        The canonical form is the ASCII text ``noutput-campaign 1`` and a line feed; id, title,
        question, goal, opens and closes as texts; one byte that is 1 where the campaign is
        public and 0 otherwise; the number of attributes (uint32) and for each its name and unit
        as texts, lower and upper (float64); the 32 bytes of the table's fingerprint. A text is
        its number of bytes (uint32) and its UTF-8. Numbers are little-endian.
        """
        opens, closes = format_instant(self.opens), format_instant(self.closes)
        texts = (self.id, self.title, self.question, self.goal, opens, closes)
        parts = [b"noutput-campaign 1\n", *map(_canonical_text, texts)]
        parts.append(struct.pack("<BI", self.public, len(self.attributes)))
        for each in self.attributes:
            parts += [_canonical_text(each.name), _canonical_text(each.unit)]
            parts.append(struct.pack("<dd", each.lower, each.upper))
        parts.append(bytes.fromhex(self.table.fingerprint))
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def to_json(self) -> str:
        """Return the campaign as a JSON document with a format version and its fingerprint."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "id": self.id,
            "title": self.title,
            "question": self.question,
            "goal": self.goal,
            "public": self.public,
            "opens": format_instant(self.opens),
            "closes": format_instant(self.closes),
        }
        head = json.dumps(content, indent=1, ensure_ascii=False).removesuffix("\n}")
        attributes = ",\n  ".join(
            json.dumps({key: getattr(each, key) for key in _ATTRIBUTE_KEYS}, ensure_ascii=False)
            for each in self.attributes
        )
        table = self.table.to_json().rstrip("\n").replace("\n", "\n ")
        return (
            f'{head},\n "attributes": [\n  {attributes}\n ],\n "table": {table},\n'
            f' "fingerprint": "{self.fingerprint}"\n}}\n'
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Campaign:
        """Read a campaign from JSON, and certify its table; errors as in `CertifiedTable`."""
        found = document.read(text, FORMAT, VERSION, _KEYS)
        if not isinstance(found["table"], dict):
            raise DocumentError("table", "be a JSON object", type(found["table"]).__name__)
        campaign = cls(
            id=found["id"],
            title=found["title"],
            question=found["question"],
            attributes=_read_attributes(found["attributes"]),
            table=CertifiedTable.from_document(found["table"]),
            opens=parse_instant("opens", found["opens"]),
            closes=parse_instant("closes", found["closes"]),
            public=found["public"],
            goal=found["goal"],
        )
        if found["fingerprint"] != campaign.fingerprint:
            rule = f"be {campaign.fingerprint}"
            raise DocumentError("fingerprint", rule, found["fingerprint"])
        return campaign


def _canonical_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<I", len(data)) + data


def _read_attributes(value: object) -> tuple[Attribute, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_ATTRIBUTES:
        rule = f"be a list of 1 to {MAX_ATTRIBUTES} entries"
        raise DocumentError("attributes", rule, value)
    result = []
    for index, entry in enumerate(value):
        if not isinstance(entry, dict):
            raise DocumentError(f"attributes[{index}]", "be a JSON object", entry)
        if set(entry) != set(_ATTRIBUTE_KEYS):
            rule = f"have the keys {sorted(_ATTRIBUTE_KEYS)}"
            raise DocumentError(f"attributes[{index}]", rule, sorted(entry))
        try:
            result.append(Attribute(**entry))
        except InvalidArgumentError as error:
            name = f"attributes[{index}].{error.name}"
            raise DocumentError(name, error.rule, error.found) from None
    return tuple(result)
