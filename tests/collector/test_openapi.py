"""The OpenAPI document, and a fuzzer that follows it."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from noutput.campaign import Campaign
from tests.collector.process import Running, running
from tests.collector.service import Service

CHECKS = [
    not_a_server_error, status_code_conformance, content_type_conformance,
    response_schema_conformance,
]  # fmt: skip


ROUTES = {
    ("GET", "/campaigns"), ("POST", "/campaigns"), ("GET", "/campaigns/{id}"),
    ("DELETE", "/campaigns/{id}"), ("POST", "/campaigns/{id}/close"),
    ("POST", "/campaigns/{id}/tokens"), ("GET", "/campaigns/{id}/closing"),
    ("POST", "/campaigns/{id}/reports"), ("GET", "/campaigns/{id}/estimates"),
    ("GET", "/campaigns/{id}/waves/{fingerprint}"), ("GET", "/campaigns/{id}/segments"),
    ("GET", "/campaigns/{id}/trend"),
    ("GET", "/health"), ("GET", "/health/live"), ("GET", "/health/ready"), ("GET", "/log"),
    ("GET", "/metrics"), ("GET", "/tokens"), ("POST", "/tokens"), ("DELETE", "/tokens/{id}"),
}  # fmt: skip
EXAMPLES = 25


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, campaign: Campaign) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("openapi")
    document = folder / "commute.json"
    document.write_text(campaign.to_json())
    with running(str(folder / "reports.db"), document) as started:
        yield started
        headers = {"Authorization": f"Bearer {started.token}"}
        request = urllib.request.Request(f"{started.url}/metrics", headers=headers)  # noqa: S310
        with urllib.request.urlopen(request) as answer:  # noqa: S310
            assert "noutput_reports_accepted_total 0\n" in answer.read().decode()


def fuzz(server: Running, operation: tuple[str, str], headers: dict[str, str]) -> None:
    """Call one operation with what the document allows, and check what comes back."""
    schema = schemathesis.openapi.from_url(f"{server.url}/openapi.json")
    method, path = operation

    @given(case=schema[path][method].as_strategy())
    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    def check(case: Any) -> None:
        if path.endswith("/reports") and headers:
            case.path_parameters["id"] = "commute"
        case.call_and_validate(checks=CHECKS, headers=headers)

    check()


@pytest.mark.parametrize("operation", sorted(ROUTES))
def test_strangers_get_documented_answers(server: Running, operation: tuple[str, str]) -> None:
    fuzz(server, operation, {})


@pytest.mark.parametrize("operation", sorted(ROUTES))
def test_administrators_get_documented_answers(server: Running, operation: tuple[str, str]) -> None:
    fuzz(server, operation, {"Authorization": f"Bearer {server.token}"})


def test_the_document_describes_every_route(service: Service) -> None:
    found = service.call("GET", "/openapi.json").json()
    assert found["openapi"].startswith("3.1")
    routes = {
        (method.upper(), path)
        for path, operations in found["paths"].items()
        for method in operations
    }  # fmt: skip
    assert routes == ROUTES
    assert "HTTPValidationError" not in json.dumps(found)


def test_every_problem_is_documented() -> None:
    from noutput.collector.http.problems import PROBLEMS

    text = Path("docs/collector.md").read_text() + Path("docs/wire.md").read_text()
    for name, problem in PROBLEMS.items():
        assert f"| `{name}` | {problem.status} |" in text, name
