from __future__ import annotations

import pytest

from noutput.campaign import Campaign
from tests.collector.conftest import make_campaign
from tests.collector.service import Service


@pytest.fixture
def public(service: Service) -> Campaign:
    campaign = make_campaign(public=True, outputs=8)
    service.create(campaign)
    return campaign
