"""Exceptions: every error that noutput raises on purpose.

::

    NoutputError
    ├── InvalidArgumentError (also a ValueError): an argument breaks a rule
    │   ├── DocumentError: a JSON document is not what it claims to be
    │   └── PrivacyError: a table would reveal more than its epsilon allows
    ├── DesignError (also a ValueError): no mechanism of the requested kind was found
    ├── PolicyError: a person's own policy does not allow a report
    ├── NotDueError: a device answers in another round of the campaign
    ├── DeliveryError (also an OSError): a server could not be reached, or refused
    └── MissingExtraError (also an ImportError): an optional part is not installed
"""

from __future__ import annotations

import reprlib

__all__ = [
    "DeliveryError",
    "DesignError",
    "DocumentError",
    "InvalidArgumentError",
    "MissingExtraError",
    "NotDueError",
    "NoutputError",
    "PolicyError",
    "PrivacyError",
]


_LONGEST = 160  # characters of a text that is shown


def _shown(found: object) -> str:
    """Return a short text for any value, whole numbers of any size among them."""
    if isinstance(found, str):  # messages of parsers and paths are worth reading to the end
        return repr(found if len(found) <= _LONGEST else type(found)(_cut(found)))
    try:
        return reprlib.repr(found)
    except ValueError:  # Python refuses to print whole numbers of thousands of digits
        return f"a {type(found).__name__} too large to print"


def _cut(text: str) -> str:
    """Return the start of a long text, up to the end of a word where there are any."""
    start = text[:_LONGEST]
    return (start.rpartition(" ")[0] or start) + " ..."


class NoutputError(Exception):
    """The root of all errors raised by noutput.

    Examples
    --------
    >>> import noutput as no
    >>> try:
    ...     no.design(epsilon=-1)
    ... except no.NoutputError as error:
    ...     print(error)
    epsilon must be a positive finite number; found -1
    """


class InvalidArgumentError(NoutputError, ValueError):
    """An argument breaks a rule.

    Parameters
    ----------
    name : str
        The argument.
    rule : str
        What must hold, in words that complete "NAME must ...".
    found : object
        The value that was found instead.

    Examples
    --------
    >>> import noutput as no
    >>> try:
    ...     no.Interval(5, 5)
    ... except no.InvalidArgumentError as error:
    ...     print(error.name, error.found, error, sep=" | ")
    upper | 5.0 | upper must be larger than lower (5.0); found 5.0
    """

    def __init__(self, name: str, rule: str, found: object) -> None:
        super().__init__(f"{name} must {rule}; found {_shown(found)}")
        self.name = name
        self.rule = rule
        self.found = found

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.name, self.rule, self.found)


class DocumentError(InvalidArgumentError):
    """A JSON document has missing, extra or malformed content.

    Examples
    --------
    >>> import noutput as no
    >>> no.Tally.from_json("{}")
    Traceback (most recent call last):
        ...
    noutput.errors.DocumentError: format must be 'noutput-tally'; found None
    """


class PrivacyError(InvalidArgumentError):
    """A table would reveal more than its epsilon allows.

    Parameters
    ----------
    output : int
        Index of the first output that breaks the rule.
    likely, unlikely : int
        Indexes of the knots at which this output is most and least likely.
    weights : tuple of int
        The two weights, whose ratio exceeds e^epsilon.
    epsilon : float
        What the table claims, or a person's policy allows.
    message : str, optional
        What to say instead of the weights.

    Examples
    --------
    >>> import noutput as no
    >>> no.TableMechanism(1.0, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    Traceback (most recent call last):
        ...
    noutput.errors.PrivacyError: weights must satisfy max <= e^epsilon * min in every column ...
    """

    def __init__(
        self,
        output: int,
        likely: int,
        unlikely: int,
        weights: tuple[int, int],
        epsilon: float,
        message: str | None = None,
    ) -> None:
        super().__init__(
            "weights",
            f"satisfy max <= e^epsilon * min in every column (epsilon = {epsilon!r})",
            f"{weights[0]} / {weights[1]}",
        )
        place = f"at output {output}, rows {likely} and {unlikely}"
        self.args = (message or f"{self.args[0]} {place}: not private",)
        self._message = message
        self.output = output
        self.likely = likely
        self.unlikely = unlikely
        self.weights = weights
        self.epsilon = epsilon

    def __reduce__(self) -> tuple[object, ...]:
        where = (self.output, self.likely, self.unlikely)
        return type(self), (*where, self.weights, self.epsilon, self._message)


class DesignError(NoutputError, ValueError):
    """No mechanism of the wanted kind was found; the message says why.

    Examples
    --------
    >>> import noutput as no
    >>> no.design(1.0, 8, method="analytical")
    Traceback (most recent call last):
        ...
    noutput.errors.DesignError: n_outputs = 8 is too large for the analytical design at epsilon ...
    """


class PolicyError(NoutputError):
    """A person's own policy does not allow a report; the message says which limit.

    Examples
    --------
    >>> from noutput.campaign import Policy
    >>> Policy(total=2.0).check([1.5], 1.0)
    Traceback (most recent call last):
        ...
    noutput.errors.PolicyError: the policy allows a total epsilon of 2 in 30 days; 1.5 of it ...
    """


class NotDueError(NoutputError):
    """A device answers in another round of the campaign, which it has drawn in advance.

    Parameters
    ----------
    message : str
        What is the case.
    number : int, optional
        The next round in which it answers, if there is one.

    Examples
    --------
    >>> NotDueError("this device answers in round 3", 3).number
    3
    """

    def __init__(self, message: str, number: int | None = None) -> None:
        super().__init__(message)
        self.number = number

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (*self.args, self.number)


class DeliveryError(NoutputError, OSError):
    """A server could not be reached, or it refused what was sent.

    Parameters
    ----------
    message : str
        What went wrong.
    status : int, optional
        The HTTP status, where the server answered.
    problem : str, optional
        The type of the problem document, where the server sent one.

    Examples
    --------
    >>> DeliveryError("the server refused", 404, "urn:noutput:problem:unknown-campaign").status
    404
    """

    def __init__(self, message: str, status: int | None = None, problem: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.problem = problem

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (*self.args, self.status, self.problem)


class MissingExtraError(NoutputError, ImportError):
    """An optional part of noutput is not installed.

    Parameters
    ----------
    package : str
        The package that could not be imported.
    extra : str
        The extra of noutput that brings it.

    Examples
    --------
    >>> str(MissingExtraError("matplotlib", "plot"))
    "matplotlib is not installed: pip install 'noutput[plot]'"
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'noutput[{extra}]'")
        self.package = package
        self.extra = extra

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.package, self.extra)
