"""The JVM client's own checks pass, and its classes are those of Java 8."""

from __future__ import annotations

import struct
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.jvm.conftest import CLIENT, Machine

VECTORS = Path(__file__).parents[1] / "vectors"


def test_the_clients_own_checks_pass(machine: Machine, tmp_path: Path) -> None:
    done = subprocess.run(
        machine.command("Checks", VECTORS, tmp_path), capture_output=True, text=True, check=False
    )
    lines = done.stdout.splitlines()
    assert [line for line in lines if not line.startswith("ok ")] == [], done.stderr
    assert len(lines) >= 50


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


@pytest.mark.slow
def test_the_same_sources_make_the_same_jar(machine: Machine, tmp_path: Path) -> None:
    subprocess.run([CLIENT / "build.sh", tmp_path / "again"], check=True)
    assert (tmp_path / "again/noutput-client-jvm.jar").read_bytes() == machine.jar.read_bytes()


def test_the_license_is_that_of_the_project() -> None:
    root = CLIENT.parents[1]
    assert (CLIENT / "LICENSE").read_bytes() == (root / "LICENSE").read_bytes()
