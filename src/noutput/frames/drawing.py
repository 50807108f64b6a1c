r"""The reports of one batch of rows: Arrow arrays in, Arrow arrays out.

Notes
-----
Without a seed every call takes fresh keys from the operating system, so two batches, tasks, task
attempts, threads or processes never share a random stream, however they were started.

With a seed, the word for row r of the c-th column is word r of a Philox stream whose key depends
on the seed and c only. Philox is counter-based: any batch can start at its own rows, and the
result does not depend on how the rows were cut into batches.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from noutput._random import word_source
from noutput.frames.packages import pa
from noutput.frames.reports import mark_reports
from noutput.frames.values import Place, encode_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from noutput.frames.recipe import Recipe

__all__ = ["draw_columns", "draw_pilot", "draw_reports"]

_SLICE = 1 << 18  # rows of a large frame turned into floats at once
_COINS = 1 << 20  # the stream of coins, apart from those of columns
_WORDS_PER_STEP = 4  # of Philox's counter


def draw_reports(
    recipe: Recipe, arrays: list[pa.Array], place: Place, seed: int | None = None
) -> list[pa.Array]:
    """Return one Arrow array of marked reports per column, null where there is no report.

    Parameters
    ----------
    recipe : Recipe
    arrays : list of pyarrow.Array
        The values of the recipe's columns, of equal length.
    place : Place
        Which rows these are; with a seed its start must be known.
    seed : int, optional
        For reproducible simulation.
    """
    pairs = [
        encode_column(recipe, column, array, place)
        for column, array in zip(recipe.columns, arrays, strict=True)
    ]
    if recipe.one_per_row:
        return _draw_one(recipe, pairs, place, seed)
    results = []
    for stream, (column, (values, missing)) in enumerate(zip(recipe.columns, pairs, strict=True)):
        indexes = np.asarray(recipe.mechanism.privatize(values, _generator(seed, stream, place)))
        results.append(pa.array(mark_reports(indexes, column, recipe.mechanism), mask=missing))
    return results


def _draw_one(
    recipe: Recipe,
    pairs: list[tuple[NDArray[Any], NDArray[np.bool_] | None]],
    place: Place,
    seed: int | None,
) -> list[pa.Array]:
    """Draw one column per row, whatever the values are, and report that one alone."""
    words = np.empty(pairs[0][0].size, np.uint64)
    word_source(_generator(seed, len(pairs), place)).fill(words)
    # the upper half times the number of columns: the chances differ by less than 2^-31
    chosen = ((words >> np.uint64(32)) * np.uint64(len(pairs))) >> np.uint64(32)
    table = np.stack([numbers for numbers, _ in pairs])
    numbers = np.take_along_axis(table, chosen.astype(np.intp)[None, :], axis=0)[0]
    indexes = np.asarray(recipe.mechanism.privatize(numbers, _generator(seed, 0, place)))
    results = []
    for index, (column, (_, missing)) in enumerate(zip(recipe.columns, pairs, strict=True)):
        gaps = chosen != index
        reports = mark_reports(indexes, column, recipe.mechanism)
        results.append(pa.array(reports, mask=gaps if missing is None else gaps | missing))
    return results


def draw_pilot(
    recipe: Recipe, array: pa.Array, place: Place, share: float, seed: int | None = None
) -> pa.Array:
    """Return which rows of a batch are in the pilot: each by a coin of its own.

    Every value is checked by the recipe before a coin is drawn, and has no part in the coin.
    """
    encode_column(recipe, recipe.columns[0], array, place)
    words = np.empty(len(array), np.uint64)
    word_source(_generator(seed, _COINS, place)).fill(words)
    return pa.array((words >> np.uint64(32)) < np.uint64(round(share * (1 << 32))))


def draw_columns(recipe: Recipe, table: pa.Table, seed: int | None) -> list[pa.ChunkedArray]:
    """Return one chunked array of reports per column for a whole pyarrow.Table."""
    pieces: list[list[pa.Array]] = [[] for _ in recipe.columns]
    for start in range(0, table.num_rows, _SLICE):
        part = table.slice(start, _SLICE)
        arrays = [part.column(column).combine_chunks() for column in recipe.columns]
        for piece, reports in zip(
            pieces, draw_reports(recipe, arrays, Place(start), seed), strict=True
        ):
            piece.append(reports)
    return [pa.chunked_array(piece, pa.int32()) for piece in pieces]


def _generator(seed: int | None, stream: int, place: Place) -> np.random.Generator | None:
    """Return a generator that stands at the batch's first row, or None for secure words."""
    if seed is None:
        return None
    start = place.start or 0
    key = np.random.SeedSequence((seed, stream)).generate_state(2, np.uint64)
    philox = np.random.Philox(key=key, counter=start // _WORDS_PER_STEP)
    philox.random_raw(start % _WORDS_PER_STEP)
    return np.random.Generator(philox)
