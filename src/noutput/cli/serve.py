"""`noutput serve`: collect reports over HTTP."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click

from noutput.cli import options

__all__ = ["command"]

_option = partial(click.option, show_envvar=True)


# Every option is also a variable of the environment, which containers and services set.
@click.command(name="serve", context_settings={"auto_envvar_prefix": "NOUTPUT"})
@options.database
@_option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@_option("--port", type=click.IntRange(0, 65535), default=8000, show_default=True)
@_option(
    "--campaign", "campaigns", multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A campaign document to add at the start; may be repeated.",
)  # fmt: skip
@_option(
    "--rate", type=click.FloatRange(0), default=100.0, show_default=True,
    help="Requests per second of one client; 0 for no limit.",
)  # fmt: skip
@_option(
    "--burst", type=click.IntRange(1), default=200, show_default=True,
    help="Requests that one client may send at once.",
)  # fmt: skip
@_option(
    "--client-reports", type=click.FloatRange(0), default=1000.0, show_default=True,
    help="Reports per hour of one client in one campaign; 0 for no limit.",
)  # fmt: skip
@_option(
    "--client-share", type=click.FloatRange(0, 1), default=0.25, show_default=True,
    help="Largest share of --minimum that one client has among reports that wait to be published; "
    "0 for no limit.",
)  # fmt: skip
@_option(
    "--aggregator", "aggregators", multiple=True, metavar="ADDRESS",
    help="An address or network that sends the reports of many people, which --client-reports "
    "and --client-share do not limit; may be repeated.",
)  # fmt: skip
@_option(
    "--minimum", type=click.IntRange(1), default=500, show_default=True,
    help="Fewest new reports that are published together.",
)  # fmt: skip
@_option(
    "--growth", type=click.FloatRange(0, 1), default=0.1, show_default=True,
    help="The same as a share of what is published already.",
)  # fmt: skip
@_option(
    "--trusted-proxy", "trusted_proxies", multiple=True, metavar="ADDRESS",
    help="The address or network of a reverse proxy, whose X-Forwarded-For names the client and "
    "X-Forwarded-Proto the scheme; may be repeated.",
)  # fmt: skip
@_option(
    "--archive", type=click.Path(file_okay=False, path_type=Path), metavar="DIR",
    help="Keep every report as Parquet in this folder as well, for `noutput estimate` and Spark.",
)  # fmt: skip
@_option(
    "--log-format", type=click.Choice(["text", "json"]), default="text", show_default=True,
    help="Form of the log lines on the standard error. With json, the address and failures of the "
    "start are lines of the log, too.",
)  # fmt: skip
@_option("--new-admin-token", is_flag=True, help="Print another admin token.")
@_option(
    "--admin-token-file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Write a new admin token to this file, which only you can read, and do not print it: "
    "where the output goes to a log.",
)  # fmt: skip
def command(
    database: str,
    host: str,
    port: int,
    campaigns: tuple[Path, ...],
    rate: float,
    burst: int,
    client_reports: float,
    client_share: float,
    aggregators: tuple[str, ...],
    minimum: int,
    growth: float,
    trusted_proxies: tuple[str, ...],
    archive: Path | None,
    log_format: str,
    new_admin_token: bool,
    admin_token_file: Path | None,
) -> None:
    """Collect reports over HTTP and answer with estimates.

    The first start prints an admin token, once. Neither addresses nor user agents are logged.
    """
    from noutput.collector.http.limits import Limits
    from noutput.collector.logs import json_failures
    from noutput.collector.publishing import ReleasePolicy
    from noutput.collector.server import Options, run

    with json_failures() if log_format == "json" else nullcontext():
        options = Options(
            database=database,
            host=host,
            port=port,
            campaigns=campaigns,
            trusted_proxies=trusted_proxies,
            archive=archive,
            log_format=log_format,
            new_admin_token=new_admin_token,
            admin_token_file=admin_token_file,
            limits=Limits(
                requests_per_second=rate,
                burst=burst,
                client_reports_per_hour=client_reports,
                client_share=client_share,
                aggregators=aggregators,
            ),
            policy=ReleasePolicy(minimum, growth),
        )
        run(options, click.echo)
