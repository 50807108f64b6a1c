"""Free ports of loopback for servers that must be told one."""

from __future__ import annotations

import os
import socket
from itertools import count

__all__ = ["free_port"]

# The system gives ports from 32,768 on to whoever asks for any, so that one of these may be taken
# between the moment it was found free and the start of the server. Nobody is given those below.
_FIRST, _EACH, _WORKERS = 12_000, 2_500, 8
_worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS
_numbers = count(os.getpid())


def free_port() -> int:
    """Return a port that no server has, and that no other call of any worker returns soon."""
    while True:
        port = _FIRST + _worker * _EACH + next(_numbers) % _EACH
        try:
            with socket.create_server(("127.0.0.1", port)):
                return port
        except OSError:  # somebody's server
            continue
