"""Running the issuer: one process, one key, no log of who called."""

from __future__ import annotations

import importlib
import inspect
import threading
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from noutput._extras import need
from noutput.collector.http.connections import BACKLOG, address, affordable, listen
from noutput.collector.http.limits import Limits
from noutput.errors import InvalidArgumentError
from noutput.issuer.app import Admit, Issuer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import uvicorn

    from noutput.issuer.keys import IssuerKey

__all__ = ["load_hook", "run", "running"]


def load_hook(name: str) -> Admit:
    """Return the function that ``module:function`` names."""
    module, _, function = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidArgumentError("admit", "be MODULE:FUNCTION", f"{name} ({error})") from None
    if not callable(found):
        raise InvalidArgumentError("admit", "name a function", type(found).__name__)
    if inspect.iscoroutinefunction(found):
        raise InvalidArgumentError("admit", "name a function that is not async", name)
    hook: Admit = found
    return hook


def run(
    key: IssuerKey, admit: Admit, host: str, port: int, say: Callable[[str], object] = print
) -> None:
    """Serve until a signal ends the process."""
    server = _server(Issuer(key, admit))
    with listen(host, port) as listener:
        say(f"Signing at {address(host, listener)}")
        server.run(sockets=[listener])


@contextmanager
def running(key: IssuerKey, admit: Admit, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve in a thread, until the block is left; return the address."""
    server = _server(Issuer(key, admit))
    with listen(host, port) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield address(host, listener)
        finally:
            server.should_exit = True
            thread.join()


def _server(app: Issuer) -> uvicorn.Server:
    for package in ("uvicorn", "httptools"):
        need(package, "collector")
    import uvicorn

    from noutput.collector.http.protocol import limited_protocol

    limits = Limits()
    limits = replace(limits, connections=affordable(limits.connections))
    return uvicorn.Server(
        uvicorn.Config(
            app,
            http=limited_protocol(limits),
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            backlog=BACKLOG,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=5,
        )
    )
