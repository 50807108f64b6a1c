"""Seeds derived from what is simulated, never from the order of the work."""

from __future__ import annotations

import hashlib

import numpy as np

__all__ = ["generator"]


def generator(seed: int, *names: str | float) -> np.random.Generator:
    """Return the generator of one run, from its full name.

    Parameters
    ----------
    seed : int
        That of the whole evaluation.
    *names
        The task, the dataset, the mechanism, epsilon and the run.

    Examples
    --------
    >>> first = generator(1, "collection", "adult", "pm", 0.5, 0).integers(1000)
    >>> first == generator(1, "collection", "adult", "pm", 0.5, 0).integers(1000)
    np.True_
    """
    text = "\n".join([str(seed), *(f"{n:g}" if isinstance(n, float) else str(n) for n in names)])
    digest = hashlib.sha256(text.encode()).digest()
    return np.random.default_rng(np.random.SeedSequence(int.from_bytes(digest, "big")))
