"""What certified tables of all kinds have in common once there are arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn, TypeVar

import numpy as np

from noutput._random import word_source
from noutput.errors import InvalidArgumentError
from noutput.mechanisms import exact
from noutput.mechanisms.certified import Table, secure_word

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["ArrayRows", "frozen", "one_word", "whole_rows"]

_Scalar = TypeVar("_Scalar", bound=np.generic)


class ArrayRows:
    """A certified table with arrays: its plain form and everything that follows from the rows.

    A subclass sets `_weights` and its own parts, and `_plain` last: nothing can be set after it.
    """

    _plain: Table
    _weights: NDArray[np.int64]

    @property
    def plain(self) -> Table:
        """The table without numpy: what a campaign and its devices hold."""
        return self._plain

    @property
    def epsilon(self) -> float:
        """The privacy loss that the table claims and has been certified for."""
        return self._plain.epsilon

    @property
    def weights(self) -> NDArray[np.int64]:
        """Whole numbers, row by row; every row adds up to `scale` (read-only)."""
        return self._weights

    def table(self) -> NDArray[np.float64]:
        """Return the probabilities of the outputs, one row per row of weights."""
        result: NDArray[np.float64] = self._weights / exact.SCALE
        return result

    @property
    def scale(self) -> int:
        """What every row of weights adds up to: 2^32."""
        return exact.SCALE

    @property
    def n_outputs(self) -> int:
        """How many different reports there are."""
        return self._plain.n_outputs

    @property
    def n_cells(self) -> int:
        """How many cells reports are counted in: one per output."""
        return self.n_outputs

    @property
    def bits(self) -> int:
        """How many bits a report needs."""
        return self._plain.bits

    @property
    def exact(self) -> bool:
        """True: what is drawn has exactly the certified probabilities."""
        return True

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the canonical form of the table, as 64 hexadecimal digits."""
        return self._plain.fingerprint

    def privacy_loss(self) -> float:
        """Return the exact loss, rounded up; see `Table.privacy_loss`."""
        return self._plain.privacy_loss()

    def cells(self, reports: ArrayLike) -> NDArray[np.intp]:
        """Return the column of probabilities that each report counts for."""
        array = np.asarray(reports)
        if array.dtype.kind not in "iu" and array.size:
            raise InvalidArgumentError("reports", "be indexes of outputs", reports)
        if array.size and not 0 <= array.min() <= array.max() < self.n_outputs:
            bad = array.min() if array.min() < 0 else array.max()
            rule = f"be indexes from 0 to {self.n_outputs - 1}"
            raise InvalidArgumentError("reports", rule, int(bad))
        return array.astype(np.intp, copy=False)

    def to_json(self) -> str:
        """Return the table as a JSON document with a format version and its fingerprint."""
        return self._plain.to_json()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def __setattr__(self, name: str, value: object) -> None:
        if "_plain" in self.__dict__:  # the last part that is set
            self._refuse(name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} objects cannot be changed: {name!r}")


def frozen(values: ArrayLike, dtype: type[_Scalar]) -> NDArray[_Scalar]:
    """Copy into memory that cannot be made writable again."""
    array = np.array(values, dtype)
    return np.frombuffer(array.tobytes(), dtype).reshape(array.shape)


def whole_rows(weights: ArrayLike) -> list[list[int]]:
    """Return a matrix of whole numbers as lists."""
    try:
        array = np.asarray(weights)
    except (ValueError, OverflowError):
        raise InvalidArgumentError("weights", "be rows of whole numbers", weights) from None
    if array.dtype.kind not in "iu" or array.ndim != 2:
        raise InvalidArgumentError("weights", "be rows of whole numbers", weights)
    rows: list[list[int]] = array.tolist()
    return rows


def one_word(rng: np.random.Generator | None) -> int:
    """Return 64 random bits for one draw: secure ones where there is no generator."""
    if rng is None:
        return secure_word()
    word = np.empty(1, np.uint64)
    word_source(rng).fill(word)
    return int(word[0])
