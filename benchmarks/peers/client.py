"""Asks the worker: one task of one peer at a time, timed in its own process."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from benchmarks.peers.environment import python

__all__ = ["Peers", "start"]

_WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Peers:
    """The peers that loaded, with version and tasks, and why the others did not."""

    found: dict[str, dict[str, Any]]
    _requests: IO[str]
    _answers: IO[str]

    def able(self, task: str) -> list[str]:
        """Return the names of the peers that have a task."""
        return [name for name, facts in self.found.items() if task in facts.get("tasks", ())]

    def seconds(self, peer: str, task: str) -> float:
        """Run a task once; return the seconds for one value or one estimate."""
        print(json.dumps({"peer": peer, "task": task}), file=self._requests, flush=True)
        answer = json.loads(self._answers.readline())
        return float(answer["seconds"] / answer["count"])


@contextmanager
def start(values: list[float], bins: list[int], reports: list[int]) -> Iterator[Peers]:
    """Start the worker with the data that all peers work on."""
    command = [str(python()), str(_WORKER)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        data = {"values": values, "bins": bins, "reports": reports}
        print(json.dumps(data), file=process.stdin, flush=True)
        yield Peers(json.loads(process.stdout.readline()), process.stdin, process.stdout)
        process.stdin.close()
