"""The packages of a release hold what they should; `make release-check` installs and uses them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tools import release_check
from tools.release_check import CLIENT, ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(),
    reason="git lists the files of the source tree",
)


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return release_check.build(tmp_path_factory.mktemp("dist"))


def test_the_wheel_is_the_package(packages: tuple[Path, Path]) -> None:
    found = release_check.names(packages[0])
    assert release_check.differences(found, release_check.expected_wheel()) == []
    for part in (
        "designs/optimal.zip", "designs/trained.zip", "designs/numerical.zip", "py.typed",
        "collector/dashboard/static/uplot/LICENSE", "collector/dashboard/static/noutput.min.js",
        "collector/dashboard/templates/base.html",
    ):  # fmt: skip
        assert f"noutput/{part}" in found
    assert sum("dist-info/licenses/" in name for name in found) == 2


def test_the_sdist_is_the_source_tree_and_builds_the_same_wheel(
    packages: tuple[Path, Path], tmp_path: Path
) -> None:
    wheel, sdist = packages
    found = release_check.names(sdist)
    assert release_check.differences(found, release_check.expected_sdist()) == []
    assert any(name.endswith("/tests/conftest.py") for name in found)
    assert release_check.rebuild(sdist, tmp_path).read_bytes() == wheel.read_bytes()


def test_differences_are_named() -> None:
    found = release_check.differences({"a", "b"}, {"b", "c"})
    assert found == ["lacks c", "should not have a"]


def test_the_npm_tarball_lists_files_that_exist() -> None:
    names = {name.removeprefix("package/") for name in release_check.expected_tarball()}
    assert {"noutput.js", "noutput.min.js", "noutput.d.ts", "LICENSE"} <= names
    assert [name for name in sorted(names) if not (ROOT / CLIENT / name).is_file()] == []
    assert (ROOT / CLIENT / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    package = json.loads((ROOT / CLIENT / "package.json").read_text(encoding="utf-8"))
    offered = {path for entry in package["exports"].values() for path in entry.values()}
    assert {path.removeprefix("./") for path in offered} == set(package["files"])
