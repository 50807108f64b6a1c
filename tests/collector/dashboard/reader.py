"""Pages as a browser reads them, and visitors who sign in."""

from __future__ import annotations

from html.parser import HTMLParser

import httpx

from noutput.campaign import Campaign
from noutput.campaign.wire import MAX_BATCH
from noutput.collector.http.auth import new_token
from tests.collector.people import lognormal_reports
from tests.collector.service import Service

HTML = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
PAGE = "/campaigns/commute"
FORM = {"Content-Type": "application/x-www-form-urlencoded", **HTML}


class Page(HTMLParser):
    """What a browser would make of a page: tags with attributes, and text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


def read(answer: httpx.Response, status: int = 200) -> Page:
    assert answer.status_code == status
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    page = Page(answer.text)
    for tag, attributes in page.tags:
        assert not [name for name in attributes if name == "style" or name.startswith("on")]
        address = attributes.get("src") or attributes.get("href") or ""
        assert address.startswith(("/", "#", "?")) or not address, address
        assert not address.startswith("//")
        if tag == "script":
            assert attributes.get("src") or attributes.get("type") == "application/json"
        assert tag != "style"
    return page


def get(service: Service, path: str, **options: str) -> httpx.Response:
    return service.call("GET", path, headers={**HTML, **options})


def fill(service: Service, campaign: Campaign, count: int, seed: int = 1) -> None:
    reports = lognormal_reports(campaign, count, seed)
    for start in range(0, count, MAX_BATCH):
        service.batch(campaign, reports[start : start + MAX_BATCH])


def sign_in(service: Service, token: str, **headers: str) -> httpx.Response:
    fields = httpx.QueryParams({"token": token, "next": PAGE})
    return service.call("POST", "/sign-in", content=str(fields), headers={**FORM, **headers})


def read_token(service: Service, campaign: str | None = None) -> str:
    found = None if campaign is None else service.store.campaign(campaign)
    token, row = new_token("read", None if found is None else found.key, service.clock())
    assert service.store.add_token(row)
    return token
