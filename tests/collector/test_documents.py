"""Campaign documents that no client reads are not taken by the collector either."""

from __future__ import annotations

from base64 import b64decode

from tests.campaign.vectors import vectors
from tests.collector.service import JSON, Service, problem


def test_the_collector_takes_the_documents_that_clients_read(service: Service) -> None:
    headers = {**service.admin, **JSON}
    for case in vectors("documents")["documents"]:
        body = b64decode(case["body"])
        answer = service.call("POST", "/campaigns", content=body, headers=headers)
        if case["accepted"]:
            assert answer.status_code == 201, case["why"]
            service.call("DELETE", "/campaigns/commute", headers=service.admin)
        else:
            assert problem(answer) == (422, "invalid-campaign"), case["why"]
