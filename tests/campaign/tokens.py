"""Campaigns that ask for tokens, and tokens for them."""

from __future__ import annotations

from functools import lru_cache

from noutput.campaign import Admission, Campaign, Report, draw_report
from noutput.campaign.enrollment import make_secret, token_from, token_request
from noutput.issuer.keys import IssuerKey
from tests.campaign.examples import late_campaign, survey_campaign


@lru_cache
def issuer_key() -> IssuerKey:
    return IssuerKey.generate()


def token_campaign(name: str = "late") -> Campaign:
    return late_campaign(name, admission=Admission("token"))


def anonymous_campaign(
    name: str = "late", issuer: str = "https://issuer.example", key: str = "", ask: str = "one"
) -> Campaign:
    admission = Admission("anonymous", issuer=issuer, key=key or issuer_key().public)
    if ask == "all":
        return survey_campaign(name, ask="all", admission=admission)
    return late_campaign(name, admission=admission)


def signed_token(campaign: Campaign, key: IssuerKey | None = None) -> str:
    """Return a token that the issuer has signed, without any server."""
    secret = make_secret(campaign)
    blinded = int.from_bytes(token_request(campaign, secret)[3:])
    return token_from(campaign, secret, (key or issuer_key()).sign(blinded).to_bytes(256))


def signed_report(campaign: Campaign, value: str = "yes") -> Report:
    return draw_report(campaign, value, signed_token(campaign))
