from __future__ import annotations

import numpy as np

from noutput.designs.distribution import training_shapes


def test_histograms_are_probabilities() -> None:
    drawn = training_shapes.draw_histograms(np.random.default_rng(1), 4000)
    assert drawn.shape == (4000, training_shapes.BINS)
    assert drawn.min() >= 0.0
    assert np.abs(drawn.sum(axis=1) - 1.0).max() < 1e-12


def test_every_family_gives_histograms_of_its_own() -> None:
    rng = np.random.default_rng(2)
    for family in training_shapes._FAMILIES:
        drawn = family(rng, 300)
        assert np.abs(drawn.sum(axis=1) - 1.0).max() < 1e-9
        assert len(np.unique(drawn.round(9), axis=0)) > 250
        assert family(rng, 0).shape == (0, training_shapes.BINS)
    assert sum(training_shapes._FAMILIES.values()) == 1.0


def test_their_distribution_is_symmetric() -> None:
    drawn = training_shapes.draw_histograms(np.random.default_rng(3), 20_000)
    centers = (np.arange(training_shapes.BINS) + 0.5) * (2.0 / training_shapes.BINS) - 1.0
    means = drawn @ centers
    assert abs(means.mean()) < 4.0 * means.std() / np.sqrt(len(means))


def test_the_same_seed_gives_the_same_histograms() -> None:
    one, two = (training_shapes.draw_histograms(np.random.default_rng(4), 50) for _ in range(2))
    assert np.array_equal(one, two)


def test_half_of_smooth_histograms_have_no_atoms() -> None:
    drawn = training_shapes._smooth(np.random.default_rng(5), 500)
    assert drawn.max() < 0.5
