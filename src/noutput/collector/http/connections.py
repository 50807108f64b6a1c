"""Open connections: so many and no more, and those that only wait make room for others."""

from __future__ import annotations

import errno
import socket
import sys
from collections import OrderedDict
from typing import Protocol

from noutput.errors import InvalidArgumentError

__all__ = ["BACKLOG", "Connection", "Connections", "address", "affordable", "listen"]

BACKLOG = 2048
_OTHER_FILES = 128  # of the database, of the program itself


class Connection(Protocol):
    """What can be told to make room."""

    def give_way(self) -> None:
        """Close at once; nobody is answered."""


class Connections:
    """Counts connections, and knows which of them wait for a request.

    Parameters
    ----------
    most : int
        How many are open at once.

    Notes
    -----
    A connection waits until its request has arrived as a whole: one that never sends anything,
    sends its request byte by byte, or has been answered and is kept for the next request. The
    one that has waited longest is closed where there are too many, so those who never send
    a request cannot shut anybody out. No address plays a part: behind a proxy all are the same.

    Examples
    --------
    >>> class Socket:
    ...     def give_way(self) -> None:
    ...         print("closed")
    >>> first, second, third = Socket(), Socket(), Socket()
    >>> connections = Connections(most=2)
    >>> connections.opened(first), connections.opened(second), connections.opened(third)
    closed
    (True, True, True)
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.open = 0
        self._waiting: OrderedDict[Connection, None] = OrderedDict()

    def opened(self, connection: Connection) -> bool:
        """Take a connection; say whether there is room for it."""
        self.open += 1
        if self.open > self.most:
            if not self._waiting:
                return False
            oldest, _ = self._waiting.popitem(last=False)
            oldest.give_way()
        self._waiting[connection] = None
        return True

    def waits(self, connection: Connection) -> None:
        """Note that a connection waits for a request, or for more of it, from now on."""
        self._waiting[connection] = None
        self._waiting.move_to_end(connection)

    def works(self, connection: Connection) -> None:
        """Note that a request has arrived."""
        self._waiting.pop(connection, None)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self.open -= 1
        self._waiting.pop(connection, None)


def affordable(wanted: int) -> int:
    """Return how many connections the system allows this process, up to those wanted.

    Where the limit of open files may be raised, it is.
    """
    if sys.platform == "win32":  # has no such limit
        return wanted
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = wanted + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < needed:
        soft = needed if hard == resource.RLIM_INFINITY else min(hard, needed)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return wanted if soft == resource.RLIM_INFINITY else max(1, min(wanted, soft - _OTHER_FILES))


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address of this machine; port 0 takes a free one."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if not host:  # would be every address of the machine
            raise OSError(errno.EINVAL, "it is empty")
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        rule = f"be an address to listen at ({error.strerror})"
        raise InvalidArgumentError("host and port", rule, f"{host}:{port}") from None
    return listener


def address(host: str, listener: socket.socket) -> str:
    """Return the URL of a socket that listens."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}"
