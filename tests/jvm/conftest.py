"""The JVM client, built once per run of the tests, with what starts its programs."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

CLIENT = Path(__file__).parents[2] / "clients" / "jvm"
# These programs end before an optimizing compiler pays.
_QUICK = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")


@dataclass(frozen=True)
class Machine:
    """A built client."""

    folder: Path

    @property
    def jar(self) -> Path:
        return self.folder / "noutput-client-jvm.jar"

    def command(self, program: str, *arguments: object) -> list[str]:
        """Return the command line of a program of the client's tests."""
        path = f"{self.jar}{os.pathsep}{self.folder / 'test'}"
        return ["java", *_QUICK, "-cp", path, f"noutput.client.{program}", *map(str, arguments)]

    def run(self, program: str, *arguments: object, given: str = "") -> list[str]:
        """Run a program, and return the lines that it prints."""
        done = subprocess.run(
            self.command(program, *arguments), input=given, capture_output=True, text=True,
            check=False, timeout=600,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout.splitlines()


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    if shutil.which("javac") is None:
        reason = "javac is not installed (Debian: openjdk-17-jdk-headless)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent  # of all workers
    folder = shared / "jvm"
    with (shared / "jvm.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "noutput-client-jvm.jar").exists():
            subprocess.run([CLIENT / "build.sh", folder], check=True)
    return Machine(folder)
