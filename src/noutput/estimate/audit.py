"""A statistical audit of samplers: a lower bound on the privacy loss that they really have."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from scipy.stats import beta

from noutput import _checks
from noutput._progress import shown_progress
from noutput.errors import InvalidArgumentError
from noutput.estimate.events import Reader, find_event, readers_of
from noutput.mechanisms.base import Mechanism, missing_parts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Audit", "audit"]

Sampler: TypeAlias = "Callable[[NDArray[np.float64], np.random.Generator | None], ArrayLike]"

_INPUTS = 129  # every bin of up to 64 holds one
_FEWEST_SCREENED = 1000
_SCREENED_PAIRS = 4
_MOST_INPUTS = 1024
_MOST_SCREENED = 1 << 20  # reports of all inputs together
_BATCH = 1 << 17
_LARGEST_PILOT = 1 << 18


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit found.

    Parameters
    ----------
    claim : float
        The epsilon that the sampler claims.
    epsilon_lower_bound : float
        What its loss is at least, at the level of confidence.
    confidence : float
        How often such a bound holds.
    inputs : tuple of two floats
        The inputs that the event tells apart: more likely, less likely.
    event : str
        The reports that give the bound.
    counts : tuple of two ints
        How many reports of each input belong to the event.
    samples : int
        How many reports of each input were drawn to count them.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> found = no.audit(m, rng=np.random.default_rng(7))
    >>> found.passed, found.epsilon_lower_bound <= found.claim
    (True, True)
    """

    claim: float
    epsilon_lower_bound: float
    confidence: float
    inputs: tuple[float, float]
    event: str
    counts: tuple[int, int]
    samples: int

    @property
    def passed(self) -> bool:
        """Whether the sampler may be as private as it claims."""
        return self.epsilon_lower_bound <= self.claim


def audit(
    sampler: Mechanism | Sampler,
    epsilon: float | None = None,
    *,
    samples: int = 200_000,
    confidence: float = 0.999,
    inputs: ArrayLike | None = None,
    rng: np.random.Generator | None = None,
) -> Audit:
    r"""Draw reports, and bound the privacy loss of what draws them from below.

    Parameters
    ----------
    sampler : mechanism, or callable
        Of a mechanism, `privatize` is run. A callable takes an array of inputs and `rng`, and
        returns as many reports: numbers, records, or rows of bits.
    epsilon : float, optional
        The claim. A callable needs one; that of a mechanism is its own epsilon if not given.
    samples : int
        How many reports of each input of a pair are counted.
    confidence : float
        How often the bound holds: a private sampler fails with probability 1 - confidence at
        most.
    inputs : sequence of floats, optional
        Inputs to try, at most 1024 different ones; 129 equal steps of [-1, 1] if not given.
    rng : numpy Generator, optional
        Handed to the sampler; None is secure randomness for those of this library.

    Notes
    -----
    Reports at all inputs are screened for the pairs of inputs that differ most; to these the
    first, the middle and the last input are added. For each pair, a pilot of fresh reports
    selects the event with the largest ratio of probabilities. Then fresh reports are counted, and
    with the Clopper-Pearson limits of both probabilities

    .. math:: \ln P(E \mid x)_{\text{lower}} - \ln P(E \mid x')_{\text{upper}}

    bounds the loss. The error probability is divided among all limits (Bonferroni), and reports
    that selected an event are never counted for it.

    Guarantees
    ----------
    An epsilon-locally differentially private sampler fails with probability 1 - `confidence` at
    most, whatever it is. The reverse does not hold: a pass is no proof of privacy, it says that
    this many samples at these inputs showed no fault. Numbers are read by value; those that hardly
    repeat are read by their lowest set bit, too, which is where samplers that add floats leak
    (Mironov 2012, doi:10.1145/2382196.2382264), but what only other low digits of such numbers
    tell is not seen. Rows of bits are read bit by bit, and as a whole where they have at most 16
    bits or few different ones are seen; in other long rows, what only several bits together tell
    is not seen.

    Examples
    --------
    >>> import noutput as no
    >>> rng = np.random.default_rng(7)
    >>> no.audit(no.mechanism("duchi", 1.0), samples=20_000, rng=rng).passed
    True
    >>> no.audit(lambda x, rng: x > 0.0, 1.0, samples=20_000, rng=rng).passed
    False
    """
    draw, claim = _clean_sampler(sampler, epsilon)
    size = _checks.whole("samples", samples, 1000, 1 << 31)
    if not 0.5 <= confidence < 1.0:
        raise InvalidArgumentError("confidence", "lie in [0.5, 1)", confidence)
    grid = np.linspace(-1.0, 1.0, _INPUTS) if inputs is None else _checks.vector("inputs", inputs)
    if not 2 <= len(grid) <= _MOST_INPUTS:
        rule = f"have from 2 to {_MOST_INPUTS} entries"
        raise InvalidArgumentError("inputs", rule, len(grid))
    if len(np.unique(grid)) < len(grid):
        raise InvalidArgumentError("inputs", "be different numbers", inputs)
    screened = min(max(_FEWEST_SCREENED, size // 32), _MOST_SCREENED // len(grid))
    with shown_progress("Auditing") as progress:
        readers, pairs = _screen(draw, grid, screened, rng)
        level = (1.0 - confidence) / (2.0 * len(pairs))
        found = []
        for number, pair in enumerate(pairs):
            progress((number + 1) / (len(pairs) + 1))
            found.append(_confirm(draw, readers, pair, size, level, rng))
    bound, pair, event, counts = max(found, key=lambda entry: entry[0])
    return Audit(claim, max(bound, 0.0), confidence, pair, event, counts, size)


def _clean_sampler(sampler: Mechanism | Sampler, epsilon: float | None) -> tuple[Sampler, float]:
    if isinstance(sampler, Mechanism):
        claim = sampler.epsilon if epsilon is None else epsilon
        return sampler.privatize, _checks.positive("epsilon", claim)
    if not callable(sampler):
        raise InvalidArgumentError(
            "sampler", f"be a mechanism or callable{_lacks(sampler)}", sampler
        )
    return sampler, _checks.positive("epsilon", epsilon)


def _lacks(sampler: object) -> str:
    return f" (to be a mechanism, it lacks {', '.join(missing_parts(sampler))})"


def _batches(
    draw: Sampler, x: float, size: int, rng: np.random.Generator | None
) -> Iterator[NDArray[Any]]:
    """Draw reports at one input."""
    for start in range(0, size, _BATCH):
        count = min(_BATCH, size - start)
        reports = np.asarray(draw(np.full(count, x), rng))
        if reports.shape[:1] != (count,):
            rule = f"make one report for each of {count} inputs"
            raise InvalidArgumentError("sampler", rule, reports.shape)
        yield reports


def _sample(draw: Sampler, x: float, size: int, rng: np.random.Generator | None) -> NDArray[Any]:
    return np.concatenate(list(_batches(draw, x, size, rng)))


def _screen(
    draw: Sampler, grid: NDArray[np.float64], size: int, rng: np.random.Generator | None
) -> tuple[list[Reader], list[tuple[float, float]]]:
    """Return how to read reports, and the ordered pairs of inputs to look at."""
    reports = [_sample(draw, x, size, rng) for x in grid.tolist()]
    everything = np.concatenate(reports)
    if everything.dtype.kind == "f" and all(part.dtype.kind in "biu" for part in reports):
        kinds = sorted({str(part.dtype) for part in reports})
        raise InvalidArgumentError("sampler", "make reports of one type", kinds)
    readers = readers_of(everything)
    del everything
    counts = 0.5 + np.stack(
        [np.concatenate([reader.counts(part) for reader in readers]) for part in reports]
    )
    logs, errors = np.log(counts), 1.0 / np.sqrt(counts)
    high, low = (logs - 2.0 * errors), (logs + 2.0 * errors)
    contrast = high.max(axis=0) - low.min(axis=0)
    chosen = np.argsort(-contrast, kind="stable")[:_SCREENED_PAIRS]
    found = [(int(high[:, j].argmax()), int(low[:, j].argmin())) for j in chosen]
    first, middle, last = 0, len(grid) // 2, len(grid) - 1
    fixed = [(first, last), (last, first), (middle, last), (last, middle)]
    pairs = dict.fromkeys(pair for pair in [*found, *fixed] if pair[0] != pair[1])
    return readers, [(float(grid[a]), float(grid[b])) for a, b in pairs]


def _confirm(
    draw: Sampler,
    readers: list[Reader],
    pair: tuple[float, float],
    size: int,
    level: float,
    rng: np.random.Generator | None,
) -> tuple[float, tuple[float, float], str, tuple[int, int]]:
    """Choose an event with one set of reports, and bound its loss with another."""
    pilots = [_sample(draw, x, min(size // 2, _LARGEST_PILOT), rng) for x in pair]
    event = find_event(readers, *pilots)
    likely, unlikely = (sum(map(event.count, _batches(draw, x, size, rng))) for x in pair)
    low = beta.ppf(level, likely, size - likely + 1) if likely else 0.0
    high = beta.ppf(1.0 - level, unlikely + 1, size - unlikely) if unlikely < size else 1.0
    bound = math.log(low / high) if low > 0.0 else -math.inf
    return bound, pair, str(event), (likely, unlikely)
