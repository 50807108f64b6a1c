"""Campaigns about numbers with edges, over HTTP: estimates, groups, rounds, exports and alarms."""

from __future__ import annotations

import csv
import io
from datetime import timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from noutput.campaign import Admission, Campaign, NextWave, Number, Report, draw_reports
from noutput.campaign.segments import Segments
from noutput.collector.alarms import BLOCK, Watch
from noutput.collector.estimable import check_estimable
from noutput.collector.http.models import EstimatesModel
from noutput.collector.measured import check_statistic, measure
from noutput.collector.pooled import Part
from noutput.collector.store import open_store
from noutput.collector.store.archive import export_campaign, restore
from noutput.collector.store.directory import KnownCampaign
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.estimate.summary import CellSummary
from noutput.mechanisms.certified import Table
from noutput.mechanisms.table import TableMechanism, unit_mechanism
from noutput.tally import Tally
from tests.collector.cells import COMMUTE, EDGES, TABLE, cell_reports, cells_campaign, people
from tests.collector.labeled import OPENS, PLATFORMS, scheduled_campaign
from tests.collector.service import Service, problem, start_service
from tests.collector.test_admission import issue

PAGE = {"Accept": "text/html"}


def get(service: Service, path: str) -> Any:
    answer = service.call("GET", f"/campaigns/commute/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def estimates(service: Service, query: str = "") -> dict[str, Any]:
    document = get(service, f"estimates{query}")
    EstimatesModel.model_validate(document)
    found: dict[str, Any] = document["questions"][0]
    return found


def page(service: Service, query: str = "") -> str:
    answer = service.call("GET", f"/campaigns/commute{query}", headers=PAGE)
    assert answer.status_code == 200, answer.text
    return answer.text


def collect(service: Service, campaign: Campaign, count: int = 6000) -> np.ndarray[Any, Any]:
    """Let people report to a new campaign; return their true minutes."""
    rng = np.random.default_rng(3)
    minutes = people(count, rng)
    assert service.create(campaign).status_code == 201
    assert service.batch(campaign, cell_reports(campaign, minutes, rng)).status_code == 200
    return minutes


def test_estimates_fit_together_and_hold_the_truth(service: Service) -> None:
    """Cells add up, the CDF rises, and quantiles are ranges of edges."""
    minutes = collect(service, cells_campaign())
    found = estimates(service)
    assert found["edges"] == list(EDGES)
    low, high = found["mean"]["interval"]
    assert low < minutes.mean() < high
    cells = found["cells"]
    assert [each["from"] for each in cells] == [0.0, *EDGES]
    assert sum(each["value"] for each in cells) == pytest.approx(1.0)
    for each in cells:
        true = np.mean((minutes >= each["from"]) & (minutes < each["to"]))
        assert each["joint_interval"][0] <= true <= each["joint_interval"][1]
        assert each["joint_interval"][0] <= each["interval"][0]
    below = [each["value"] for each in found["below"]]
    assert below == sorted(below)
    assert all(set(each["interval"]) <= {0.0, *EDGES, 180.0} for each in found["quantiles"])
    assert found["intervals"]["kind"] == "normal"
    assert found["mean"]["influence"] > 0.0


def test_devices_report_them_and_few_reports_have_guaranteed_intervals(service: Service) -> None:
    campaign = cells_campaign()
    assert service.create(campaign).status_code == 201
    known = Campaign.from_json(service.call("GET", "/campaigns/commute").text)
    for minutes in (0.0, 15.0, 44.9, 180.0, 500.0):
        (report,) = draw_reports(known, {"minutes": minutes})
        assert service.report(report).status_code == 200
    found = estimates(service)
    assert (found["reports"], found["intervals"]["kind"]) == (5, "guaranteed")
    assert "The reports cannot tell yet." in page(service)


def test_csv_has_a_row_for_every_edge_and_cell(service: Service) -> None:
    collect(service, cells_campaign())
    text = service.call("GET", "/campaigns/commute/estimates.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    kinds = [row["statistic"] for row in rows]
    assert (kinds.count("share"), kinds.count("below")) == (len(EDGES) + 1, len(EDGES))
    assert kinds[:2] == ["mean", "standard_deviation"]
    document = estimates(service)
    assert float(rows[0]["value"]) == document["mean"]["value"]
    shares = [float(row["value"]) for row in rows if row["statistic"] == "share"]
    assert shares == [each["value"] for each in document["cells"]]


def test_the_page_shows_the_mean_first_and_a_bar_per_cell(service: Service) -> None:
    collect(service, cells_campaign())
    shown = page(service)
    assert shown.index("Average") < shown.index("How the answers are spread")
    for label in ("0 to 15", "15 to 30", "90 to 180"):
        assert f">{label}<" in shown
    assert "Half are below" in shown or "The median is between" in shown
    assert "No sign of forged reports" in shown
    picture = service.call("GET", "/campaigns/commute/distribution.svg")
    assert picture.text.count('class="chart-band"') == len(EDGES) + 1
    index = service.call("GET", "/", headers=PAGE).text
    assert estimates(service)["mean"]["value"] == pytest.approx(
        float(index.partition('class="number">')[2].partition("<")[0]), abs=0.5
    )


def test_segments_are_compared_by_shares_below_edges(service: Service) -> None:
    """By unbiased estimates: the mean and every edge at once, cells on demand, quantiles never."""
    campaign = cells_campaign(segments=Segments((("platform", PLATFORMS["platform"]),), 100))
    assert service.create(campaign).status_code == 201
    rng = np.random.default_rng(5)
    for label, center in (("ios", 20.0), ("web", 60.0)):
        reports = cell_reports(campaign, people(4000, rng, center), rng, {"platform": label})
        assert service.batch(campaign, reports).status_code == 200
    found = get(service, "segments?differences=true")
    assert [each["name"] for each in found["statistics"]] == [
        "mean", *(f"below {edge:g}" for edge in EDGES),
    ]  # fmt: skip
    mean, *shares = found["statistics"]
    (pair,) = mean["differences"]
    assert pair["is_clear"]
    assert pair["value"] < 0.0
    assert all(each["differences"][0]["value"] > 0.0 for each in shares)
    assert shares[2]["differences"][0]["is_clear"]
    (alone,) = get(service, "segments?statistic=share+30.0+to+60&weight=ios:1&weight=web:1")[
        "statistics"
    ]
    assert alone["name"] == "share 30 to 60"
    values = [each["value"] for each in alone["estimates"]]
    assert alone["standardized"]["value"] == pytest.approx(sum(values) / 2.0)
    for statistic in ("quantile 0.5", "below 40"):
        refused = service.call(
            "GET", "/campaigns/commute/segments", params={"statistic": statistic}
        )
        assert problem(refused) == (422, "invalid-parameter")
    shown = page(service, "?statistic=below+45")
    assert "Share below 45 min by platform" in shown
    assert '<option value="share 30 to 45">Share from 30 to 45 min</option>' in shown
    only = estimates(service, "?segment=platform:web")
    assert only["reports"] == 4000
    assert only["mean"]["value"] > 45.0
    exported = service.call("GET", "/campaigns/commute/segments?format=csv&differences=true").text
    assert exported.count("\r\ndifference,below") == len(EDGES)


def test_rounds_are_followed_by_shares_below_edges(service: Service) -> None:
    """A share that falls is seen, and its trend is that of unbiased estimates."""
    campaign = scheduled_campaign(2, questions=(COMMUTE,), tables=(TABLE,), public=True)
    assert service.create(campaign).status_code == 201
    rng = np.random.default_rng(7)
    for day in range(10):
        service.clock.now = OPENS + timedelta(days=day, hours=12)
        center = 25.0 if day < 6 else 80.0
        reports = cell_reports(campaign, people(1500, rng, center), rng, number=day)
        assert service.batch(campaign, reports).status_code == 200
    service.clock.now = OPENS + timedelta(days=12)
    service.publish()
    for statistic, way in (("mean", "up"), ("below 45", "down"), ("share 15 to 30", "down")):
        found = get(service, f"trend?statistic={statistic.replace(' ', '+')}")
        assert found["statistic"] == statistic
        shown = [row for row in found["rounds"] if row["estimate"]]
        assert len(shown) == 10
        for row in shown[1:5]:
            low, high = row["trend"]["interval"]
            assert high - low < np.subtract(*row["estimate"]["interval"][::-1])
        assert [each["direction"] for each in found["shifts"]] == [way]
        assert found["shifts"][0]["alarm"] in (6, 7)
    assert problem(service.call("GET", "/campaigns/commute/trend?statistic=quantile+0.5")) == (
        422, "invalid-parameter",
    )  # fmt: skip
    text = page(service, "?statistic=below+45")
    assert "Share below 45 min by day" in text
    assert "It fell" in text
    assert estimates(service, "?rounds=0-5")["mean"]["value"] < 40.0


def test_an_export_restores_them(service: Service, tmp_path: Path) -> None:
    """Another database tells the same, with one-time tokens, too."""
    collect(service, cells_campaign())
    file, store = tmp_path / "commute.zip", open_store(str(tmp_path / "other.db"))
    reports, checksum = export_campaign(service.store, "commute", file)
    assert reports == 6000
    restore(store, file, checksum)
    with start_service(store) as other:
        assert estimates(other) == estimates(service)
        assert "15 to 30" in page(other)
    store.close()


def test_reports_may_need_tokens(service: Service) -> None:
    campaign = cells_campaign(admission=Admission("token"))
    assert service.create(campaign).status_code == 201
    for token in issue(service, 3, "commute"):
        (report,) = draw_reports(campaign, {"minutes": 30.0}, token)
        assert service.report(report).status_code == 200
    assert estimates(service)["reports"] == 3


def constant(campaign: Campaign, output: int, count: int) -> list[Report]:
    """Reports that no table made."""
    return [
        Report(campaign.fingerprint, "minutes", output, f"{number:032x}") for number in range(count)
    ]


def test_forged_reports_are_the_headline(service: Service) -> None:
    """Counts that no people would send have no intervals."""
    campaign = cells_campaign()
    collect(service, campaign, 3000)
    assert service.batch(campaign, constant(campaign, 27, 400)).status_code == 200
    found = estimates(service)
    assert found["goodness_of_fit"] < 1e-3
    assert found["warning"]
    assert found["mean"]["interval"] is None
    assert found["cells"][0]["interval"] is found["cells"][0]["joint_interval"] is None
    assert "Some reports are probably forged" in page(service)


def test_raw_answers_have_no_estimate(service: Service) -> None:
    campaign = cells_campaign()
    collect(service, campaign, 100)
    assert service.batch(campaign, constant(campaign, 3, 9000)).status_code == 200
    assert estimates(service)["reason"].startswith("the reports cannot have been made")
    assert "There is no estimate" in page(service)
    assert get(service, "estimates")["questions"][0]["cells"] is None


def test_a_sudden_change_of_shape_raises_an_alarm() -> None:
    watch = Watch(KnownCampaign(1, cells_campaign(), b"", OPENS, None))
    rng, table = np.random.default_rng(2), TableMechanism.of(TABLE)
    counts = np.zeros(TABLE.n_outputs, int)
    alarms = []
    for center in (30.0, 30.0, 30.0, 120.0):
        minutes = people(4 * BLOCK, rng, center)
        counts += np.bincount(table.privatize(minutes, rng=rng), minlength=TABLE.n_outputs)
        alarms.append(watch.note_shape(OPENS, [Tally(TABLE.fingerprint, tuple(counts.tolist()))]))
    assert [len(each) for each in alarms] == [0, 0, 0, 1]


def test_what_is_measured_is_what_the_summary_says() -> None:
    rng = np.random.default_rng(4)
    table = TableMechanism.of(TABLE)
    tally = Tally.of(table, table.privatize(people(2000, rng), rng=rng))
    summary = CellSummary(COMMUTE, table, tally, 0.95)
    found = measure(COMMUTE, [Part(unit_mechanism(TABLE), tally, (0.0, 180.0))], 0.95)
    for name, each in found.items():
        unbiased, shown = summary.as_mean(name), summary.estimate(name)
        assert each.estimate.value == pytest.approx(unbiased.value)
        assert each.estimate.standard_error == pytest.approx(unbiased.standard_error)
        assert shown.low <= each.low + 1e-9
        assert each.high <= shown.high + 1e-9


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("below 40", "one of 15, 30, 45, 60, 90: ask with an edge at 40"),
        ("share 15 to 31", "ask with an edge at 31"),
        ("quantile 0.5", "be a mean or a share"),
        ("below 200", "lie between the bounds"),
        ("x" * 500, "be 'mean'"),
    ],
)
def test_statistics_that_the_edges_do_not_tell_are_refused(name: str, rule: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rule) as refused:
        check_statistic(COMMUTE, name)
    assert len(str(refused.value)) < 400


def test_tables_that_tell_no_edge_are_refused() -> None:
    """The rows on both sides of 45 are the same: privacy is kept, and nothing is learned there."""
    first, last = (3 << 30, 1 << 30), (1 << 30, 3 << 30)
    middle = (1 << 31, 1 << 31)
    table = Table(1.1, ((0, 45, 45, 90),), (first, middle, middle, last))
    asked = Number(0, 90, edges=(45,), name="minutes")
    with pytest.raises(DocumentError, match="tell the mean and the share below every edge"):
        check_estimable(cells_campaign(questions=(asked,), tables=(table,)))


def test_no_second_wave_moves_edges() -> None:
    with pytest.raises(DocumentError, match="'minutes' has edges"):
        check_estimable(cells_campaign(next_wave=NextWave(2_000, 10_000)))
