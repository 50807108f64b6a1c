"""Every command of the page "Install" is run in empty environments, by the Pythons found here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from noutput import Number, __version__
from tests.collector.conftest import make_campaign
from tests.collector.process import running
from tests.docs.blocks import Block, blocks
from tests.docs.newcomer import Newcomer, clone, lend
from tests.tables import window_table
from tools import packages

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (packages.ROOT / ".git").exists(),
    reason="git lists the files of the source tree",
)

PAGE, LIGHT = "docs/install.md", "clients/python/README.md"
HERE = f"{sys.version_info.major}.{sys.version_info.minor}"
VERSIONS = ("3.11", "3.12", "3.13")
NO_PACKAGES = ("No matching distribution", "Could not find a version", "Connection")
ROUND_TRIP = """
import sys
import noutput as no
m = no.mechanism("n-output", 1.0)
mean = no.estimate_mean(m, no.Tally.of(m, m.privatize([0.25] * 10_000)))
assert abs(mean.value - 0.25) < 8.0 * mean.standard_error
print(sys.version_info[:2])
"""


def find_python(version: str) -> str | None:
    """Return a Python of a version that starts: on the path, or one that pyenv has installed."""
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [*home.glob(f"{version}.*/bin/python{version}")]
    named = [sys.executable if version == HERE else shutil.which(f"python{version}")]
    for each in [*filter(None, named), *map(str, sorted(found))]:
        if subprocess.run([each, "-c", ""], capture_output=True, check=False).returncode == 0:
            return each
    return None


def blocks_of(title: str) -> list[Block]:
    """Return the blocks of one section of the page."""
    text = (packages.ROOT / PAGE).read_text(encoding="utf-8")
    start = text[: text.index(f"## {title}\n")].count("\n")
    after = text.find("\n## ", text.index(f"## {title}\n"))
    end = text.count("\n") if after < 0 else text[:after].count("\n")
    return [block for block in blocks(PAGE) if start < block.line <= end]


@pytest.mark.slow
def test_a_newcomer_can_follow_the_page(tmp_path: Path) -> None:
    if shutil.which("npm") is None and os.environ.get("CI") != "true":
        pytest.skip("npm is not installed")
    newcomer = Newcomer(clone(tmp_path), sys.executable, lend(tmp_path))
    for block in blocks(PAGE):
        newcomer.follow(block)
    programs = tmp_path / "another-env" / "bin"
    code = "import noutput.collector.app as app; print(app.__file__)"
    found = packages.run(str(programs / "python"), "-c", code, folder=tmp_path)
    assert found.startswith(str(programs.parent))


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_a_device_is_ready_with_every_python(version: str, tmp_path: Path) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} is on this machine")
    device = Newcomer(clone(tmp_path), python, lend(tmp_path))
    for block in blocks_of("Devices"):
        device.follow(block)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the wheel, which is for every Python."""
    return packages.build_python(tmp_path_factory.mktemp("dist"))[0]


@pytest.mark.slow
@pytest.mark.parametrize("version", VERSIONS)
def test_the_wheel_works_with_every_python(version: str, wheel: Path, tmp_path: Path) -> None:
    python = find_python(version)
    if python is None:
        pytest.skip(f"no Python {version} is on this machine")
    newcomer = Newcomer(tmp_path, python)
    step = Block(PAGE, 1, "sh", "")
    newcomer.type("python3 -m venv env", step)
    newcomer.type(". env/bin/activate", step)
    try:
        newcomer.type(f"pip install --quiet {wheel}", step)
    except AssertionError as error:
        if any(text in str(error) for text in NO_PACKAGES):
            pytest.skip(f"the package index has nothing for Python {version}")
        raise
    (tmp_path / "round_trip.py").write_text(ROUND_TRIP, encoding="utf-8")
    told = newcomer.type("python round_trip.py", step)
    assert told.strip() == f"({version.replace('.', ', ')})"


@pytest.mark.slow
def test_the_light_client_answers_a_collector_as_its_page_shows(tmp_path: Path) -> None:
    (block,) = [block for block in blocks(LIGHT) if block.language == "python"]
    wheel = packages.build_light(tmp_path)
    device = Newcomer(tmp_path, sys.executable)
    device.environment["PIP_NO_INDEX"] = "1"
    for command in ("python3 -m venv env", ". env/bin/activate", f"pip install {wheel}"):
        device.type(command, block)
    table = window_table(1.0, 5, 7, 0.4).plain
    campaign = make_campaign(questions=(Number(0, 180, name="commute"),), tables=(table,))
    (tmp_path / "commute.json").write_text(campaign.to_json(), encoding="utf-8")
    with running(str(tmp_path / "reports.db"), tmp_path / "commute.json") as server:
        code = block.text.replace("http://127.0.0.1:8000", server.url)
        code = code.replace("<fingerprint>", campaign.root)
        (tmp_path / "answer.py").write_text(code, encoding="utf-8")
        told = device.type("python answer.py", block)
    assert told.startswith("Receipt(accepted=1")


def test_the_page_names_the_version_of_the_packages() -> None:
    text = (packages.ROOT / PAGE).read_text(encoding="utf-8")
    for name in ("noutput-{}-py3-none-any.whl", "noutput_client-{}-py3-none-any.whl"):
        assert name.format(__version__) in text
