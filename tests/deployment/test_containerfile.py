"""The Containerfile, without an engine: what it copies exists, and what it runs works."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from noutput.cli import noutput
from tests.deployment.files import DEPLOY, ROOT, Instruction, containerfile

FILE = containerfile()
TEXT = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
LAST = [each for each in FILE if each.stage == 1]


def only(name: str) -> Instruction:
    (found,) = [each for each in LAST if each.name == name]
    return found


def test_it_has_two_stages_of_one_image() -> None:
    stages = [each.text.split()[0] for each in FILE if each.name == "FROM"]
    assert len(stages) == 2
    assert len(set(stages)) == 1  # the environment of the first is used in the second
    assert re.fullmatch(r"python:3\.1[1-9]-slim-\w+", stages[0])


def test_what_it_copies_exists_and_is_not_ignored() -> None:
    ignored = (ROOT / ".containerignore").read_text(encoding="utf-8")
    assert (ROOT / ".dockerignore").read_text(encoding="utf-8") == ignored
    kept = set(re.findall(r"^!(.+)$", ignored, re.MULTILINE))
    copied = set()
    for each in FILE:
        if each.name == "COPY" and not each.text.startswith("--from="):
            copied.update(each.words[:-1])
    assert len(copied) > 4
    for source in copied:
        assert (ROOT / source).exists(), source
    assert copied == kept


def test_what_is_installed_is_pinned() -> None:
    """Every package has a version and a hash, and they are those of the tests."""
    pinned = (ROOT / "constraints-all.txt").read_text(encoding="utf-8")
    known = set(re.findall(r"^([\w.-]+==\S+)", pinned, re.MULTILINE))
    for name in ("constraints-build.txt", "constraints-collector.txt"):
        text = (ROOT / name).read_text(encoding="utf-8")
        found = re.findall(r"^([\w.-]+==\S+)", text, re.MULTILINE)
        assert len(found) > 5
        assert [each for each in found if each not in known] == []
    installs = [each.text for each in FILE if each.name == "RUN" and "pip install" in each.text]
    assert all("--require-hashes" in each or "--no-index" in each for each in installs)


def test_nobody_is_root() -> None:
    user, group = only("USER").text.split(":")
    assert int(user) > 0
    assert int(group) > 0
    last = [each.name for each in LAST]
    assert "RUN" not in last[last.index("USER") :]


def test_its_comment_builds_an_image_with_a_health_check() -> None:
    """Podman leaves the instruction out of an image in OCI format, which is its default."""
    (command,) = re.findall(r"^#     (podman build .+)$", TEXT, re.MULTILINE)
    assert "--format docker" in command
    assert "noutput" in only("HEALTHCHECK").text


def test_its_commands_are_those_of_the_package() -> None:
    assert only("ENTRYPOINT").words == ["noutput"]
    assert noutput.commands == {}  # they are found by name
    (serve,) = only("CMD").words
    checked = only("HEALTHCHECK").text
    program, verb = Instruction(1, "CMD", checked[checked.index("[") :]).words
    assert program == "noutput"
    for name in (serve, verb):
        with noutput.make_context("noutput", [name]) as context:
            assert noutput.get_command(context, name) is not None


def python_for_all() -> Path:
    """Return a Python that other users may run, too."""
    for path in (Path(sys.executable).resolve(), Path("/usr/bin/python3").resolve()):
        if all(each.stat().st_mode & 0o001 for each in (path, *path.parents)):
            return path
    pytest.fail("no Python that every user can run")


class Simulated:
    """A folder in place of a container: absolute paths of the file lie in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.context = folder / "source"
        self.context.mkdir()
        self.environment = {"PATH": f"{folder}/bin:/usr/bin:/bin", "HOME": str(folder)}
        self.environment |= {k: v for k, v in os.environ.items() if k.startswith("PIP_")}
        self.environment["PIP_NO_COMPILE"] = "1"  # takes longer than all else
        (folder / "bin").mkdir()
        (folder / "bin" / "python").symlink_to(python_for_all())

    def place(self, text: str) -> str:
        """Return a text with its paths in the folder."""
        return re.sub(r"(?<![\w.])/(opt|var|source)\b", rf"{self.folder}/\1", text)

    def build(self, instructions: list[Instruction]) -> None:
        for each in instructions:
            if each.name == "COPY" and not each.text.startswith("--from="):
                *sources, target = each.words
                for source in sources:
                    place = self.context / target if target != "./" else self.context / source
                    copy = shutil.copytree if (ROOT / source).is_dir() else shutil.copy
                    copy(ROOT / source, place)
            elif each.name == "RUN":
                self.run(self.place(each.text))
            elif each.name == "ENV":
                name, _, value = each.text.partition("=")
                self.environment[name] = self.place(value)

    def run(self, command: str) -> None:
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", command], cwd=self.context, env=self.environment,
            capture_output=True, text=True, timeout=500, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


@pytest.fixture
def simulated() -> Iterator[Simulated]:
    folder = Path(tempfile.mkdtemp(prefix="noutput-container-"))
    folder.chmod(0o755)  # another user works in it
    try:
        yield Simulated(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.slow
def test_it_builds_and_serves_with_a_read_only_root(simulated: Simulated) -> None:
    user, group = only("USER").text.split(":")
    if os.geteuid() != 0:  # as nobody else, one cannot become this user
        pytest.skip("only root can run a collector as the user of the container")
    simulated.build(FILE)
    state = Path(simulated.place(only("WORKDIR").text))
    found = state.stat()
    assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (int(user), int(group), 0o700)
    as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs"]
    environment = {**simulated.environment, "NOUTPUT_HOST": "127.0.0.1", "NOUTPUT_PORT": "0"}
    command = [*as_user, *only("ENTRYPOINT").words, *only("CMD").words]
    process = subprocess.Popen(
        command, cwd=state, env=environment, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    try:
        events = [json.loads(process.stderr.readline()) for _ in range(2)]
        assert [each["event"] for each in events] == ["admin-token-written", "started"]
        assert events[0]["fields"] == {"file": f"{state}/admin-token"}
        environment["NOUTPUT_PORT"] = events[1]["fields"]["address"].rsplit(":", 1)[1]
        checked = only("HEALTHCHECK").text
        words = Instruction(1, "CMD", checked[checked.index("[") :]).words
        health = subprocess.run([*as_user, *words], cwd=state, env=environment, timeout=60,
                                capture_output=True, text=True, check=False)  # fmt: skip
        assert (health.returncode, health.stdout) == (0, "ready\n")
    finally:
        process.terminate()
        process.wait(60)
        process.stderr.close()
    written = {path.name for path in simulated.folder.rglob("*") if path.stat().st_uid == int(user)}
    assert written == {"noutput", "reports.db", "reports.db-mark", "admin-token"}
