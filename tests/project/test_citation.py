"""CITATION.cff follows the Citation File Format 1.2.0, as far as it uses it."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml

ROOT = Path(__file__).parents[2]
TEXT = {"type": "string", "minLength": 1}


def record(required: list[str], **properties: Any) -> dict[str, Any]:
    named = {name.replace("_", "-"): rule for name, rule in properties.items()}
    return {
        "type": "object", "required": required, "properties": named, "additionalProperties": False,
    }  # fmt: skip


PERSON = record(["given-names", "family-names"], given_names=TEXT, family_names=TEXT,
                affiliation=TEXT)  # fmt: skip
ENTITY = record(["name"], name=TEXT)
AUTHORS = {"type": "array", "minItems": 1, "items": {"anyOf": [PERSON, ENTITY]}}
REFERENCE = record(
    ["authors", "title", "type"],
    type={"enum": ["article"]}, title=TEXT, authors=AUTHORS, year={"type": "integer"},
    doi={"type": "string", "pattern": r"^10\.\d{4,9}(\.\d+)?/[A-Za-z0-9:/_;.()\[\]\\-]+$"},
    notes=TEXT,
)  # fmt: skip
SCHEMA = record(
    ["authors", "cff-version", "message", "title"],
    cff_version={"const": "1.2.0"}, message=TEXT, type={"enum": ["software"]}, title=TEXT,
    version=TEXT, license={"const": "MIT"}, authors=AUTHORS,
    keywords={"type": "array", "minItems": 1, "items": TEXT, "uniqueItems": True},
    references={"type": "array", "minItems": 1, "items": REFERENCE},
)  # fmt: skip


@pytest.fixture
def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def test_the_file_is_valid(citation: dict[str, Any]) -> None:
    jsonschema_rs.validate(SCHEMA, citation)


@pytest.mark.parametrize(
    "change", [{"version": 1}, {"authors": []}, {"editors": "x"}, {"cff-version": "1.1.0"}]
)
def test_the_check_refuses_mistakes(citation: dict[str, Any], change: dict[str, Any]) -> None:
    with pytest.raises(jsonschema_rs.ValidationError):
        jsonschema_rs.validate(SCHEMA, citation | change)


def test_software_and_paper_are_named_as_elsewhere(citation: dict[str, Any]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert citation["title"].startswith(f"{project['name']}:")
    assert citation["license"] == project["license"]
    assert citation["keywords"] == project["keywords"]
    (paper,) = citation["references"]
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    assert paper["title"] in readme
    assert " and ".join(author["family-names"] for author in paper["authors"]) in readme
