"""Running the issuer: one process, one key, no log of who called."""

from __future__ import annotations

import importlib
import inspect
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from noutput._extras import need
from noutput.errors import InvalidArgumentError
from noutput.issuer.app import Admit, Issuer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import uvicorn

    from noutput.issuer.keys import IssuerKey

__all__ = ["load_hook", "run", "running"]

_HEADER_BYTES = 16_384
_CONNECTIONS = 500


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
    with _listen(host, port) as listener:
        say(f"Signing at {_address(host, listener)}")
        server.run(sockets=[listener])


@contextmanager
def running(key: IssuerKey, admit: Admit, host: str = "127.0.0.1", port: int = 0) -> Iterator[str]:
    """Serve in a thread, until the block is left; return the address."""
    server = _server(Issuer(key, admit))
    with _listen(host, port) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield _address(host, listener)
        finally:
            server.should_exit = True
            thread.join()


def _server(app: Issuer) -> uvicorn.Server:
    need("uvicorn", "collector")
    import uvicorn

    return uvicorn.Server(
        uvicorn.Config(
            app,
            http="h11",
            ws="none",
            lifespan="off",
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=_HEADER_BYTES,
            limit_concurrency=_CONNECTIONS,
            timeout_keep_alive=10,
            timeout_graceful_shutdown=5,
        )
    )


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        listener.listen(128)
    except OSError as error:
        listener.close()
        rule = f"be an address to listen at ({error.strerror})"
        raise InvalidArgumentError("host and port", rule, f"{host}:{port}") from None
    return listener


def _address(host: str, listener: socket.socket) -> str:
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"
