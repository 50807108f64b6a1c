"""`noutput serve`: collect reports over HTTP."""

from __future__ import annotations

from pathlib import Path

import click

from noutput.cli import options

__all__ = ["command"]


@click.command(name="serve")
@options.database
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@click.option(
    "--campaign", "campaigns", multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A campaign document to add at the start; may be repeated.",
)  # fmt: skip
@click.option(
    "--rate", type=click.FloatRange(0), default=100.0, show_default=True,
    help="Requests per second of one client; 0 for no limit.",
)  # fmt: skip
@click.option(
    "--burst", type=click.IntRange(1), default=200, show_default=True,
    help="Requests that one client may send at once.",
)  # fmt: skip
@click.option(
    "--client-reports", type=click.FloatRange(0), default=1000.0, show_default=True,
    help="Reports per hour of one client in one campaign; 0 for no limit.",
)  # fmt: skip
@click.option(
    "--aggregator", "aggregators", multiple=True, metavar="ADDRESS",
    help="An address or network that sends the reports of many people, which --client-reports "
    "does not limit; may be repeated.",
)  # fmt: skip
@click.option(
    "--step", type=click.IntRange(1), default=500, show_default=True,
    help="Fewest new reports on a question before what is published about it changes.",
)  # fmt: skip
@click.option(
    "--step-share", type=click.FloatRange(0, 1), default=0.1, show_default=True,
    help="The same as a share of the reports that are published already.",
)  # fmt: skip
@click.option(
    "--trusted-proxy", "trusted_proxies", multiple=True, metavar="ADDRESS",
    help="The address or network of a reverse proxy, whose X-Forwarded-For names the client and "
    "X-Forwarded-Proto the scheme; may be repeated.",
)  # fmt: skip
@click.option(
    "--archive", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep every report as Parquet in this folder as well, for `noutput estimate` and Spark.",
)  # fmt: skip
@click.option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Form of the log lines on the standard error.",
)  # fmt: skip
@click.option("--new-admin-token", is_flag=True, help="Print another admin token.")
def command(
    database: str,
    host: str,
    port: int,
    campaigns: tuple[Path, ...],
    rate: float,
    burst: int,
    client_reports: float,
    aggregators: tuple[str, ...],
    step: int,
    step_share: float,
    trusted_proxies: tuple[str, ...],
    archive: Path | None,
    log_format: str,
    new_admin_token: bool,
) -> None:
    """Collect reports over HTTP and answer with estimates.

    The first start prints an admin token, once. Neither addresses nor user agents are logged.
    """
    from noutput.collector.http.limits import Limits
    from noutput.collector.server import Options, run
    from noutput.collector.steps import Steps

    options = Options(
        database=database,
        host=host,
        port=port,
        campaigns=campaigns,
        trusted_proxies=trusted_proxies,
        archive=archive,
        log_format=log_format,
        new_admin_token=new_admin_token,
        limits=Limits(
            requests_per_second=rate,
            burst=burst,
            client_reports_per_hour=client_reports,
            aggregators=aggregators,
        ),
        steps=Steps(step, step_share),
    )
    run(options, click.echo)
