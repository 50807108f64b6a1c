"""The files of deploy/, read as their programs read them."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

import click

from noutput.cli.serve import command

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "systemd" / "noutput@.service"


@dataclass(frozen=True)
class Instruction:
    """One instruction of a Containerfile."""

    stage: int
    name: str
    text: str

    @property
    def words(self) -> list[str]:
        """The arguments: of the JSON form, or as a shell would split them."""
        if self.text.startswith("["):
            found: list[str] = json.loads(self.text)
            return found
        return shlex.split(self.text)


def containerfile() -> list[Instruction]:
    """Return the instructions of the Containerfile, each with the number of its stage."""
    found, stage = [], -1
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, rest = line.partition(" ")
        stage += name == "FROM"
        found.append(Instruction(stage, name, rest.strip()))
    return found


def unit_settings() -> list[tuple[str, str]]:
    """Return the settings of the unit, in their order."""
    text = UNIT.read_text(encoding="utf-8")
    return re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE)


def variables() -> dict[str, click.Option]:
    """Return the options of `noutput serve` by their variables of the environment."""
    context = click.Context(command, auto_envvar_prefix="NOUTPUT")
    found = {}
    for each in command.params:
        assert isinstance(each, click.Option)
        assert each.name is not None
        name = each.envvar or f"{context.auto_envvar_prefix}_{each.name.upper()}"
        assert isinstance(name, str)
        found[name] = each
    return found
