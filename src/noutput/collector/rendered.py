"""Pages and files that are made once for every change, however many people look at them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from functools import partial

from noutput import __version__
from noutput.collector.lanes import Once

__all__ = ["Rendered", "Renderings"]

_KEPT_BYTES = 1 << 24


@dataclass(frozen=True, slots=True)
class Rendered:
    """A page or a file.

    Parameters
    ----------
    content : bytes
    tag : str
        Another one where the content is, or the version of the software.
    """

    content: bytes
    tag: str

    @classmethod
    def of(cls, text: str) -> Rendered:
        """Encode a text, and find its tag."""
        content = text.encode()
        digest = hashlib.sha256(__version__.encode() + content).hexdigest()[:24]
        return cls(content, f'"{digest}"')


class Renderings:
    """What was rendered last under every name, up to 16 MiB of it.

    Notes
    -----
    Of all who ask for the same version under the same name, the first has it rendered, and the
    others wait for that. Called in one event loop.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Hashable, Rendered]] = OrderedDict()
        self._bytes = 0
        self._once: Once[Rendered] = Once()

    async def get(
        self, name: Hashable, version: Hashable, render: Callable[[], Awaitable[str]]
    ) -> Rendered:
        """Return the rendering of a name.

        Parameters
        ----------
        name : hashable
            What is shown, and to whom: nothing else may differ between those who get it.
        version : hashable
            Another one whenever it must be rendered again.
        render : callable
        """
        known = self._kept.get(name)
        if known is not None and known[0] == version:
            self._kept.move_to_end(name)
            return known[1]
        return await self._once.get((name, version), partial(self._render, name, version, render))

    async def _render(
        self, name: Hashable, version: Hashable, render: Callable[[], Awaitable[str]]
    ) -> Rendered:
        found = Rendered.of(await render())
        _, before = self._kept.pop(name, (None, None))
        self._bytes += len(found.content) - (0 if before is None else len(before.content))
        self._kept[name] = version, found
        while self._bytes > _KEPT_BYTES and len(self._kept) > 1:
            _, (_, oldest) = self._kept.popitem(last=False)
            self._bytes -= len(oldest.content)
        return found
