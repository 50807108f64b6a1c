"""The version stands in `noutput.__version__`; whatever repeats it says the same."""

from __future__ import annotations

import importlib.metadata
import json
import re
import runpy
import tomllib
from pathlib import Path

import pytest
import yaml

import noutput
from noutput.campaign import fetch_campaign
from noutput.errors import DeliveryError
from tests.campaign.server import Answer, serving

ROOT = Path(__file__).parents[2]
RELEASE = re.compile(r"^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", re.MULTILINE)


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def newest_release(changes: str) -> str | None:
    found = RELEASE.search(changes)
    return found[1] if found else None


def test_the_build_reads_the_package() -> None:
    project = tomllib.loads(read("pyproject.toml"))
    assert "version" not in project["project"]
    assert project["project"]["dynamic"] == ["version"]
    assert project["tool"]["hatch"]["version"]["path"] == "src/noutput/__init__.py"
    assert read("src/noutput/__init__.py").count(noutput.__version__) == 1


def test_what_is_installed_has_the_version() -> None:
    assert importlib.metadata.version("noutput") == noutput.__version__, "run make .venv/.all"


def test_the_javascript_client_has_the_version() -> None:
    assert json.loads(read("clients/js/package.json"))["version"] == noutput.__version__


def test_the_jvm_client_has_the_version() -> None:
    assert f"\n  <version>{noutput.__version__}</version>\n" in read("clients/jvm/pom.xml")


def test_the_citation_has_the_version() -> None:
    assert yaml.safe_load(read("CITATION.cff"))["version"] == noutput.__version__


def test_the_documentation_has_the_version() -> None:
    assert runpy.run_path(str(ROOT / "docs" / "conf.py"))["release"] == noutput.__version__


def test_the_newest_release_of_the_change_log_is_the_version() -> None:
    assert newest_release(read("CHANGELOG.md")) in {noutput.__version__, None}  # None: no release
    both = "# Changelog\n\n## [Unreleased]\n\n## [1.2.0] - 2030-01-31\n\n## [1.1.0] - 2029-01-31\n"
    assert newest_release(both) == "1.2.0"
    assert newest_release("## [Unreleased]\n") is None


def test_devices_do_not_tell_their_version() -> None:
    # one more fact about a device that nobody needs
    with serving(Answer(404)) as (url, seen), pytest.raises(DeliveryError):
        fetch_campaign(f"{url}/campaigns/commute")
    assert seen[0].headers["User-Agent"] == "noutput"
