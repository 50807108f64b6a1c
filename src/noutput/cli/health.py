"""`noutput health`: whether a collector counts reports, for the health check of a container."""

from __future__ import annotations

import click

__all__ = ["command"]

_NOT_READY = 1


@click.command(name="health")
@click.option("--host", default="127.0.0.1", show_default=True, envvar="NOUTPUT_HOST",
              show_envvar=True, help="Where the collector listens.")  # fmt: skip
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True,
              envvar="NOUTPUT_PORT", show_envvar=True)  # fmt: skip
@click.option("--timeout", type=click.FloatRange(0.1, 60), default=5.0, show_default=True,
              help="Seconds to wait for the answer.")  # fmt: skip
@click.pass_context
def command(context: click.Context, host: str, port: int, timeout: float) -> None:
    """Ask the collector of this machine whether it counts reports now.

    Ends with status 0 where it does, and with status 1 and the reason where it does not.
    """
    from noutput.campaign.delivery import Route, exchange
    from noutput.errors import DeliveryError

    asked = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 (means all addresses)
    name = f"[{asked}]" if ":" in asked else asked
    try:
        exchange(f"http://{name}:{port}/health/ready", None, None, 1 << 16, Route(timeout, 1))
    except DeliveryError as error:
        click.echo(f"not ready: {error}")
        context.exit(_NOT_READY)
    click.echo("ready")
