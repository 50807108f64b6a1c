"""`noutput verify`: certify a table that came from a stranger."""

from __future__ import annotations

import sys
from pathlib import Path

import click

__all__ = ["command"]


@click.command(name="verify")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
def command(file: Path) -> None:
    """Check in whole-number arithmetic that a table is as private as it claims.

    Exits with status 1 where it is not, and names the output and the rows that show it.
    """
    from noutput.errors import PrivacyError
    from noutput.mechanisms.table import TableMechanism

    try:
        mechanism = TableMechanism.from_json(file.read_bytes())
    except PrivacyError as error:
        click.echo(
            f"NOT PRIVATE: {file}\n"
            f"Output {error.output} has weight {error.weights[0]} in row {error.likely} and "
            f"{error.weights[1]} in row {error.unlikely}: "
            f"the ratio exceeds e^{error.epsilon!r}.",
            err=True,
        )
        sys.exit(1)
    click.echo(
        f"Private: {file}\n"
        f"Claimed epsilon {mechanism.epsilon!r}, certified loss {mechanism.privacy_loss()!r}.\n"
        f"{mechanism.n_outputs} outputs, {len(mechanism.knots)} knots, "
        f"fingerprint {mechanism.fingerprint}"
    )
