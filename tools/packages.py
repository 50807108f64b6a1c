"""Packages of a release: how each is built from the source tree, and which files it must have."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import click

from noutput import __version__

__all__ = [
    "JAVASCRIPT", "JVM", "LIGHT", "ROOT", "Packages", "build", "build_jar", "build_light",
    "build_python", "differences", "expected_jar", "expected_light", "expected_sdist",
    "expected_tarball", "expected_wheel", "names", "rebuild", "run", "source_files",
]  # fmt: skip

ROOT = Path(__file__).parents[1]
JAVASCRIPT = Path("clients/js")
LIGHT = Path("clients/python")
JVM = Path("clients/jvm")

_WHEEL = f"{__version__}-py3-none-any.whl"
_CLASSES = "noutput/client"
_INNER = re.compile(r"\$[^/]*(?=\.class$)")
_ABOUT = ("METADATA", "RECORD", "WHEEL")
_IN_WHEEL = "noutput/javascript"


@dataclass(frozen=True, slots=True)
class Packages:
    """The files that are published.

    Parameters
    ----------
    wheel, sdist : path
        Of noutput.
    light : path
        The wheel of noutput-client.
    tarball : path
        The npm package.
    jar : path, optional
        The JVM client; None where there is no JDK.
    """

    wheel: Path
    sdist: Path
    light: Path
    tarball: Path
    jar: Path | None


def build(target: Path) -> Packages:
    """Build every package into a folder."""
    wheel, sdist = build_python(target)
    run("npm", "pack", str(ROOT / JAVASCRIPT), "--pack-destination", str(target))
    tarball = target / f"noutput-{__version__}.tgz"
    jar = None if shutil.which("javac") is None else build_jar(target)
    return Packages(wheel, sdist, build_light(target), tarball, jar)


def build_python(target: Path) -> tuple[Path, Path]:
    """Build the wheel and the sdist of noutput."""
    run(sys.executable, "-m", "hatchling", "build", "-d", str(target))
    return target / f"noutput-{_WHEEL}", target / f"noutput-{__version__}.tar.gz"


def build_light(target: Path, source: Path = ROOT) -> Path:
    """Build the wheel of noutput-client from the source tree of noutput."""
    _build_wheel(source / LIGHT, target)
    return target / f"noutput_client-{_WHEEL}"


def build_jar(target: Path) -> Path:
    """Build the jar of the JVM client, and put its pom beside it, for Maven repositories."""
    name = target / f"noutput-client-jvm-{__version__}"
    with tempfile.TemporaryDirectory() as folder:
        run(str(ROOT / JVM / "build.sh"), f"{folder}/build")
        target.mkdir(parents=True, exist_ok=True)
        shutil.copy(f"{folder}/build/noutput-client-jvm.jar", f"{name}.jar")
    shutil.copy(ROOT / JVM / "pom.xml", f"{name}.pom")
    return Path(f"{name}.jar")


def rebuild(sdist: Path, folder: Path) -> tuple[Path, Path]:
    """Build both wheels from nothing but an sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    source, target = folder / f"noutput-{__version__}", folder / "dist"
    _build_wheel(source, target)
    return target / f"noutput-{_WHEEL}", build_light(target, source)


def source_files(under: str = ".") -> set[str]:
    """Return the files of the source tree below a folder, without those that git ignores."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", under)
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def names(package: Path) -> set[str]:
    """Return the names of the files in a wheel, a jar or a tar archive.

    Of a jar, a class within another one counts as that one.
    """
    if package.suffix in (".whl", ".jar"):
        with zipfile.ZipFile(package) as archive:
            found = [name for name in archive.namelist() if not name.endswith("/")]
        return {_INNER.sub("", name) for name in found} if package.suffix == ".jar" else {*found}
    with tarfile.open(package) as packed:
        return {member.name for member in packed if member.isfile()}


def differences(found: Collection[str], expected: Collection[str]) -> list[str]:
    """Say which files a package lacks, and which it should not have."""
    lacks = [f"lacks {name}" for name in sorted({*expected} - {*found})]
    return lacks + [f"should not have {name}" for name in sorted({*found} - {*expected})]


def expected_wheel() -> set[str]:
    """Return the names in the wheel: package, npm package, metadata and licenses."""
    package = {name.removeprefix("src/") for name in source_files("src/noutput")}
    package |= {f"{_IN_WHEEL}/{name}" for name in _javascript()}
    licenses = {name for name in source_files() if _is_license(name)}
    about = {*_ABOUT, "entry_points.txt"} | {f"licenses/{name}" for name in licenses}
    return package | {f"noutput-{__version__}.dist-info/{name}" for name in about}


def expected_light() -> set[str]:
    """Return the names in the wheel of noutput-client: what a device loads, and nothing else."""
    code = (
        "import sys, noutput.campaign as c; [getattr(c, name) for name in c.__all__]\n"
        "for module in list(sys.modules.values()): print(getattr(module, '__file__', None))"
    )
    loaded = {Path(line) for line in run(sys.executable, "-c", code).splitlines()}
    home = ROOT / "src" / "noutput"
    modules = {path.relative_to(home).as_posix() for path in loaded if path.is_relative_to(home)}
    about = {*_ABOUT, "licenses/LICENSE"}
    return {f"noutput_client/{name}" for name in {*modules, "py.typed"}} | {
        f"noutput_client-{__version__}.dist-info/{name}" for name in about
    }


def expected_sdist() -> set[str]:
    """Return the names in the sdist: the whole source tree, so that its tests run."""
    return {f"noutput-{__version__}/{name}" for name in {*source_files(), "PKG-INFO"}}


def expected_tarball() -> set[str]:
    """Return the names in the npm tarball: what package.json lists, and what npm always adds."""
    return {f"package/{name}" for name in _javascript()}


def expected_jar() -> set[str]:
    """Return the names in the jar: a class per source file, the manifest and the license."""
    sources = source_files(str(JVM / "src/main/java"))
    classes = {f"{_CLASSES}/{Path(name).stem}.class" for name in sources}
    return classes | {"META-INF/MANIFEST.MF", "META-INF/LICENSE"}


def run(*command: str, folder: Path = ROOT) -> str:
    """Run a command, without what would let it find this source tree."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise click.ClickException(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


def _build_wheel(source: Path, target: Path) -> None:
    command = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(target))
    run(*command, folder=source)


def _javascript() -> set[str]:
    listed = json.loads((ROOT / JAVASCRIPT / "package.json").read_text(encoding="utf-8"))["files"]
    return {*listed, "package.json", "README.md", "LICENSE"}


def _is_license(name: str) -> bool:
    return Path(name).name == "LICENSE" and not name.startswith("clients/")
