"""The JVM client's own checks pass, and its classes are those of Java 8."""

from __future__ import annotations

import re
import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from noutput import __version__
from tests.jvm.conftest import CLIENT, Machine
from tools import packages

VECTORS = Path(__file__).parents[1] / "vectors"


def test_the_clients_own_checks_pass(machine: Machine, tmp_path: Path) -> None:
    done = subprocess.run(
        machine.command("Checks", VECTORS, tmp_path), capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("ok ")] == [], done.stderr
    assert len(lines) >= 50
    assert done.stderr.count("labels are left out") == 1  # of all checks that leave some out


def test_classes_are_those_of_java_8_and_need_no_others(machine: Machine) -> None:
    """Android before version 8 lacks what only the file storage needs."""
    with zipfile.ZipFile(machine.jar) as jar:
        classes = {name: jar.read(name) for name in jar.namelist() if name.endswith(".class")}
        assert b"Automatic-Module-Name: noutput.client" in jar.read("META-INF/MANIFEST.MF")
        assert jar.read("META-INF/LICENSE") == (CLIENT / "LICENSE").read_bytes()
    assert len(classes) > 30
    assert machine.jar.stat().st_size < 100_000
    for name, data in classes.items():
        magic, _, major = struct.unpack_from(">IHH", data)
        assert (magic, major) == (0xCAFEBABE, 52), name
        for missing in (b"java/time/", b"java/util/Base64", b"java/net/http", b"java/lang/reflect"):
            assert missing not in data, name
        if b"java/nio/file/" in data:
            assert name == "noutput/client/FileStorage.class"


def test_maven_writes_the_same_manifest(machine: Machine) -> None:
    pom = (CLIENT / "pom.xml").read_text(encoding="utf-8")
    (entries,) = re.findall(r"<manifestEntries>(.+)</manifestEntries>", pom, re.DOTALL)
    said = dict(re.findall(r"<([\w-]+)>(.+)</\1>", entries))
    found = {key: value.replace("${project.version}", __version__) for key, value in said.items()}
    with zipfile.ZipFile(machine.jar) as jar:
        manifest = jar.read("META-INF/MANIFEST.MF").decode()
    written = dict(line.split(": ", 1) for line in manifest.split("\r\n") if line)
    added = {"Manifest-Version", "Created-By"}  # by every tool
    assert found == {key: value for key, value in written.items() if key not in added}


def test_the_jar_of_a_release_has_every_class(tmp_path: Path, machine: Machine) -> None:
    jar = packages.build_jar(tmp_path / "dist")
    assert jar.read_bytes() == machine.jar.read_bytes()
    assert packages.differences(packages.names(jar), packages.expected_jar()) == []
    assert jar.name == f"noutput-client-jvm-{__version__}.jar"
    assert jar.with_suffix(".pom").read_bytes() == (CLIENT / "pom.xml").read_bytes()


@pytest.mark.slow
def test_the_same_sources_make_the_same_jar(machine: Machine, tmp_path: Path) -> None:
    subprocess.run([CLIENT / "build.sh", tmp_path / "again"], check=True)
    assert (tmp_path / "again/noutput-client-jvm.jar").read_bytes() == machine.jar.read_bytes()


def test_the_license_is_that_of_the_project() -> None:
    root = CLIENT.parents[1]
    assert (CLIENT / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
