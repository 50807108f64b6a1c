"""Writes tokens.json: tokens of all kinds, and the ids of the reports that spend them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from noutput.campaign import Campaign
from noutput.campaign.tokens import read_token, report_id, write_token
from tests.campaign.examples import ISSUER_KEY, answers_to
from tests.campaign.tokens import anonymous_campaign, token_campaign

FOLDER = Path(__file__).parent
_SECRET = bytes(range(200, 218))
_SIGNED = bytes(range(32)) + bytes(range(256))  # the signature is none, which a device cannot tell


def case(campaign: Campaign, data: bytes) -> dict[str, Any]:
    token = write_token(campaign, data)
    assert read_token(campaign, token) == data
    ids = [report_id(campaign, data, place) for place in range(len(campaign.questions))]
    values = answers_to(campaign)
    return {"campaign": campaign.to_json(), "token": token, "ids": ids, "values": values}


def main() -> None:
    signed = json.loads((FOLDER / "blind_rsa.json").read_text())
    modulus = int(signed["p"], 16) * int(signed["q"], 16)
    cases = [
        case(token_campaign(), _SECRET),
        case(anonymous_campaign(key=ISSUER_KEY), _SIGNED),
        case(anonymous_campaign("survey", key=ISSUER_KEY, ask="all"), _SIGNED),
    ]
    content = {"factor": f"{pow(int(signed['inv'], 16), -1, modulus):x}", "cases": cases}
    (FOLDER / "tokens.json").write_text(json.dumps(content, indent=1) + "\n")


if __name__ == "__main__":
    main()
