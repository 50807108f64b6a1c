"""A PostgreSQL server of the tests' own, in a temporary folder on loopback."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg

from tests.ports import free_port


def binaries() -> Path | None:
    """Return the folder of the newest PostgreSQL, or None."""
    folders = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: path.parent.name)
    on_path = shutil.which("initdb")
    if on_path is not None:
        folders.append(Path(on_path).resolve().parent)
    fitting = [
        path for path in folders if (path / "initdb").exists() and (path / "pg_ctl").exists()
    ]
    return fitting[-1] if fitting else None


def _with_children(parent: int) -> Iterator[int]:
    yield parent
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent:
                yield int(folder.name)


@dataclass
class PostgresqlServer:
    """A running server; root starts it as another user, as PostgreSQL demands."""

    folder: Path
    port: int
    _numbers: Iterator[int] = field(default_factory=count)

    @classmethod
    @contextmanager
    def start(cls) -> Iterator[PostgresqlServer]:
        # Not in pytest's own folder: another user cannot enter that.
        folder = Path(tempfile.mkdtemp(prefix="noutput-pg-"))
        server = cls(folder, free_port())
        if os.geteuid() == 0:
            owner = pwd.getpwnam("postgres")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
        try:
            server._run("initdb", "-D", str(folder / "data"), "-A", "trust", "-U", "noutput",
                        "-E", "UTF8", "--locale=C", "--no-sync")  # fmt: skip
            server.up()
            yield server
        finally:
            server.down("immediate", check=False)
            shutil.rmtree(folder, ignore_errors=True)

    def up(self) -> None:
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories="
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"),
                  "-o", options, "-w", "-t", "60", "start")  # fmt: skip

    def down(self, mode: str, *, check: bool = True) -> None:
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop", check=check)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Stop all processes of this server, as a machine that hangs; let them go on at the end."""
        postmaster = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        stopped: list[int] = []
        try:
            # The postmaster first: it starts no more of them.
            for process in _with_children(postmaster):
                os.kill(process, signal.SIGSTOP)
                stopped.append(process)
            yield
        finally:
            for process in stopped:
                os.kill(process, signal.SIGCONT)

    def new_database(self) -> str:
        name = f"test_{next(self._numbers)}"
        address = f"postgresql://noutput@127.0.0.1:{self.port}"
        with psycopg.connect(f"{address}/postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"{address}/{name}"

    def _run(self, name: str, *arguments: str, check: bool = True) -> None:
        folder = binaries()
        assert folder is not None
        command = [str(folder / name), *arguments]
        if os.geteuid() == 0:
            command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--init-groups", *command]
        done = subprocess.run(
            command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, timeout=120, check=False,
        )  # fmt: skip
        if check and done.returncode:
            raise RuntimeError(f"{name} ended with status {done.returncode}")
