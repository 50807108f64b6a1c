"""A reader who follows a page from top to bottom: saves its files, runs its code and commands."""

from __future__ import annotations

import contextlib
import doctest
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from noutput.cli import noutput
from tests.collector.process import Running, launch
from tests.docs.blocks import ROOT, Block, blocks

_LOCAL = "http://127.0.0.1:8000"  # where the pages let the collector listen
_PUBLIC = "https://collect.example"
_FINGERPRINT = "<fingerprint>"  # of the campaign that `noutput campaign create` has made
_USUAL_POLICY = ("--minimum", "500", "--growth", "0.1")  # where other tests have none
_FIRST_PAGE = "docs/quickstart/campaign.md"
_SECONDS = 600
_TYPED = "42\n"  # what a reader types who is asked for a number
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# A command that needs no shell, and that ends by itself without a signal.
_PLAIN = re.compile(r"noutput (?!demo\b)[^|&;<>$`*?]+")
# Node has no store of its own for a page's data, and no lock between pages.
_BROWSER = """
const kept = new Map();
globalThis.localStorage = {
  getItem: (key) => kept.get(key) ?? null,
  setItem: (key, value) => { kept.set(key, value); },
};
Object.defineProperty(globalThis, "navigator", {
  value: { locks: { request: async (_, work) => work() } },
});
globalThis.process = undefined;
"""


@dataclass
class Reader:
    """Works in a folder of its own; a collector listens at a free port in place of 8000."""

    folder: Path
    names: dict[str, Any] = field(default_factory=lambda: {"__name__": "__main__"})
    server: Running | None = None
    environment: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        programs = self.folder / "bin"
        programs.mkdir()
        for name, arguments in (("noutput", " -m noutput"), ("python", "")):
            (programs / name).write_text(f'#!/bin/sh\nexec {sys.executable}{arguments} "$@"\n')
            (programs / name).chmod(0o755)
        recipe = next(block for block in blocks(_FIRST_PAGE) if block.file_name == "commute.toml")
        self.follow(recipe)  # the campaign that other pages go on with
        self.environment = {
            **os.environ,
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "NOUTPUT_CACHE": str(self.folder / "cache"),
            "HOME": str(self.folder),  # and so no ledger of whoever runs the tests
            "XDG_CONFIG_HOME": str(self.folder),
            "COLUMNS": "100",
        }

    def close(self) -> None:
        if self.server is not None:
            self.server.process.terminate()
            self.server.process.wait(30)

    def follow(self, block: Block) -> None:
        if block.why_not_run is not None:
            return
        getattr(self, f"_follow_{block.language}", lambda _: None)(block)

    def _here(self, text: str) -> str:
        address = _LOCAL if self.server is None else self.server.url
        document = self.folder / "commute.json"
        if _FINGERPRINT in text and document.exists():
            text = text.replace(_FINGERPRINT, json.loads(document.read_text())["fingerprint"])
        return text.replace(_LOCAL, address).replace(_PUBLIC, address)

    def _follow_toml(self, block: Block) -> None:
        tomllib.loads(block.text)
        if block.file_name is not None:
            (self.folder / block.file_name).write_text(block.text, encoding="utf-8")

    def _follow_json(self, block: Block) -> None:
        json.loads(block.text)

    def _follow_python(self, block: Block) -> None:
        text = self._here(block.text)
        if block.file_name is not None:
            (self.folder / block.file_name).write_text(block.text, encoding="utf-8")
        if ">>>" not in text:
            exec(compile(text, block.place, "exec"), self.names)  # noqa: S102
            return
        test = doctest.DocTestParser().get_doctest(text, {}, block.place, block.page, block.line)
        test.globs = self.names
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=FLAGS)
        assert runner.run(test, out=told.append, clear_globs=False).failed == 0, "".join(told)

    def _follow_js(self, block: Block) -> None:
        if shutil.which("node") is None and os.environ.get("CI") != "true":
            return
        if self.server is None:
            self._run("noutput campaign create commute.toml", block)
            self._run("noutput serve --campaign commute.json", block)
        for name in ("node.js", "noutput.js", "noutput.min.js"):
            (self.folder / name).write_bytes((ROOT / "clients/js" / name).read_bytes())
        (self.folder / "page.mjs").write_text(_BROWSER + self._here(block.text))
        self._run("node page.mjs", block)

    def _follow_sh(self, block: Block) -> None:
        for command in commands(block.text):
            self._run(command, block)

    def _follow_console(self, block: Block) -> None:
        for part in re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]:
            command, _, shown = re.sub(r"\\\n *", "", part).partition("\n")
            found = self._run(command, block)
            if shown.strip():
                checker = doctest.OutputChecker()
                assert checker.check_output(shown, found, FLAGS), f"{block.place}\n{found}"

    def _run(self, command: str, block: Block) -> str:
        if command.startswith("noutput serve"):
            return self._start(command)
        if command.startswith(("make ", "pip install ")):
            check_known(command)
            return ""
        command = self._here(command)
        if _PLAIN.fullmatch(command):
            return self._run_here(command, block)
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", command],
            cwd=self.folder, capture_output=True, text=True, timeout=_SECONDS, check=False,
            env=self.environment, input=_TYPED,
        )  # fmt: skip
        assert done.returncode == 0, f"{block.place}: {command}\n{done.stdout}{done.stderr}"
        return done.stdout

    def _run_here(self, command: str, block: Block) -> str:
        """Run a command of noutput in this process, which has loaded everything once."""
        with contextlib.chdir(self.folder):
            done = CliRunner(env=self.environment).invoke(
                noutput, shlex.split(command)[1:], prog_name="noutput", input=_TYPED
            )
        told = f"{block.place}: {command}\n{done.output}{done.exception!r}"
        assert done.exit_code == 0, told
        return done.stdout

    def _start(self, command: str) -> str:
        """Start a collector; what it prints first is all that a page shows of it."""
        self.close()
        options = shlex.split(command)[2:]
        database = "noutput.db"
        if "--database" in options:
            place = options.index("--database")
            database = options[place + 1]
            del options[place : place + 2]
        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            defaults = ("--client-reports", "1000", *_USUAL_POLICY)
            self.server = launch(database, *defaults, *options)
        told = f"Collecting at {_LOCAL}\n"
        if self.server.token is not None:
            self.environment["ADMIN"] = self.server.token
            told = f"Admin token, shown only now: {self.server.token}\n{told}"
        return told


def commands(text: str) -> list[str]:
    """The commands of a script, without comments; a backslash continues a line."""
    joined = re.sub(r"\\\n *", "", text)
    lines = (re.sub(r"\s+# .*$", "", line) for line in joined.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def check_known(command: str) -> None:
    """Check what would change the machine against the files that define it."""
    if command.startswith("make "):
        (target,) = command.split()[1:]
        rules = (ROOT / "Makefile").read_text(encoding="utf-8")
        assert re.search(rf"^{target}:", rules, re.MULTILINE), command
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for wanted in shlex.split(command)[2:]:
        found = re.fullmatch(r"([\w-]+|\.)(?:\[([\w,-]+)\])?", wanted)
        assert found is not None, command
        assert found[1] in (project["name"], "."), command  # "." is the folder of the project
        assert set((found[2] or "all").split(",")) <= set(project["optional-dependencies"]), command
