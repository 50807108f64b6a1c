"""The Kotlin of docs/clients.md: a Java program makes the same calls, and the compiler takes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from noutput.collector.server import Options, running
from tests.campaign.examples import commute_campaign
from tests.docs.blocks import blocks
from tests.jvm.conftest import CLIENT, Machine

ADDRESS = '"https://collect.example/campaigns/commute"'
ROOT = '"<fingerprint>"'
MIRROR = CLIENT / "src/test/java/noutput/client/TenLines.java"


def kotlin() -> list[str]:
    return [block.text for block in blocks("docs/clients.md") if block.language == "kotlin"]


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    document = tmp_path / "commute.json"
    document.write_text(commute_campaign().to_json(), encoding="utf-8")
    with running(Options(str(tmp_path / "r.db"), port=0, campaigns=(document,))) as collector:
        yield f"{collector.url}/campaigns/commute"


def calls(text: str, declares: str) -> list[str]:
    """Return what is assigned, line by line, in the words that both languages share."""
    result = []
    for name, value in re.findall(rf"^ *(?:{declares}) (\w+) = ([^;\n]*)", text, re.MULTILINE):
        plain = re.sub(r"\bnew |//.*", "", value).strip()
        result.append(f"{name} = {plain}")
    return result


def test_a_java_program_makes_the_same_calls(
    machine: Machine, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = kotlin()[0].replace(ADDRESS, "arguments[0]").replace(ROOT, "arguments[1]")
    shown = calls(text, "val")
    assert len(shown) == 7
    assert calls(MIRROR.read_text(), r"[A-Z]\w+") == shown
    page = (CLIENT.parents[1] / "docs/clients.md").read_text(encoding="utf-8")
    getters = "receipt.getAccepted() + receipt.getRepeated()"
    assert f"`{getters}`" in page
    assert getters in MIRROR.read_text()
    root = commute_campaign().root
    assert machine.run("TenLines", url, root) == ["1"]
    assert machine.run("TenLines", url, root) == ["1"]  # repeated


def run_kotlin(source: str, machine: Machine, folder: Path, *arguments: str) -> list[str]:
    """Compile a program against the jar, and return the lines that it prints."""
    if shutil.which("kotlinc") is None:
        reason = "kotlinc is not installed (Debian: kotlin)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    (folder / "Program.kt").write_text(source, encoding="utf-8")
    jar, built = str(machine.jar), str(folder / "program.jar")
    command = ["kotlinc", "Program.kt", "-cp", jar, "-include-runtime", "-d", built]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    command = ["java", "-cp", f"{jar}{os.pathsep}{built}", "ProgramKt", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_the_kotlin_compiler_takes_it(machine: Machine, url: str, tmp_path: Path) -> None:
    first, second = kotlin()
    head, _, body = first.partition("\n\n")
    body = body.replace(ADDRESS, "arguments[0]").replace(ROOT, "arguments[1]")
    lines = f"{body}{second}"
    source = f"{head}\nfun main(arguments: Array<String>) {{\n{lines}\nprintln(reports.size)\n}}\n"
    told = run_kotlin(source, machine, tmp_path, url, commute_campaign().root)
    assert told == ["1", "commute: 0.0 to 180.0", "1"]


STORAGE = CLIENT / "src/main/java/noutput/client/Storage.java"
PHONE = """
import java.io.*
import java.util.Arrays
import noutput.client.*

/** As Android 10 has it: the old file is set aside while the new one is written. */
class AtomicFile(val baseFile: File) {
    private val backup = File(baseFile.path + ".bak")
    var isFull = false

    fun startWrite(): FileOutputStream {
        if (baseFile.exists()) baseFile.renameTo(backup)
        return FileOutputStream(baseFile)
    }

    fun finishWrite(stream: FileOutputStream) {
        stream.close()
        if (isFull) baseFile.writeText("") else backup.delete()
    }

    fun failWrite(stream: FileOutputStream) {
        stream.close()
        backup.renameTo(baseFile)
    }

    fun readFully(): ByteArray {
        if (backup.exists()) backup.renameTo(baseFile)
        return FileInputStream(baseFile).use { it.readBytes() }
    }
}
"""
ENDED = """
fun main() {
    val file = AtomicFile(File("ledger"))
    val storage = AtomicStorage(file)
    storage.update { stored -> println(stored == null); "first".toByteArray() }
    File("ledger").renameTo(File("ledger.bak")) // the process was ended while it wrote
    storage.update { stored -> println(String(stored!!)); null }
    file.isFull = true
    try {
        storage.update { "second".toByteArray() }
    } catch (error: LedgerException) {
        println("refused")
    }
}
"""


@pytest.mark.slow
def test_the_storage_of_the_javadoc_forgets_nothing(machine: Machine, tmp_path: Path) -> None:
    text = STORAGE.read_text(encoding="utf-8")
    shown = text[text.index("{@code\n") + 7 : text.index(" * }</pre>")]
    example = "".join(line[3:] or "\n" for line in shown.splitlines(keepends=True))
    told = run_kotlin(PHONE + example + ENDED, machine, tmp_path)
    assert told == ["true", "first", "refused"]
