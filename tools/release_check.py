"""Build what a release publishes, install each package into an empty environment, and use it there.

`make release-check` runs it; `docs/releasing.md` says when. The package index is needed, for the
dependencies of the wheel and of the sdist.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from collections.abc import Collection
from pathlib import Path

import click

from noutput import __version__

ROOT = Path(__file__).parents[1]
CLIENT = Path("clients/js")

_CAMPAIGN = """
id = "release"
title = "Release"
question = "How many minutes was your way to work today?"
epsilon = 1.0
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z

[[attributes]]
name = "commute"
unit = "minutes"
lower = 0
upper = 180
"""

_ROUND_TRIP = """
import sys
from pathlib import Path
import noutput as no

assert Path(no.__file__).is_relative_to(sys.prefix), no.__file__
assert no.__version__ == sys.argv[1], no.__version__
minutes = no.Interval(0, 180)
m = no.Design.from_json(Path("table.json").read_text()).mechanism
tally = no.Tally.of(m, m.privatize(minutes.to_unit([30.0, 60.0] * 50_000)))
mean = no.estimate_mean(m, tally, minutes)
assert abs(mean.value - 45.0) < 8.0 * mean.standard_error, mean
"""

_ANSWER = """
import { readFileSync } from "node:fs";
import * as small from "noutput/noutput.min.js";
import * as readable from "noutput";

for (const { Client, readCampaign } of [readable, small]) {
  const kept = new Map();
  const storage = {
    getItem: (key) => kept.get(key) ?? null,
    setItem: (key, value) => { kept.set(key, value); },
  };
  const campaign = await readCampaign(readFileSync("release.json", "utf8"));
  const client = new Client(campaign, { policy: { epsilon: 1 }, storage });
  const report = await client.report(42);
  if (campaign.tables[0].weights[0][report.output] === undefined) throw new Error("no report");
}
"""


def source_files(under: str = ".") -> set[str]:
    """Return the files of the source tree below a folder, without those that git ignores."""
    listed = _run("git", "ls-files", "--cached", "--others", "--exclude-standard", under)
    return {name for name in listed.splitlines() if (ROOT / name).is_file()}


def differences(found: Collection[str], expected: Collection[str]) -> list[str]:
    """Say which files a package lacks, and which it should not have."""
    lacks = [f"lacks {name}" for name in sorted({*expected} - {*found})]
    return lacks + [f"should not have {name}" for name in sorted({*found} - {*expected})]


def expected_wheel() -> set[str]:
    """Return the names in the wheel: the package, its metadata and its licenses."""
    package = {name.removeprefix("src/") for name in source_files("src/noutput")}
    licenses = {name for name in source_files() if _is_license(name)}
    about = {"METADATA", "RECORD", "WHEEL", "entry_points.txt"}
    about |= {f"licenses/{name}" for name in licenses}
    return package | {f"noutput-{__version__}.dist-info/{name}" for name in about}


def expected_sdist() -> set[str]:
    """Return the names in the sdist: the whole source tree, so that its tests run."""
    return {f"noutput-{__version__}/{name}" for name in {*source_files(), "PKG-INFO"}}


def expected_tarball() -> set[str]:
    """Return the names in the npm tarball: what package.json lists, and what npm always adds."""
    listed = json.loads((ROOT / CLIENT / "package.json").read_text(encoding="utf-8"))["files"]
    return {f"package/{name}" for name in (*listed, "package.json", "README.md", "LICENSE")}


def names(package: Path) -> set[str]:
    """Return the names of the files in a wheel or in a tar archive."""
    if package.suffix == ".whl":
        with zipfile.ZipFile(package) as wheel:
            return set(wheel.namelist())
    with tarfile.open(package) as archive:
        return {member.name for member in archive if member.isfile()}


def build(target: Path, source: Path = ROOT) -> tuple[Path, Path]:
    """Build the wheel and the sdist of a source tree into a folder."""
    _run(sys.executable, "-m", "hatchling", "build", "-d", str(target), folder=source)
    return (
        target / f"noutput-{__version__}-py3-none-any.whl",
        target / f"noutput-{__version__}.tar.gz",
    )


def rebuild(sdist: Path, folder: Path) -> Path:
    """Build a wheel from nothing but an sdist."""
    with tarfile.open(sdist) as archive:
        archive.extractall(folder, filter="data")
    return build(folder / "dist", folder / f"noutput-{__version__}")[0]


def main() -> None:
    """Check every package, and end with an error at the first one that is not as it should be."""
    if shutil.which("npm") is None:
        raise click.ClickException("npm is not installed; it packs the JavaScript client")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel, sdist = build(folder / "dist")
        _run("npm", "pack", str(ROOT / CLIENT), "--pack-destination", str(folder / "dist"))
        tarball = folder / "dist" / f"noutput-{__version__}.tgz"
        _check_names(wheel, expected_wheel())
        _check_names(sdist, expected_sdist())
        _check_names(tarball, expected_tarball())
        if rebuild(sdist, folder / "rebuilt").read_bytes() != wheel.read_bytes():
            raise click.ClickException("the sdist builds another wheel than the source tree")
        click.echo("the sdist builds the same wheel, byte for byte")
        for package in (wheel, sdist):
            _use_python(package, folder / package.suffix)
        _use_collector(wheel, folder / wheel.suffix)
        _use_node(tarball, folder / wheel.suffix / "release.json", folder / "node")
    click.echo(f"noutput {__version__} can be released")


def _check_names(package: Path, expected: set[str]) -> None:
    found = differences(names(package), expected)
    if found:
        raise click.ClickException("\n".join([f"{package.name}:", *found]))
    click.echo(f"{package.name} has its {len(expected)} files")


def _use_python(package: Path, folder: Path) -> None:
    """Install a package with what it needs and no extra; design, verify, privatize, estimate."""
    venv.create(folder / "env", with_pip=True)
    _install(str(package), folder)
    told = _noutput(folder, "--version")
    if __version__ not in told:
        raise click.ClickException(f"{package.name} calls itself {told.strip()}")
    _noutput(folder, "--help")
    _noutput(folder, "design", "--epsilon", "1", "--outputs", "16", "--json", "table.json")
    _noutput(folder, "verify", "table.json")
    _run(str(_bin(folder) / "python"), "-c", _ROUND_TRIP, __version__, folder=folder)
    (folder / "release.toml").write_text(_CAMPAIGN, encoding="utf-8")
    _noutput(folder, "campaign", "create", "release.toml")
    click.echo(f"{package.name} works in an empty environment")


def _use_collector(wheel: Path, folder: Path) -> None:
    """Add the collector's extra and let the demo run, which shows the dashboard's files."""
    _install(f"{wheel}[collector]", folder)
    _noutput(folder, "demo", "--people", "300", "--no-serve")
    click.echo(f"{wheel.name}[collector] runs the demo")


def _use_node(tarball: Path, campaign: Path, folder: Path) -> None:
    """Install the JavaScript client, and answer the campaign that the wheel made."""
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    _run("npm", "install", "--offline", "--no-audit", "--no-fund", str(tarball), folder=folder)
    shutil.copy(campaign, folder)
    (folder / "answer.js").write_text(_ANSWER, encoding="utf-8")
    _run("node", "answer.js", folder=folder)
    click.echo(f"{tarball.name} works in an empty folder")


def _is_license(name: str) -> bool:
    return Path(name).name == "LICENSE" and not name.startswith(CLIENT.as_posix())


def _bin(folder: Path) -> Path:
    return folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")


def _install(wanted: str, folder: Path) -> None:
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    _run(str(_bin(folder) / "python"), *pip, wanted, folder=folder)


def _noutput(folder: Path, *arguments: str) -> str:
    return _run(str(_bin(folder) / "noutput"), *arguments, folder=folder)


def _run(*command: str, folder: Path = ROOT) -> str:
    """Run a command, without what would let it find this source tree."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise click.ClickException(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    try:
        main()
    except click.ClickException as problem:
        problem.show()
        sys.exit(1)
