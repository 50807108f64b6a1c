"""What published counts reveal, as options and sentences of several commands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from noutput.amplification.published import Certified
    from noutput.amplification.result import PublishedPrivacy

__all__ = ["delta", "show_privacy", "show_published"]

delta = click.option(
    "--delta", type=float, default=1e-8, show_default=True,
    help="Probability with which the guarantee of published counts may fail.",
)  # fmt: skip


def show_published(mechanism: Certified, reports: int, chance: float) -> None:
    """Print what a table promises to whom, where counts of so many reports are published."""
    from noutput.amplification.published import published_privacy

    show_privacy(published_privacy(mechanism, reports=reports, delta=chance))


def show_privacy(found: PublishedPrivacy) -> None:
    """Print both sentences of a guarantee."""
    click.echo(f"{found.for_operator}\n{found.for_readers}")
