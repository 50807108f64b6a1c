from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

import noutput as no
from tests.estimate.evidence.populations import HULL, two_waves


def evidence() -> no.Evidence:
    rng = np.random.default_rng(2)
    return two_waves(no.design(1.0, 16).mechanism, 10 * rng.beta(2, 3, 20_000), 12.0, rng)


def test_a_summary_of_evidence_names_its_parts() -> None:
    both = evidence()
    found = no.summarize(both, question=no.Number(0, 100, "minutes"))
    assert found.reports == 20_000
    told = "Reports of 2 tables: 4,000 of 0 to 100 (epsilon = 1), 16,000 of 0 to 12 (epsilon = 1)."
    assert told in str(found).splitlines()
    assert told in found._repr_html_()
    content = json.loads(json.dumps(found.to_dict()))
    assert [part["upper"] for part in content["parts"]] == [100, 12]
    assert content["intervals"]["mean"] == "slack"
    assert content["mean"]["method"] == "combined"
    assert found.mean.low < 4.0 < found.mean.high
    assert found.mean.value == pytest.approx(4.0, abs=0.5)
    axes = found.plot()
    assert axes.patches
    plt.close("all")
    assert no.summarize(both).question == no.Number(0, 100)


def test_a_summary_of_one_part_is_that_of_its_table() -> None:
    m, tally, bounds = evidence().parts[0]
    found = no.summarize(no.Evidence([(m, tally, bounds)]))
    assert isinstance(m, no.TableMechanism)
    known = no.summarize(m, tally, no.Number(0, 100))
    assert str(found) == str(known)
    assert found.to_dict() == known.to_dict()
    assert "parts" not in found.to_dict()


def test_a_summary_of_evidence_has_its_own_data_and_bounds() -> None:
    both = evidence()
    with pytest.raises(no.InvalidArgumentError, match="data must be left out"):
        no.summarize(both, both.tally)
    with pytest.raises(no.InvalidArgumentError, match="question must have the bounds"):
        no.summarize(both, question=no.Number(0, 12))
    with pytest.raises(no.InvalidArgumentError, match="question must be a Number"):
        no.summarize(both, question=no.YesNo())
    assert both.bounds == HULL


def test_bars_are_fine_within_the_narrow_bounds() -> None:
    """And one bar is for what is beyond; the histogram for the dashboard has equal bars."""
    m, rng = no.design(3.0, 16, "worst").mechanism, np.random.default_rng(2)
    numbers, parts = rng.gamma(4.0, 10.0, 12_000), []
    for some, units in ((numbers[:2_000], (0, 600)), (numbers[2_000:], (0, 120))):
        unit = no.Interval(*units).to_unit(some, clip=True)
        parts.append((m, no.Tally.of(m, m.privatize(unit, rng)), units))
    found = no.summarize(no.Evidence(parts), method="em")
    labels = [bar.label for bar in found.bars]
    assert len(labels) >= 4
    assert labels[-1] == "120 to 600"
    assert labels[0] in ("0 to 10", "0 to 20", "0 to 30", "0 to 40")
    assert sum(bar.share for bar in found.bars) == pytest.approx(1.0)
    for bar in found.bars:
        low, high = (float(end) for end in bar.label.split(" to "))
        true = float(np.mean((numbers >= low) & (numbers < high)))
        assert bar.low - 0.02 <= true <= bar.high + 0.02
    assert np.ptp(np.diff(found.coarse.edges)) < 1e-9
