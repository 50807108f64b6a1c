"""A site of another origin than the collector's, which has the JavaScript client."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def elsewhere(folder: Path) -> Iterator[str]:
    """Serve a page and the client at localhost, which is another origin than 127.0.0.1."""
    (folder / "index.html").write_text("<!doctype html><title>Elsewhere</title>")
    (folder / "noutput.min.js").write_bytes(Path("clients/js/noutput.min.js").read_bytes())
    site = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = threading.Thread(target=site.serve_forever)
    thread.start()
    try:
        yield f"http://localhost:{site.server_port}/"
    finally:
        site.shutdown()
        thread.join()
        site.server_close()
