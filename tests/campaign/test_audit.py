"""The samplers of both clients pass the privacy audit, which a careless one does not."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import noutput as no
from noutput.campaign import Campaign
from tests.campaign.examples import commute_campaign

CLIENT = Path(__file__).parents[2] / "clients" / "js"
NODE = shutil.which("node")
SAMPLES = 20_000
CONFIDENCE = 1.0 - 1e-9  # clients draw with secure randomness, whatever generator is given
INPUTS = [0.0, 63.0, 90.0, 135.0, 180.0]  # minutes


def python_sampler(campaign: Campaign) -> Any:
    return lambda x, _rng: np.array([campaign.tables[0].privatize(v) for v in x.tolist()])


def javascript_sampler(campaign: Campaign) -> Any:
    def sample(x: NDArray[np.float64], _rng: object) -> NDArray[np.int64]:
        request = json.dumps({"campaign": campaign.to_json(), "x": x.tolist()})
        done = subprocess.run(
            [str(NODE), "testing/draws.js"], input=request, capture_output=True, text=True,
            cwd=CLIENT, timeout=600, check=True,
        )  # fmt: skip
        return np.array(json.loads(done.stdout))

    return sample


@pytest.mark.parametrize("language", ["python", pytest.param("javascript", marks=pytest.mark.slow)])
def test_the_client_is_as_private_as_its_table(language: str) -> None:
    if language == "javascript" and NODE is None:
        pytest.skip("Node.js is not installed")
    campaign = commute_campaign(epsilon=2.0)
    make = python_sampler if language == "python" else javascript_sampler

    def audit(sampler: Any) -> no.Audit:
        rng = np.random.default_rng(1)
        return no.audit(
            sampler, 2.0, samples=SAMPLES, inputs=INPUTS, confidence=CONFIDENCE, rng=rng
        )

    found = audit(make(campaign))
    assert found.passed
    assert found.epsilon_lower_bound > 1.5
    assert not audit(make(commute_campaign(epsilon=2.4))).passed
