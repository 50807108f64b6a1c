"""A collector in a process of its own, on a free port of loopback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_SERVE = "from noutput.cli.serve import command; command()"


@dataclass
class Running:
    process: subprocess.Popen[str]
    port: int
    token: str | None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def settle(self) -> None:
        """Wait until all that was counted is published, which takes a second."""
        headers = {"Authorization": f"Bearer {self.token}"}
        request = urllib.request.Request(f"{self.url}/campaigns", headers=headers)  # noqa: S310
        for _ in range(200):
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                found = json.load(answer)["campaigns"]
            if all(each["reports"] == each["received"] for each in found):
                return
            time.sleep(0.1)
        raise TimeoutError("reports are not published")

    def kill(self) -> None:
        """End it as a power cut would: no signal handler runs."""
        self.process.kill()
        self.process.wait(30)


def launch(database: str, *options: str, port: int = 0, prelude: str = "") -> Running:
    """Start a collector, after the statements of `prelude`, and wait until it listens.

    It publishes every report within a second, where the options do not say otherwise.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", prelude + _SERVE, "--database", database, "--port", str(port),
         "--rate", "0", "--client-reports", "0", "--minimum", "1", "--growth", "0", *options],
        stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    assert process.stdout is not None
    token = None
    for line in process.stdout:
        if line.startswith("Admin token"):
            token = line.rsplit(" ", 1)[1].strip()
        if line.startswith("Collecting at"):
            process.stdout.close()
            return Running(process, int(line.rsplit(":", 1)[1]), token)
    process.wait(30)
    process.stdout.close()
    raise RuntimeError("the collector did not start")


@contextmanager
def running(database: str, campaign: Path, *options: str) -> Iterator[Running]:
    """A collector with one campaign, ended in order."""
    server = launch(database, "--campaign", str(campaign), *options)
    try:
        yield server
    finally:
        server.process.terminate()
        server.process.wait(30)
