"""The packages of a release hold what they should; `make release-check` installs and uses them."""

from __future__ import annotations

import ast
import json
import re
import shutil
import zipfile
from pathlib import Path

import pytest

from noutput import __version__
from tools import packages
from tools.packages import JAVASCRIPT, LIGHT, ROOT

pytestmark = pytest.mark.skipif(
    shutil.which("git") is None or not (ROOT / ".git").exists(),
    reason="git lists the files of the source tree",
)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("dist")
    return (*packages.build_python(folder), packages.build_light(folder))


def texts(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {
            name: archive.read(name).decode() for name in archive.namelist() if name.endswith(".py")
        }


def test_the_wheel_is_the_package(built: tuple[Path, Path, Path]) -> None:
    found = packages.names(built[0])
    assert packages.differences(found, packages.expected_wheel()) == []
    for part in (
        "designs/optimal.zip", "designs/trained.zip", "designs/numerical.zip", "py.typed",
        "collector/dashboard/static/uplot/LICENSE", "collector/dashboard/static/noutput.min.js",
        "collector/dashboard/templates/base.html", "javascript/noutput.js",
        "javascript/noutput.min.js", "javascript/noutput.d.ts",
    ):  # fmt: skip
        assert f"noutput/{part}" in found
    assert sum("dist-info/licenses/" in name for name in found) == 2


def test_the_wheel_has_the_whole_npm_package(built: tuple[Path, Path, Path]) -> None:
    inside = {
        name.removeprefix("noutput/javascript/")
        for name in packages.names(built[0])
        if name.startswith("noutput/javascript/")
    }
    assert {f"package/{name}" for name in inside} == packages.expected_tarball()
    with zipfile.ZipFile(built[0]) as wheel:
        for name in inside:
            source = (ROOT / JAVASCRIPT / name).read_bytes()
            assert wheel.read(f"noutput/javascript/{name}") == source, name


def test_the_sdist_is_the_source_tree_and_builds_the_same_wheels(
    built: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    wheel, sdist, light = built
    found = packages.names(sdist)
    assert packages.differences(found, packages.expected_sdist()) == []
    assert any(name.endswith("/tests/conftest.py") for name in found)
    again = packages.rebuild(sdist, tmp_path)
    assert [path.read_bytes() for path in again] == [wheel.read_bytes(), light.read_bytes()]


def test_the_light_client_is_what_a_device_loads(built: tuple[Path, Path, Path]) -> None:
    light = built[2]
    assert packages.differences(packages.names(light), packages.expected_light()) == []
    assert light.stat().st_size < 100_000  # 95 KB as of 2026-11; the goal is 200 KB
    with zipfile.ZipFile(light) as wheel:
        about = wheel.read(f"noutput_client-{__version__}.dist-info/METADATA").decode()
    assert f"\nVersion: {__version__}\n" in about
    assert "Requires-Dist" not in about


def test_the_two_distributions_share_no_file(built: tuple[Path, Path, Path]) -> None:
    wheel, _, light = built
    assert packages.names(wheel) & packages.names(light) == set()


def test_the_light_client_is_the_source_under_another_name(built: tuple[Path, Path, Path]) -> None:
    names = re.compile(r"\bnoutput_client\b")
    for name, text in texts(built[2]).items():
        if name == "noutput_client/__init__.py":
            continue
        source = ROOT / "src" / "noutput" / name.removeprefix("noutput_client/")
        assert names.sub("noutput", text) == source.read_text(encoding="utf-8"), name


def test_the_light_client_imports_itself_and_the_standard_library(
    built: tuple[Path, Path, Path],
) -> None:
    for name, text in texts(built[2]).items():
        for node in ast.walk(ast.parse(text)):
            found = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                found = [node.module or "."]
            assert not [each for each in found if re.match(r"\.|noutput(\.|$)", each)], name


def test_differences_are_named() -> None:
    found = packages.differences({"a", "b"}, {"b", "c"})
    assert found == ["lacks c", "should not have a"]


def test_the_npm_tarball_lists_files_that_exist() -> None:
    names = {name.removeprefix("package/") for name in packages.expected_tarball()}
    assert {"noutput.js", "noutput.min.js", "noutput.d.ts", "LICENSE"} <= names
    assert [name for name in sorted(names) if not (ROOT / JAVASCRIPT / name).is_file()] == []
    for client in (JAVASCRIPT, LIGHT):
        assert (ROOT / client / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_npm_package_offers_every_file_that_it_lists() -> None:
    package = json.loads((ROOT / JAVASCRIPT / "package.json").read_text(encoding="utf-8"))
    entries = [entry for entry in package["exports"].values() if isinstance(entry, dict)]
    offered = {path.removeprefix("./") for entry in entries for path in entry.values()}
    assert offered == set(package["files"])
    readme = (ROOT / JAVASCRIPT / "README.md").read_text(encoding="utf-8")
    for name in package["files"]:
        assert f"`{name}`" in readme, name
