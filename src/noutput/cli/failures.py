"""Failures of files and engines, told in one line."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import click

from noutput.errors import InvalidArgumentError

__all__ = ["plain_failures", "with_options"]

_OPTIONS = {"clip=True": "--clip", "skip_missing=True": "--skip-missing", "other=...": "--other"}
_NAMES = {
    "n_outputs": "--outputs",
    "columns": "--column",
    "target": "--output",
    "shares_within": "--shares-within",
}


def with_options(error: InvalidArgumentError) -> InvalidArgumentError:
    """Return an error that calls arguments as the command line does."""
    if type(error) is not InvalidArgumentError:  # others are about documents and tables
        return error
    rule = error.rule
    for name, option in _OPTIONS.items():
        rule = rule.replace(name, option)
    return InvalidArgumentError(_NAMES.get(error.name, error.name), rule, error.found)


class _Failure(click.ClickException):
    exit_code = 2


@contextmanager
def plain_failures(source: str) -> Iterator[None]:
    """End with status 2 and a message, and call options as the command line does."""
    from noutput.frames.engines.errors import engine_errors

    # PySpark 4 works with pandas 3 and warns that it may not
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        yield
    except InvalidArgumentError as error:
        raise with_options(error) from None
    except Exception as error:
        if not isinstance(error, (OSError, *engine_errors())):
            raise
        raise _Failure(f"{source}: " + str(error).strip().partition("\n")[0]) from None
