"""Every option of `noutput serve` is a variable of the environment, and the page lists them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from noutput.cli.serve import command
from noutput.collector.server import Options
from tests.deployment.files import DEPLOY, ROOT, containerfile, unit_settings, variables

# One value per variable that is not the default one, and the same for the command line.
VALUES: dict[str, tuple[str, ...]] = {
    "NOUTPUT_DATABASE": ("other.db",),
    "NOUTPUT_HOST": ("127.0.0.2",),
    "NOUTPUT_PORT": ("8123",),
    "NOUTPUT_CAMPAIGNS": ("one.json", "two.json"),
    "NOUTPUT_RATE": ("7",),
    "NOUTPUT_BURST": ("9",),
    "NOUTPUT_CLIENT_REPORTS": ("50",),
    "NOUTPUT_CLIENT_SHARE": ("0.5",),
    "NOUTPUT_AGGREGATORS": ("10.0.0.1", "10.1.0.0/16"),
    "NOUTPUT_MINIMUM": ("100",),
    "NOUTPUT_GROWTH": ("0.2",),
    "NOUTPUT_TRUSTED_PROXIES": ("127.0.0.1", "::1"),
    "NOUTPUT_ARCHIVE": ("kept",),
    "NOUTPUT_LOG_FORMAT": ("json",),
    "NOUTPUT_NEW_ADMIN_TOKEN": ("true",),
    "NOUTPUT_ADMIN_TOKEN_FILE": ("token",),
}
SEPARATOR = {"NOUTPUT_CAMPAIGNS": ":"}  # of paths; all others are separated by spaces


def started(
    arguments: list[str], environment: dict[str, str | None], patch: pytest.MonkeyPatch
) -> Options:
    """Return the options with which a collector would run."""
    found: list[Any] = []
    patch.setattr("noutput.collector.server.run", lambda options, _: found.append(options))
    nothing: dict[str, str | None] = dict.fromkeys(variables())
    done = CliRunner(env={**nothing, **environment}).invoke(
        command, arguments, auto_envvar_prefix="NOUTPUT"
    )
    assert done.exit_code == 0, done.output
    (options,) = found
    assert isinstance(options, Options)
    return options


def test_variables_do_what_options_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("one.json", "two.json"):
        (tmp_path / name).write_text("{}")
    known = variables()
    assert list(known) == list(VALUES)
    usual = started([], {}, monkeypatch)
    everything: list[str] = []
    for name, values in VALUES.items():
        option = known[name]
        given = [part for value in values for part in (option.opts[0], value)]
        if option.is_flag:
            given = [option.opts[0]]
        everything += given
        by_option = started(given, {}, monkeypatch)
        text = SEPARATOR.get(name, " ").join(values)
        assert started([], {name: text}, monkeypatch) == by_option != usual, name
        assert started([], {name: ""}, monkeypatch) == usual, name  # as if it were not set
    together = {name: SEPARATOR.get(name, " ").join(values) for name, values in VALUES.items()}
    assert started([], {**together}, monkeypatch) == started(everything, {}, monkeypatch)


def test_the_page_lists_every_variable() -> None:
    page = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(--[\w-]+)` \| `(NOUTPUT_\w+)` \|", page, re.MULTILINE)
    assert rows == [(option.opts[0], name) for name, option in variables().items()]


def test_help_names_every_variable() -> None:
    shown = CliRunner().invoke(command, ["--help"]).output
    text = re.sub(r"\s+", " ", shown)
    for name in variables():
        assert f"[env var: {name}" in text


def test_files_set_variables_that_exist() -> None:
    used = re.findall(r"NOUTPUT_\w+", "".join(
        path.read_text(encoding="utf-8") for path in DEPLOY.rglob("*") if path.is_file()
    ))  # fmt: skip
    assert len(used) > 10
    assert set(used) <= set(variables())
    for each in containerfile():
        if each.name == "ENV" and each.text.startswith("NOUTPUT_"):
            assert each.text.partition("=")[0] in variables()
    assert ("Environment", "NOUTPUT_PORT=%i") in unit_settings()
