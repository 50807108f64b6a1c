"""HTTP connections with one deadline, from the first packet to the last byte of the answer.

A timeout of the standard library's sockets is one of a single wait: a server that sends one byte
per wait is never given up. Here every wait gets what is left of the whole time.
"""

from __future__ import annotations

import http.client
import io
import socket
import urllib.request
from collections.abc import Callable
from functools import partial
from ipaddress import ip_address
from typing import Any, cast
from urllib.parse import urlsplit

__all__ = ["Deadline", "Request", "is_here", "open_request"]

_PIECE = 1 << 14  # bytes sent at once: TLS waits anew for each


class Deadline:
    """A number of seconds that begins now.

    Parameters
    ----------
    seconds : float
        How long it is.
    clock : callable
        Returns a time in seconds that never goes back.
    """

    def __init__(self, seconds: float, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._end = clock() + seconds

    def remaining(self) -> float:
        """Return the seconds that are left; raise `TimeoutError` where none are."""
        left = self._end - self._clock()
        if left <= 0.0:
            raise TimeoutError("the time for an answer is over")
        return left


class Request(urllib.request.Request):
    """A request that is answered before a deadline, or not at all."""

    def __init__(
        self,
        url: str,
        body: bytes | None,
        headers: dict[str, str],
        deadline: Deadline,
        method: str | None = None,
    ) -> None:
        super().__init__(url, body, headers, method=method)
        self.deadline = deadline


class _Reader(io.RawIOBase):
    """Reads a socket; every wait gets what is left of the time."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._sock = sock
        self._file = sock.makefile("rb", buffering=0)
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(self._deadline.remaining())
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Source:
    """What a response takes for its socket."""

    def __init__(self, sock: socket.socket, deadline: Deadline) -> None:
        self._open = partial(_Reader, sock, deadline)

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(self._open())


class _Connection(http.client.HTTPConnection):
    deadline: Deadline

    def begin(self, deadline: Deadline) -> None:
        self.deadline = deadline
        # http.client gives every address of a name, and every wait of a response, all the time.
        self._create_connection = self._connect_to
        self.response_class = cast("Any", self._response)

    def _connect_to(self, address: tuple[str, int], *_: object) -> socket.socket:
        failure = OSError("the name has no address")
        for *kind, _name, place in socket.getaddrinfo(*address, 0, socket.SOCK_STREAM):
            sock = socket.socket(*kind)
            try:
                sock.settimeout(self.deadline.remaining())
                sock.connect(place)
            except OSError as error:
                sock.close()
                failure = error
            else:
                return sock
        raise failure

    def _response(self, sock: socket.socket, *args: Any, **options: Any) -> Any:
        source = cast("Any", _Source(sock, self.deadline))
        return http.client.HTTPResponse(source, *args, **options)

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(self.deadline.remaining())  # for the handshake of TLS

    def send(self, data: Any) -> None:
        if self.sock is None:
            self.connect()
        for start in range(0, len(data), _PIECE):
            self.sock.settimeout(self.deadline.remaining())
            super().send(data[start : start + _PIECE])


class _SecureConnection(http.client.HTTPSConnection, _Connection):
    """In this order, so that `_Connection.connect` comes before the handshake."""


class _Plain(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(cast("Any", partial(_connection, _Connection, req)), req)


class _Secure(urllib.request.HTTPSHandler):
    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        make = cast("Any", partial(_connection, _SecureConnection, req))
        return self.do_open(make, req, context=self._context)  # type: ignore[attr-defined] # typeshed lacks it


def _connection(kind: type[_Connection], request: Any, host: str, **options: Any) -> Any:
    made = kind(host, **options)
    made.begin(request.deadline)
    return made


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Leaves a redirect to the caller, who refuses it: a report goes where the person said."""

    def http_error_302(self, *_: Any, **__: Any) -> Any:
        return None  # before the new address is read, which may be none

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


_OPENER = urllib.request.build_opener(_NoRedirect, _Plain, _Secure)
_DIRECT = urllib.request.build_opener(_NoRedirect, _Plain, _Secure, urllib.request.ProxyHandler({}))


def is_here(host: str) -> bool:
    """Say whether a name or an address is that of this machine.

    Examples
    --------
    >>> is_here("127.0.0.1"), is_here("::1"), is_here("localhost"), is_here("10.0.0.1")
    (True, True, True, False)
    """
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def open_request(request: Request) -> http.client.HTTPResponse:
    """Send a request and return the answer, unread; statuses from 300 on are `HTTPError`.

    What is for this machine goes through no proxy, whatever the environment says.
    """
    opener = _DIRECT if is_here(urlsplit(request.full_url).hostname or "") else _OPENER
    answer: http.client.HTTPResponse = opener.open(request, timeout=request.deadline.remaining())
    return answer
