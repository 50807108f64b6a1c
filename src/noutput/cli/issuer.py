"""`noutput issuer`: sign anonymous tokens, in a process of its own."""

from __future__ import annotations

from pathlib import Path

import click

from noutput.cli.targets import check_target

__all__ = ["command"]

_FILE = click.Path(dir_okay=False, path_type=Path)
_EXISTING = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.group(name="issuer")
def command() -> None:
    """Sign tokens with which people report once, and which do not say who they are."""


@command.command(name="keygen")
@click.argument("file", type=_FILE)
def keygen(file: Path) -> None:
    """Draw a key for one campaign, save it in FILE, and print what the campaign names.

    A key is for one campaign only: the issuer cannot see which campaign a token is for.
    """
    from noutput.issuer.keys import IssuerKey

    check_target(file)
    key = IssuerKey.generate()
    key.save(file)
    click.echo(f"Private key, for this issuer only, in {file}", err=True)
    click.echo(f'key = "{key.public}"')


@command.command(name="codes")
@click.option("--count", type=click.IntRange(1, 10_000_000), default=1, show_default=True)
def codes(count: int) -> None:
    """Print new enrollment codes, one per line: one for every person who may take part."""
    from noutput.issuer.codes import new_code

    for _ in range(count):
        click.echo(new_code())


@command.command(name="serve")
@click.argument("key", type=_EXISTING)
@click.option("--codes", "codes_file", type=_EXISTING, help="Enrollment codes, one per line.")
@click.option(
    "--used", type=_FILE, help="Where used codes are kept [default: beside the codes, .used]."
)
@click.option(
    "--admit", metavar="MODULE:FUNCTION",
    help="Your own hook in place of codes: it gets the credential of a request and 32 bytes that "
    "tell requests apart, and says whether to sign.",
)  # fmt: skip
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8001, show_default=True)
def serve(
    key: Path, codes_file: Path | None, used: Path | None, admit: str | None, host: str, port: int
) -> None:
    """Sign tokens with the private key KEY for whoever has an enrollment code, or a hook admits.

    Neither requests nor addresses are logged. Run it apart from the collector, by other people
    where you can.
    """
    from noutput.issuer.codes import Codes
    from noutput.issuer.keys import IssuerKey
    from noutput.issuer.server import load_hook, run

    if (codes_file is None) == (admit is None):
        raise click.UsageError("Give either --codes or --admit.")
    loaded = IssuerKey.load(key)
    if codes_file is None:
        run(loaded, load_hook(admit or ""), host, port, click.echo)
        return
    hook = Codes(codes_file, used or codes_file.with_name(f"{codes_file.name}.used"))
    try:
        run(loaded, hook, host, port, click.echo)
    finally:
        hook.close()
