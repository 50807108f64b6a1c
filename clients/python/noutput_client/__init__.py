"""Private answers to campaigns, for devices.

`noutput_client.campaign` has the names of `noutput.campaign`, and `noutput_client.errors` those of
`noutput.errors`: both packages are built from one source, and either can be installed, upgraded
and removed without the other.
"""

from __future__ import annotations

from importlib.metadata import version
from typing import NoReturn

__all__ = ["__version__"]

__version__ = version("noutput-client")


def __getattr__(name: str) -> NoReturn:
    raise AttributeError(
        f"module 'noutput_client' has no attribute {name!r}: what a device needs is in "
        "noutput_client.campaign, everything else in noutput (pip install noutput)"
    )
