"""nginx with the documented configuration, on a free port of loopback."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.docs.blocks import ROOT
from tests.ports import free_port

FOLDER = ROOT / "deploy" / "nginx"
_MAIN = """
pid {folder}/nginx.pid;
daemon off;
worker_processes 1;
error_log {folder}/main.log;
{user}
events {{}}
http {{
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    include {folder}/conf.d/*.conf;
}}
"""


@dataclass(frozen=True)
class Proxy:
    """A running nginx."""

    port: int
    certificate: Path
    folder: Path

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}"


def self_signed(folder: Path) -> tuple[Path, Path]:
    """Write a certificate for this machine, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "collect.example")])
    here = [x509.IPAddress(ip_address(each)) for each in ("127.0.0.1", "::1")]
    names = x509.SubjectAlternativeName(here)
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=1))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    paths = folder / "collect.example.pem", folder / "collect.example.key"
    paths[0].write_bytes(certificate.public_bytes(pem))
    form = serialization.PrivateFormat.PKCS8
    paths[1].write_bytes(key.private_bytes(pem, form, plain))
    return paths


def put(text: str, pattern: str, value: str) -> str:
    """Replace what must be there, and is another on the reader's machine."""
    found, count = re.subn(pattern, value, text)
    assert count > 0, pattern
    return found


def has_ipv6() -> bool:
    """Whether this machine has the loopback address of IPv6."""
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            return True
    except OSError:
        return False


def configure(folder: Path, port: int, files: Mapping[str, Mapping[str, str]]) -> None:
    """Write documented files, with ports and paths of this test.

    `files` has, for every file, what stands in it (a pattern) and what takes its place.
    """
    certificate, key = self_signed(folder)
    (folder / "conf.d").mkdir()
    for name, replaced in files.items():
        text = (FOLDER / name).read_text(encoding="utf-8")
        if "ssl_certificate" in text:
            text = put(text, r"listen 443 ssl;", f"listen 127.0.0.1:{port} ssl;")
            ipv6 = f"listen [::1]:{port} ssl;" if has_ipv6() else ""
            text = put(text, r"listen \[::\]:443 ssl;", ipv6)
            text = put(text, r"/etc/ssl/noutput/\w+\.example\.pem", str(certificate))
            text = put(text, r"/etc/ssl/noutput/\w+\.example\.key", str(key))
            text = put(text, r"/var/log/nginx/error\.log", str(folder / "error.log"))
        for pattern, value in replaced.items():
            text = put(text, pattern, value)
        (folder / "conf.d" / name).write_text(text, encoding="utf-8")
    user = "user root;" if os.geteuid() == 0 else ""  # pytest's folders are for one user
    (folder / "nginx.conf").write_text(_MAIN.format(folder=folder, user=user), encoding="utf-8")


@contextmanager
def nginx(folder: Path, files: Mapping[str, Mapping[str, str]]) -> Iterator[Proxy]:
    """Start nginx with files that `configure` writes; end it, and nothing else."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        if os.environ.get("CI") == "true":
            pytest.fail("nginx is not installed")
        pytest.skip("nginx is not installed")
    port = free_port()
    configure(folder, port, files)
    command = [program, "-p", str(folder), "-c", str(folder / "nginx.conf")]
    command += ["-e", str(folder / "main.log")]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    process = subprocess.Popen(command, cwd=folder)
    try:
        yield Proxy(port, folder / "collect.example.pem", folder)
    finally:
        process.terminate()
        process.wait(30)


def ask(
    proxy: Proxy, path: str, source: str = "127.0.0.1", **headers: str
) -> http.client.HTTPResponse:
    """Ask for a page from an address of this machine; the certificate is verified."""
    trusted = ssl.create_default_context(cafile=str(proxy.certificate))
    connection = http.client.HTTPSConnection(
        "::1" if ":" in source else "127.0.0.1", proxy.port, timeout=60, context=trusted,
        source_address=(source, 0),
    )  # fmt: skip
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        return answer
    finally:
        connection.close()


def wait_for(proxy: Proxy, path: str) -> None:
    for _ in range(100):
        try:
            if ask(proxy, path, "127.0.0.9").status == 200:
                return
        except OSError:
            time.sleep(0.1)
    raise TimeoutError("nginx does not answer")
