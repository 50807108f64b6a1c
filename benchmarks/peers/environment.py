"""The environment that the peers are installed in, made once and never mixed with ours."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

__all__ = ["python"]

_REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_FOLDER = Path(__file__).parents[2] / ".venv-peers"
_PIP = (
    "-m",
    "pip",
    "install",
    "--quiet",
    "--no-deps",
    "--disable-pip-version-check",
    "--retries=1",
    "--timeout=5",  # without an index all of them are tried in vain
)
_PATIENCE = 600  # seconds


def python() -> Path:
    """Return the interpreter of the peers; what could not be installed will not import there."""
    program = _FOLDER / "bin" / "python"
    mark = _FOLDER / hashlib.sha256(_REQUIREMENTS.read_bytes()).hexdigest()
    if not mark.exists():
        _say(f"installing the peers into {_FOLDER.name}")
        subprocess.run([sys.executable, "-m", "venv", str(_FOLDER)], check=True)
        if _install(program, "-r", str(_REQUIREMENTS)):
            mark.touch()
        else:
            for name in _names():  # one that cannot be had must not hide the others
                _install(program, name)
    return program


def _names() -> list[str]:
    lines = _REQUIREMENTS.read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def _install(program: Path, *what: str) -> bool:
    command = [str(program), *_PIP, *what]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE)
    except subprocess.TimeoutExpired:
        _say(f"{what[-1]}: not installed after {_PATIENCE} s")
        return False
    if done.returncode:
        _say(f"{what[-1]}: {(done.stderr.splitlines() or ['failed'])[-1]}")
    return done.returncode == 0


def _say(text: str) -> None:
    print(f"  {text}", file=sys.stderr, flush=True)
