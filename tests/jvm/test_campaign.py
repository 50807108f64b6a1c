"""People with the JVM client take part in campaigns of a real collector, over loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from noutput.collector.cells import CellLayout
from noutput.collector.http.limits import Limits
from noutput.collector.issuing import issue_tokens
from noutput.collector.server import Options, running
from noutput.issuer import server as issuer
from noutput.issuer.codes import Codes
from tests.campaign.examples import commute_campaign, survey_campaign
from tests.campaign.tokens import anonymous_campaign, issuer_key, token_campaign
from tests.jvm.conftest import Machine
from tests.jvm.test_sampler import VALUES

PEOPLE = 8
NO_LIMITS = Limits(requests_per_second=0, client_reports_per_hour=0)


def test_people_take_part_in_campaigns_of_all_kinds(machine: Machine, tmp_path: Path) -> None:
    (tmp_path / "codes").write_text("first-code\nsecond-code")
    codes = Codes(tmp_path / "codes", tmp_path / "used")
    with issuer.running(issuer_key(), codes) as address:
        everything = survey_campaign("all", ask="all")
        campaigns = {
            "one": survey_campaign("one"), "all": everything, "commute": commute_campaign(),
            "token": token_campaign("token"),
            "anonymous": anonymous_campaign("anonymous", issuer=address),
        }  # fmt: skip
        documents = []
        for name, campaign in campaigns.items():
            documents.append(tmp_path / f"{name}.json")
            documents[-1].write_text(campaign.to_json(), encoding="utf-8")
        options = Options(
            str(tmp_path / "reports.db"), port=0, campaigns=tuple(documents), limits=NO_LIMITS
        )
        with running(options) as collector:

            def task(name: str, **more: Any) -> dict[str, Any]:
                values = {"one": VALUES, "all": VALUES, "commute": 42}.get(name, "yes")
                url = f"{collector.url}/campaigns/{name}"
                return {"url": url, "values": values, "epsilon": 6.5, **more}

            row = collector.store.campaign("token")
            assert row is not None
            token, other = issue_tokens(collector.store, row.key, campaigns["token"], 2)
            file = {"ledger": str(tmp_path / "ledger")}
            tasks = [
                (task("one", people=PEOPLE), f"accepted {PEOPLE}, repeated 0"),
                (task("all", people=PEOPLE), f"accepted {6 * PEOPLE}, repeated 0"),
                (task("commute", **file), "accepted 1, repeated 0"),
                (task("commute", **file), "accepted 0, repeated 1"),
                (
                    task("commute", epsilon=0.9),
                    "PrivacyException: the campaign asks for epsilon 1,",
                ),
                (task("token", token=token), "accepted 1, repeated 0"),
                (task("token", token=token), "accepted 0, repeated 1"),
                (task("token", token=other[::-1]), "DeliveryException: the server refused with"),
                (task("token"), "ValueException: the token must be given"),
                (task("anonymous", code="first-code"), "accepted 1, repeated 0"),
                (task("anonymous", code="first-code"), "DeliveryException: the server refused"),
                (task("anonymous", code="second-code"), "accepted 1, repeated 0"),
                (task("nothing"), "DeliveryException: the server refused with status 404"),
            ]
            given = "".join(json.dumps(each) + "\n" for each, _ in tasks)
            lines = machine.run("Taking", given=given)
            for line, (each, wanted) in zip(lines, tasks, strict=True):
                assert line.startswith(wanted), (line, each)
            counts = {r.id: collector.store.counts(r.key) for r in collector.store.campaigns()}
    codes.close()
    totals = {name: sum(each.values()) for name, each in counts.items()}
    assert totals == {"one": PEOPLE, "all": 6 * PEOPLE, "commute": 1, "token": 1, "anonymous": 2}
    for block in CellLayout(everything).blocks:
        assert sum(block.tally(counts["all"]).counts) == PEOPLE
