"""From a TOML file to estimates: 20,000 Python and 200 JavaScript clients, nobody's number seen."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from noutput.campaign import (
    Campaign,
    Client,
    Ledger,
    Policy,
    Report,
    fetch_campaign,
    send_batch,
    send_report,
)
from noutput.cli.campaign import command as campaign_command
from noutput.cli.simulate import command as simulate_command
from tests.collector.process import Running, running

PYTHON, SINGLY, JAVASCRIPT = 20_000, 200, 200
RECIPE = """
id = "commute"
title = "Commute"
text = "How many minutes was your way to work?"
epsilon = 1.0
opens = 2020-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z
public = true

[[questions]]
name = "commute"
unit = "minutes"
lower = 0
upper = 180

[table]
outputs = 3
method = "analytical"
"""


def create(folder: Path) -> Path:
    recipe = folder / "commute.toml"
    recipe.write_text(RECIPE)
    done = CliRunner().invoke(campaign_command, ["create", str(recipe)])
    assert done.exit_code == 0, done.output
    return folder / "commute.json"


def answer(campaign: Campaign, value: float) -> Report:
    """One person: a ledger and a policy of their own."""
    with Ledger(None) as ledger:
        return Client(campaign, ledger, Policy(epsilon=1.0, total=1.0)).report(value)


def javascript_answers(url: str, values: list[float]) -> int:
    node = shutil.which("node")
    if node is None:
        if os.environ.get("CI") == "true":
            pytest.fail("node is not installed")
        return 0
    module = (Path.cwd() / "clients/js/noutput.js").as_uri()
    script = Path(__file__).with_name("people.js").read_text()
    done = subprocess.run(
        [node, "--input-type=module", "-e", script],
        input=json.dumps({"module": module, "url": url, "values": values}),
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


def estimates(server: Running) -> dict[str, Any]:
    server.settle()
    address = f"{server.url}/campaigns/commute/estimates?level=0.999"
    with urllib.request.urlopen(address) as found:  # noqa: S310
        content: dict[str, Any] = json.load(found)
        return content


def check_mean(found: dict[str, Any], truth: float) -> None:
    """Seven standard errors, more than the interval: reports are drawn with secure randomness."""
    low, high = found["interval"]
    assert low < found["value"] < high
    assert high - low == pytest.approx(2.0 * 3.29 * found["standard_error"], rel=0.05)
    assert abs(found["value"] - truth) < 7.0 * found["standard_error"]


@pytest.mark.slow
def test_from_a_recipe_to_estimates(tmp_path: Path, rng: np.random.Generator) -> None:
    document = create(tmp_path)
    # spread out, so that chance hardly ever makes honest reports look forged
    minutes = np.clip(rng.lognormal(3.6, 0.9, PYTHON + JAVASCRIPT), 0.0, 180.0)
    with running(str(tmp_path / "reports.db"), document) as server:
        url = f"{server.url}/campaigns/commute"
        campaign = fetch_campaign(url)
        assert campaign == Campaign.from_json(document.read_bytes())
        reports = [answer(campaign, value) for value in minutes[:PYTHON].tolist()]
        accepted = sum(send_report(url, report).accepted for report in reports[:SINGLY])
        for start in range(SINGLY, PYTHON, 900):
            part = reports[start : start + 900]
            accepted += send_batch(url, campaign, part).accepted
            assert send_batch(url, campaign, part).repeated == len(part)
        assert accepted == PYTHON
        from_javascript = javascript_answers(url, minutes[PYTHON:].tolist())
        assert from_javascript in (0, JAVASCRIPT)
        found = estimates(server)
    people = minutes[: PYTHON + from_javascript]
    assert found["reports"] == len(people)
    (entry,) = found["questions"]
    check_mean(entry["mean"], float(people.mean()))
    low, high = entry["mean"]["interval"]
    assert high - low < 10.0  # minutes
    assert entry["goodness_of_fit"] > 0.001
    if from_javascript == 0:
        pytest.skip("node is not installed: the Python half passed")


def test_simulated_people(tmp_path: Path) -> None:
    document = create(tmp_path)
    with running(str(tmp_path / "reports.db"), document) as server:
        url = f"{server.url}/campaigns/commute"
        arguments = [url, "--people", "5000", "--distribution", "bimodal", "--batch", "700"]
        done = CliRunner().invoke(simulate_command, arguments)
        assert done.exit_code == 0, done.output
        assert "5,000 reports were counted" in done.output
        truth = float(done.output.split("True mean of commute: ")[1].split()[0])
        found = estimates(server)
    assert found["reports"] == 5000
    check_mean(found["questions"][0]["mean"], truth)
