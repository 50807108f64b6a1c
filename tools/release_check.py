"""Build what a release publishes, install each package into an empty environment, and use it there.

`make release-check` runs it; `docs/releasing.md` says when. The package index is needed, for the
dependencies of the wheel and of the sdist. The packages are left in the folder `dist`.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import venv
from pathlib import Path

import click

from noutput import __version__
from tools import packages
from tools.packages import ROOT, run

_TARGET = ROOT / "dist"

_CAMPAIGN = """
id = "release"
title = "Release"
text = "How many minutes was your way to work today?"
epsilon = 1.0
opens = 2026-01-01T00:00:00Z
closes = 2100-01-01T00:00:00Z

[[questions]]
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

_DEVICE = """
import sys
from importlib.metadata import distributions
from pathlib import Path
from noutput_client import __version__
from noutput_client.campaign import Campaign, Client, Ledger, Policy

assert __version__ == sys.argv[1], __version__
assert {found.name for found in distributions()} <= {"noutput-client", "pip", "setuptools"}
campaign = Campaign.from_json(Path(sys.argv[2]).read_text())
with Ledger("ledger.db") as ledger:
    report = Client(campaign, ledger, Policy(epsilon=1.0)).report(42)
assert 0 <= report.output < campaign.tables[0].n_outputs
assert not {"numpy", "noutput"} & {*sys.modules}
"""

_ANSWER = """
import { readFileSync } from "node:fs";
import * as small from "noutput/noutput.min.js";
import * as readable from "noutput";

for (const { Client, readCampaign } of [readable, small]) {
  const campaign = await readCampaign(readFileSync("release.json", "utf8"));
  const client = new Client(campaign, { policy: { epsilon: 1 }, storage: new Map() });
  const report = await client.report(42);
  if (campaign.tables[0].weights[0][report.output] === undefined) throw new Error("no report");
}
"""


_APP = """
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Paths;
import noutput.client.*;

final class Answer {
    public static void main(String[] arguments) throws Exception {
        Campaign campaign = Campaign.read(Files.readAllBytes(Paths.get("release.json")));
        Ledger ledger = new Ledger(new File("ledger"));
        Report report = new Client(campaign, ledger, new Policy(1.0, 4.0, 30.0)).report(42);
        System.out.println(report.getId());
    }
}
"""


def main() -> None:
    """Check every package, and end with an error at the first one that is not as it should be."""
    if shutil.which("npm") is None:
        raise click.ClickException("npm is not installed; it packs the JavaScript client")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        built = packages.build(folder / "dist")
        _check_names(built.wheel, packages.expected_wheel())
        _check_names(built.sdist, packages.expected_sdist())
        _check_names(built.light, packages.expected_light())
        _check_names(built.tarball, packages.expected_tarball())
        if built.jar is not None:
            _check_names(built.jar, packages.expected_jar())
        again = packages.rebuild(built.sdist, folder / "rebuilt")
        for found, expected in zip(again, (built.wheel, built.light), strict=True):
            if found.read_bytes() != expected.read_bytes():
                raise click.ClickException(f"the sdist builds another {expected.name}")
        click.echo("the sdist builds the same wheels, byte for byte")
        for package in (built.wheel, built.sdist):
            _use_python(package, folder / package.suffix)
        campaign = folder / built.wheel.suffix / "release.json"
        _use_collector(built.wheel, campaign.parent)
        _use_light(built.light, campaign, folder / "device")
        _use_node(built.tarball, campaign, folder / "node")
        if built.jar is not None:
            _use_jar(built.jar, campaign, folder / "app")
        shutil.copytree(folder / "dist", _TARGET, dirs_exist_ok=True)
    if built.jar is None:
        click.echo("There is no JDK, so the jar of the JVM client is missing: a release needs it.")
    click.echo(f"noutput {__version__} can be released; the packages are in {_TARGET.name}")


def _check_names(package: Path, expected: set[str]) -> None:
    found = packages.differences(packages.names(package), expected)
    if found:
        raise click.ClickException("\n".join([f"{package.name}:", *found]))
    click.echo(f"{package.name} has its {len(expected)} files")


def _use_python(package: Path, folder: Path) -> None:
    """Install a package with what it needs and no extra; design, verify, privatize, estimate."""
    _install(str(package), folder)
    told = _noutput(folder, "--version")
    if __version__ not in told:
        raise click.ClickException(f"{package.name} calls itself {told.strip()}")
    _noutput(folder, "--help")
    _noutput(folder, "design", "--epsilon", "1", "--outputs", "16", "--json", "table.json")
    _noutput(folder, "verify", "table.json")
    _python(folder, _ROUND_TRIP, __version__)
    (folder / "release.toml").write_text(_CAMPAIGN, encoding="utf-8")
    _noutput(folder, "campaign", "create", "release.toml")
    click.echo(f"{package.name} works in an empty environment")


def _use_collector(wheel: Path, folder: Path) -> None:
    """Add the collector's extra and let the demo run, which shows the dashboard's files."""
    _install(f"{wheel}[collector]", folder)
    _noutput(folder, "demo", "--people", "300", "--no-serve")
    click.echo(f"{wheel.name}[collector] runs the demo")


def _use_light(wheel: Path, campaign: Path, folder: Path) -> None:
    """Install noutput-client and nothing else, and answer the campaign that the wheel made."""
    _install(str(wheel), folder, "--no-index")
    _python(folder, _DEVICE, __version__, str(campaign))
    click.echo(f"{wheel.name} works in an empty environment, without any dependency")


def _use_node(tarball: Path, campaign: Path, folder: Path) -> None:
    """Install the JavaScript client, and answer the campaign that the wheel made."""
    folder.mkdir()
    (folder / "package.json").write_text('{"private": true, "type": "module"}', encoding="utf-8")
    run("npm", "install", "--offline", "--no-audit", "--no-fund", str(tarball), folder=folder)
    shutil.copy(campaign, folder)
    (folder / "answer.js").write_text(_ANSWER, encoding="utf-8")
    run("node", "answer.js", folder=folder)
    click.echo(f"{tarball.name} works in an empty folder")


def _use_jar(jar: Path, campaign: Path, folder: Path) -> None:
    """Compile a program against the jar alone, and answer the campaign that the wheel made."""
    folder.mkdir()
    shutil.copy(campaign, folder)
    (folder / "Answer.java").write_text(_APP, encoding="utf-8")
    run("javac", "-cp", str(jar), "-d", ".", "Answer.java", folder=folder)
    run("java", "-cp", f"{jar}{os.pathsep}.", "Answer", folder=folder)
    click.echo(f"{jar.name} works without anything else")


def _bin(folder: Path) -> Path:
    return folder / "env" / ("Scripts" if sys.platform == "win32" else "bin")


def _install(wanted: str, folder: Path, *options: str) -> None:
    if not (folder / "env").exists():
        venv.create(folder / "env", with_pip=True)
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options)
    run(str(_bin(folder) / "python"), *pip, wanted, folder=folder)


def _python(folder: Path, code: str, *arguments: str) -> None:
    run(str(_bin(folder) / "python"), "-c", code, *arguments, folder=folder)


def _noutput(folder: Path, *arguments: str) -> str:
    return run(str(_bin(folder) / "noutput"), *arguments, folder=folder)


if __name__ == "__main__":
    try:
        main()
    except click.ClickException as problem:
        problem.show()
        sys.exit(1)
