"""A whole campaign on this machine: a collector, 400 devices, and a server that lies.

Every device has a ledger and a policy of its own, certifies the table of the campaign itself, and
sends one report of 4 bits over HTTP. Run it with::

    pip install '.[collector]'  # in the folder of the project; docs/install.md has other ways
    python examples/campaign.py
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import noutput as no
from noutput.campaign import (
    Campaign,
    Client,
    Ledger,
    Number,
    Policy,
    Table,
    fetch_campaign,
    send_report,
)

PEOPLE = 400
EPSILON = 2.0
MINUTES = no.Interval(0, 180)


def make_campaign() -> Campaign:
    """One question; the table serves the mean and the distribution."""
    table = no.design(EPSILON).mechanism
    return Campaign(
        id="commute",
        title="Commute",
        text="How many minutes was your way to work today?",
        questions=(Number(MINUTES.lower, MINUTES.upper, "minutes", name="commute"),),
        tables=(table.plain.rescaled(MINUTES.lower, MINUTES.upper),),
        opens=datetime(2026, 1, 1, tzinfo=UTC),
        closes=datetime(2100, 1, 1, tzinfo=UTC),
        public=True,
    )


@contextmanager
def collector(campaign: Campaign, folder: Path) -> Iterator[str]:
    """Start `noutput serve` on a free port; yield the address of the campaign."""
    document = folder / "commute.json"
    document.write_text(campaign.to_json(), encoding="utf-8")
    command = [sys.executable, "-u", "-m", "noutput", "serve", "--port", "0", "--rate", "0",
               "--client-reports", "0", "--minimum", "1", "--growth", "0",  # few people
               "--database", str(folder / "reports.db"),
               "--campaign", str(document)]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None  # noqa: S101 (for the type checker)
        try:
            line = next(line for line in server.stdout if line.startswith("Collecting at "))
            yield f"{line.split()[-1]}/campaigns/{campaign.id}"
        finally:
            server.terminate()


def answer(url: str, root: str, minutes: float) -> int:
    """One person's device: fetch, certify, draw, remember, send; return the output sent."""
    campaign = fetch_campaign(url, root=root)  # an app comes with the root: others are refused
    with Ledger(None) as ledger:  # a file on a real device: Ledger("ledger.db")
        client = Client(campaign, ledger, Policy(epsilon=EPSILON, total=EPSILON))
        report = client.report(minutes)
        # Asked again, even about another number, the device repeats itself.
        assert client.report(0.0) == report  # noqa: S101 (shown, not tested)
        send_report(url, report)
        send_report(url, report)  # a second attempt is counted once
        return report.output


def published(url: str, reports: int) -> dict[str, Any]:
    """Return the estimates once so many reports are published: results change in steps."""
    while True:
        with urllib.request.urlopen(f"{url}/estimates") as response:  # noqa: S310 (loopback)
            found: dict[str, Any] = json.load(response)
        if found["reports"] >= reports:
            return found
        time.sleep(0.2)


def refuse_a_lie(campaign: Campaign) -> str:
    """Return what a device says to a server that claims half the epsilon of its table."""
    document = json.loads(campaign.tables[0].to_json())
    try:
        Table.from_json(json.dumps({**document, "epsilon": EPSILON / 2.0}))
    except no.PrivacyError as error:
        return str(error)
    return "accepted!"


def main() -> None:
    """Run the campaign and print truth beside estimate."""
    rng = np.random.default_rng(1)
    people = np.clip(rng.lognormal(3.3, 0.65, PEOPLE), MINUTES.lower, MINUTES.upper)
    campaign = make_campaign()
    (table,) = campaign.tables
    print(campaign.text)
    print(f"  epsilon {campaign.epsilon:g}, {table.bits} bits per report")
    print(f"  a lying server: {refuse_a_lie(campaign)}\n")
    with tempfile.TemporaryDirectory() as folder, collector(campaign, Path(folder)) as url:
        outputs = [answer(url, campaign.root, float(minutes)) for minutes in people]
        found = published(url, PEOPLE)
    values = no.TableMechanism.of(table).outputs
    print("true minutes   sent   which stands for")
    for minutes, output in list(zip(people, outputs, strict=True))[:5]:
        print(f"{minutes:12.1f} {output:6d} {values[output]:18.1f}")
    mean = found["questions"][0]["mean"]
    low, high = mean["interval"]
    print(f"\n{found['reports']} reports; true mean {people.mean():.1f} minutes,")
    print(f"estimate {mean['value']:.1f}, 95% interval {low:.1f} to {high:.1f}")


if __name__ == "__main__":
    main()
