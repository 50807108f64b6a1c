"""The systemd unit: accepted, hardened, and a collector runs with what it is denied."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deployment.files import UNIT, unit_settings

EXPOSURE = 1.5  # of 10: `systemd-analyze security` calls up to 2 safe
SETTINGS = dict(unit_settings())
_DENY_WRITE_EXECUTE = """
import ctypes, os, sys
assert ctypes.CDLL(None, use_errno=True).prctl(65, 1, 0, 0, 0) == 0  # PR_SET_MDWE
os.execv(sys.argv[1], sys.argv[1:])
"""


def need(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{program} is not installed")
        pytest.skip(f"{program} is not installed")
    return found


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [need("systemd-analyze"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_systemd_accepts_it(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    program = SETTINGS["ExecStart"].split()[0]
    unit.write_text(text.replace(program, sys.executable))  # one that exists here
    done = analyze("verify", str(unit))
    assert (done.returncode, done.stderr.strip()) == (0, "")
    unit.write_text(text.replace(program, sys.executable).replace("UMask=0077", "UMask=9999"))
    assert "ignoring: 9999" in analyze("verify", str(unit)).stderr  # it would say so


def test_it_is_hardened(tmp_path: Path) -> None:
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text(encoding="utf-8"))
    threshold = f"--threshold={round(10 * EXPOSURE)}"
    done = analyze("security", "--offline=true", "--no-pager", threshold, str(unit))
    assert done.returncode == 0, done.stdout + done.stderr
    (level,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert float(level) <= EXPOSURE


def test_a_state_folder_is_all_that_it_may_write_to() -> None:
    assert SETTINGS["ProtectSystem"] == "strict"
    assert SETTINGS["DynamicUser"] == SETTINGS["NoNewPrivileges"] == "yes"
    folder = f"/var/lib/{SETTINGS['StateDirectory']}"
    assert SETTINGS["WorkingDirectory"] == folder
    set_here = dict(value.split("=", 1) for key, value in unit_settings() if key == "Environment")
    for name in ("NOUTPUT_DATABASE", "NOUTPUT_ADMIN_TOKEN_FILE"):
        assert Path(set_here[name]).parent == Path(folder)


def test_it_is_started_again_however_long_a_database_is_away() -> None:
    """The usual limit gives up after five starts within ten seconds."""
    assert SETTINGS["Restart"] == "always"
    head = UNIT.read_text(encoding="utf-8").partition("[Service]")[0]
    assert "\nStartLimitIntervalSec=0\n" in head  # in [Unit], where systemd reads it


def calls_of(group: str) -> set[str]:
    """Return the system calls of a group, with those of the groups in it."""
    found: set[str] = set()
    for line in analyze("syscall-filter", group).stdout.splitlines()[1:]:
        word = line.partition("#")[0].strip()
        if word:
            found |= calls_of(word) if word.startswith("@") else {word}
    return found


@pytest.mark.slow
def test_a_collector_runs_without_what_it_is_denied(tmp_path: Path) -> None:
    """The filter of the unit, played by strace: every call that it denies fails with EPERM."""
    allowed = calls_of("@default")
    for key, value in unit_settings():
        if key == "SystemCallFilter":
            parts = value.lstrip("~").split()
            named = set().union(*(calls_of(part) if part[0] == "@" else {part} for part in parts))
            allowed = allowed - named if value.startswith("~") else allowed | named
    denied = sorted(calls_of("@known") - allowed)
    assert {"mount", "setrlimit", "ptrace"} <= set(denied)
    calls = ",".join(f"?{name}" for name in denied)
    traced = [need("strace"), "-f", "-qq", "--seccomp-bpf", "-o", str(tmp_path / "denied"),
              "-e", "signal=none", "-e", f"trace={calls}",
              "-e", f"inject={calls}:error=EPERM"]  # fmt: skip
    serve = [sys.executable, "-m", "noutput", "serve", "--port", "0"]
    process = subprocess.Popen(
        [*traced, sys.executable, "-c", _DENY_WRITE_EXECUTE, *serve], cwd=tmp_path, text=True,
        stdout=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        lines = [process.stdout.readline() for _ in range(2)]
        assert lines[1].startswith("Collecting at"), lines
        port = lines[1].strip().rsplit(":", 1)[1]
        health = [sys.executable, "-m", "noutput", "health", "--port", port, "--timeout", "30"]
        done = subprocess.run(health, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stdout) == (0, "ready\n")
    finally:
        os.killpg(process.pid, signal.SIGTERM)  # this test's own group
        process.wait(60)
        process.stdout.close()
