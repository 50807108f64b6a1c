"""Segments: public labels that reports of a campaign may carry."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from noutput import _checks
from noutput._text import check_name, check_text
from noutput.campaign.text import NEWER
from noutput.errors import DocumentError, InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["LEAST", "MAX_COMBINATIONS", "MAX_MINIMUM", "MAX_NAMES", "MINIMUM", "Labels", "Segments",
           "Told", "check_segments", "read_labels"]  # fmt: skip

MAX_NAMES = 8
MAX_COMBINATIONS = 1000
MINIMUM = 500  # reports of a combination that is shown, unless the campaign says otherwise
LEAST = 100  # of it
MAX_MINIMUM = 10**12
_LABEL_BYTES = 64
_MARKS = re.compile(r'["\\\[\]{}]')  # a batch is split at them before anything is parsed
_KEYS = ("names", "minimum")
_ENTRY = ("name", "labels")

Labels: TypeAlias = Mapping[str, str] | Iterable[tuple[str, str]]
Told: TypeAlias = tuple[tuple[str, str], ...]  # name and label, in the campaign's order


@dataclass(frozen=True, slots=True)
class Segments:
    """Names with a closed list of public labels each, by which a campaign's reports are counted.

    Parameters
    ----------
    names : tuple of (str, tuple of str)
        From 1 to 8 different names, as questions have them, each with at least 2 different labels
        of 1 to 64 bytes of UTF-8, without characters that cannot be seen, quotes, backslashes,
        brackets and braces. A mapping of names to labels is taken, too.
    minimum : int
        How many reports a combination of labels has before it is shown; at least 100.

    Notes
    -----
    "Not told" is a label of every name: the one of reports that do not tell. With it, there are at
    most 1,000 combinations. They are numbered: the first name varies slowest, and the digit of a
    name is 0 where it is not told, else 1 plus the place of its label.

    Guarantees
    ----------
    None for labels: they are *not* protected, and a collector sees them beside every report. A
    device tells those that the person's `Policy` names, and no others.

    Examples
    --------
    >>> segments = Segments({"platform": ("ios", "android"), "version": ("4.1", "4.2", "other")})
    >>> segments.n_combinations, segments.combination({"platform": "android", "version": "4.1"})
    (12, 9)
    >>> segments.labels(9), segments.combination({})
    ((('platform', 'android'), ('version', '4.1')), 0)
    >>> segments.told({"version": "4.2"}), segments.sizes
    ((('version', '4.2'),), (3, 4))
    >>> segments.notice
    'Reports may carry public labels: platform, version. Labels are not protected: the collector...'
    >>> Segments.from_document(segments.to_document()) == segments
    True
    >>> segments.combination({"platform": "web"})
    Traceback (most recent call last):
        ...
    noutput.errors.InvalidArgumentError: labels['platform'] must be one of 'ios', 'android'; ...
    """

    names: tuple[tuple[str, tuple[str, ...]], ...]
    minimum: int = MINIMUM

    def __post_init__(self) -> None:
        found: Any = self.names
        pairs = tuple(found.items()) if isinstance(found, Mapping) else found
        if not isinstance(pairs, list | tuple):
            raise InvalidArgumentError("segments.names", "be names with labels", found)
        if not 1 <= len(pairs) <= MAX_NAMES:
            rule = f"have from 1 to {MAX_NAMES} names"
            raise InvalidArgumentError("segments.names", rule, len(pairs))
        names = tuple(_checked(index, pair) for index, pair in enumerate(pairs))
        if len(dict(names)) < len(names):
            rule = "have different names"
            raise InvalidArgumentError("segments.names", rule, [name for name, _ in names])
        object.__setattr__(self, "names", names)
        if self.n_combinations > MAX_COMBINATIONS:
            rule = f"have at most {MAX_COMBINATIONS} combinations, 'not told' being one more label"
            raise InvalidArgumentError("segments.names", rule, self.n_combinations)
        least = _checks.whole("segments.minimum", self.minimum, LEAST, MAX_MINIMUM)
        object.__setattr__(self, "minimum", least)

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many labels each name has, "not told" included."""
        return tuple(len(labels) + 1 for _, labels in self.names)

    @property
    def n_combinations(self) -> int:
        """How many combinations of labels there are."""
        return math.prod(self.sizes)

    def told(self, labels: Labels) -> Told:
        """Return labels in the campaign's order, checked against its closed lists."""
        found = read_labels(labels)
        known = dict(self.names)
        for name, label in found.items():
            if name not in known:
                wanted = ", ".join(map(repr, known))
                raise InvalidArgumentError("labels", f"have the names {wanted}", name)
            _checks.choice(f"labels[{name!r}]", label, known[name])
        return tuple((name, found[name]) for name in known if name in found)

    def combination(self, labels: Labels) -> int:
        """Return the number of a combination; 0 where nothing is told."""
        found = dict(self.told(labels))
        number = 0
        for name, known in self.names:
            digit = 1 + known.index(found[name]) if name in found else 0
            number = number * (len(known) + 1) + digit
        return number

    def labels(self, combination: int) -> Told:
        """Return the labels that a combination tells."""
        rest = _checks.whole("combination", combination, 0, self.n_combinations - 1)
        result: list[tuple[str, str]] = []
        for name, known in reversed(self.names):
            rest, digit = divmod(rest, len(known) + 1)
            if digit:
                result.append((name, known[digit - 1]))
        return tuple(reversed(result))

    @property
    def notice(self) -> str:
        """What people are told before a label leaves their device."""
        names = ", ".join(name for name, _ in self.names)
        return (
            f"Reports may carry public labels: {names}. Labels are not protected: the collector "
            f"sees them. Only those that you allow leave this device."
        )

    def to_document(self) -> dict[str, Any]:
        """Return what the campaign's document says."""
        names = [{"name": name, "labels": list(labels)} for name, labels in self.names]
        return {"names": names, "minimum": self.minimum}

    @classmethod
    def from_document(cls, value: object) -> Segments | None:
        """Read what `to_document` returns, or ``{}``, and nothing else."""
        if value == {}:
            return None
        if not isinstance(value, dict) or set(value) != set(_KEYS):
            rule = f"be {{}}, or have the keys {list(_KEYS)}: else {NEWER}"
            raise DocumentError("segments", rule, value)
        if not isinstance(value["names"], list):
            raise DocumentError("segments.names", "be a list", value["names"])
        for index, entry in enumerate(value["names"]):
            if not isinstance(entry, dict) or set(entry) != set(_ENTRY):
                rule = f"have the keys {list(_ENTRY)}: else {NEWER}"
                raise DocumentError(f"segments.names[{index}]", rule, entry)
        if type(value["minimum"]) is not int:
            raise DocumentError("segments.minimum", "be a whole number", value["minimum"])
        names = tuple((entry["name"], entry["labels"]) for entry in value["names"])
        return cls(names, value["minimum"])


def read_labels(labels: Labels) -> dict[str, str]:
    """Return labels by their names; refuse what has none."""
    try:
        return dict(labels)
    except (TypeError, ValueError):
        rule = "be a mapping of names to labels"
        raise InvalidArgumentError("labels", rule, labels) from None


def check_segments(campaign: Campaign) -> None:
    """Refuse segments that are none."""
    found: object = campaign.segments
    if not isinstance(found, Segments | None):
        raise InvalidArgumentError("segments", "be Segments", type(found).__name__)


def _checked(index: int, pair: object) -> tuple[str, tuple[str, ...]]:
    path = f"segments.names[{index}]"
    if not isinstance(pair, list | tuple) or len(pair) != 2:
        raise InvalidArgumentError(path, "be a name and its labels", pair)
    name, labels = pair
    named = check_name(f"{path}.name", name)
    if not isinstance(labels, list | tuple) or len(labels) < 2:
        raise InvalidArgumentError(f"{path}.labels", "be a list of 2 labels or more", labels)
    for place, label in enumerate(labels):
        where = f"{path}.labels[{place}]"
        if _MARKS.search(check_text(where, label, 1, _LABEL_BYTES)):
            rule = "have no quotes, backslashes, brackets and braces"
            raise InvalidArgumentError(where, rule, label)
    if len(set(labels)) < len(labels):
        raise InvalidArgumentError(f"{path}.labels", "be different", labels)
    return named, tuple(labels)
