"""A newcomer, who has a clone and a Python, and installs for real what a page says.

Packages of others can be lent: the newcomer's environments then see those of the tests, so that pip
resolves every requirement of noutput without a package index, and installs noutput alone.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import site
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.docs.blocks import Block
from tests.docs.reader import FLAGS, commands
from tools.packages import ROOT, source_files

_OWN = re.compile(r"_?(editable_impl_)?noutput|.*\.pth$|__pycache__$")
_ACTIVATE = re.compile(r"\. (\S+)/bin/activate")
_CREATE = re.compile(r"python3 -m venv (\S+)")
_CHANGE = re.compile(r"cd (\S+)")
_SECONDS = 600


def clone(folder: Path) -> Path:
    """Copy the source tree as git has it."""
    target = folder / "noutput"
    for name in source_files():
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, target / name)
    return target


def lend(folder: Path) -> Path:
    """Return a folder that shows the packages of the tests, without noutput."""
    lent = folder / "lent"
    lent.mkdir()
    for place in site.getsitepackages():
        for each in Path(place).iterdir():
            if not _OWN.match(each.name):
                (lent / each.name).symlink_to(each)
    return lent


@dataclass
class Newcomer:
    """Types the commands of a page into one shell, where `python3` is a given interpreter."""

    place: Path
    python: str
    lent: Path | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kept = {key: value for key, value in os.environ.items() if not _leads_home(key)}
        self.environment = {
            **kept,
            "HOME": str(self.place),
            "NOUTPUT_CACHE": str(self.place / "cache"),
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "PIP_NO_COMPILE": "1",
            "npm_config_offline": "true",
            "npm_config_update_notifier": "false",
        }
        if self.lent is not None:  # and so the build back end is lent, too
            self.environment |= {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "false"}

    def follow(self, block: Block) -> None:
        if block.why_not_run is not None:
            return
        if block.language == "sh":
            for command in commands(block.text):
                self.type(command, block)
        if block.language == "console":
            for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
                command, _, shown = part.partition("\n")
                found = self.type(command, block)
                assert doctest.OutputChecker().check_output(shown, found, FLAGS), found

    def type(self, command: str, block: Block) -> str:
        """Run a command; what changes the shell itself is remembered for the next one."""
        if found := _ACTIVATE.fullmatch(command):
            programs = (self.place / found[1] / "bin").resolve()
            assert (programs / "activate").is_file(), f"{block.place}: {command}"
            self.environment["PATH"] = f"{programs}{os.pathsep}{os.environ['PATH']}"
            return ""
        if found := _CHANGE.fullmatch(command):
            self.place = (self.place / found[1]).resolve(strict=True)
            return ""
        if found := _CREATE.fullmatch(command):
            self._create(self.place / found[1])
            return ""
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", command],
            cwd=self.place, env=self.environment, capture_output=True, text=True, check=False,
            timeout=_SECONDS,
        )  # fmt: skip
        assert done.returncode == 0, f"{block.place}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _create(self, target: Path) -> None:
        """Make an environment; its pip is that of the tests, which spares installing one."""
        venv = [self.python, "-m", "venv", "--without-pip", str(target)]
        subprocess.run(venv, check=True, env=self.environment, timeout=_SECONDS)
        programs = target.resolve() / "bin"
        shim = f'#!/bin/sh\nexec {sys.executable} -m pip --python {programs}/python "$@"\n'
        (programs / "pip").write_text(shim, encoding="utf-8")
        (programs / "pip").chmod(0o755)
        if self.lent is not None:
            (packages,) = target.glob("lib/python*/site-packages")
            (packages / "lent.pth").write_text(f"{self.lent}\n", encoding="utf-8")


def _leads_home(name: str) -> bool:
    """Tell what would lead a newcomer's programs to the environment of the tests."""
    return name.startswith(("PYTHON", "COV_", "COVERAGE")) or name == "VIRTUAL_ENV"
