from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

import noutput as no
from noutput import frames
from noutput.cli.estimate import command

TRUTH = {"DE": 40.0, "FR": 90.0, "IT": 41.0}


@pytest.fixture(scope="module")
def people() -> Any:
    rng = np.random.default_rng(1)
    country = np.repeat(["DE", "FR", "IT", "LU", "MT"], [6_000, 5_000, 4_000, 400, 300])
    minutes = [rng.normal(TRUTH.get(each, 60.0), 5.0) for each in country]
    known = [None if each == "MT" else each for each in country]
    long = np.array(minutes) > 60.0
    stars = rng.integers(1, 4, country.size)
    columns = {"minutes": minutes, "country": known, "long": long, "stars": stars}
    return pa.table(columns).append_column("version", pa.array([4, 5] * (country.size // 2)))


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory, people: Any) -> Path:
    folder = tmp_path_factory.mktemp("groups")
    pq.write_table(people, folder / "people.parquet")
    design = no.design(4.0, 16, "worst")
    keep = ["country", "version"]
    options: dict[str, Any] = {"keep": keep, "clip": True, "seed": 1}
    source, target = folder / "people.parquet", folder / "reports.parquet"
    mechanism = design.mechanism
    frames.privatize_files(
        source, target, "minutes", mechanism=mechanism, bounds=(0, 180), **options
    )
    yes, scale = no.design(4.0, question=no.YesNo()), no.design(4.0, answers=[1, 2, 3])
    frames.privatize_files(source, folder / "yes.csv", "long", design=yes, keep="country", seed=1)
    frames.privatize_files(source, folder / "stars", "stars", design=scale, keep="country", seed=1)
    return target


def run(*arguments: object) -> Result:
    done = CliRunner().invoke(command, [str(argument) for argument in arguments])
    if done.exception is not None:
        assert isinstance(done.exception, no.NoutputError | SystemExit)
    return done


def test_groups_are_shown_largest_first(reports: Path) -> None:
    text = run(reports, "--by", "country").output
    lines = [line.split() for line in text.splitlines()]
    assert text.startswith("minutes by country: 3 groups, epsilon = 4\n")
    assert [line[0] for line in lines if line and line[0] in TRUTH] == ["FR", "IT", "DE"]
    assert "all 2 small groups" in text
    assert "2 groups have fewer than 500 reports and are shown together (--minimum)." in text
    assert "Labels are public" in text
    assert "protects nobody" in text


def test_json_has_every_number(reports: Path) -> None:
    options = ("--by", "country,version", "--compare", "--minimum", 180, "--json")
    found = json.loads(run(reports, *options).output)["columns"]["minutes"]
    assert found["by"] == ["country", "version"]
    assert found["statistic"] == "mean"
    assert found["hidden_groups"] == 2
    assert found["rest"]["reports"] == 300
    assert len(found["groups"]) == 8
    assert len(found["differences"]) == 28
    for group in found["groups"]:
        country = group["labels"]["country"]
        assert group["group"] == f"{country}, {group['labels']['version']}"
        low, high = group["interval"]
        if country in TRUTH:
            assert low - 1.0 < TRUTH[country] < high + 1.0
    values = [group["value"] for group in found["groups"]]
    assert values == sorted(values, reverse=True)
    clear = {(each["first"], each["second"]): each["clear"] for each in found["differences"]}
    assert clear["FR, 4", "DE, 4"] or clear["FR, 4", "DE, 5"]
    assert found["standardized"] is None


def test_small_groups_cannot_be_found_by_subtraction(reports: Path) -> None:
    """Neither their number of reports nor the sum over all is printed."""
    found = json.loads(run(reports, "--by", "country", "--minimum", 800, "--json").output)
    column = found["columns"]["minutes"]
    assert column["hidden_groups"] == 2
    assert column["rest"] is None
    assert "15700" not in json.dumps(found)
    text = run(reports, "--by", "country", "--minimum", 800).output
    assert "2 groups have fewer than 800 reports and are not shown (--minimum)." in text
    assert "15,700" not in text


def test_comparison(reports: Path) -> None:
    text = run(reports, "--by", "country", "--compare").output
    assert "Comparison of all pairs: 2 of 3 differ. The intervals hold together." in text
    [pair] = [line for line in text.splitlines() if line.startswith("IT - DE")]
    assert pair.endswith("cannot be told apart")
    text = run(reports, "--by", "country", "--reference", "DE").output
    assert "Comparison of all groups with DE: 1 of 2 differ." in text
    done = run(reports, "--by", "country", "--reference", "XX")
    assert "reference must be one of ['DE', 'FR', 'IT']; found 'XX'" in str(done.exception)


def test_of_many_pairs_the_clear_ones_are_shown(
    reports: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noutput.cli.groups_text._SHOWN_PAIRS", 2)
    text = run(reports, "--by", "country", "--compare").output
    assert "Shown are 2; --json prints all." in text
    assert "IT - DE" not in text


def test_standardized_mean_and_plot(reports: Path, tmp_path: Path) -> None:
    weights, plot = tmp_path / "weights.csv", tmp_path / "groups.png"
    weights.write_text("country,people\nDE,10\nFR,70\nIT,20\n")
    done = run(reports, "--by", "country", "--weights", weights, "--plot", plot)
    [line] = [each for each in done.output.splitlines() if each.startswith("Standardized mean")]
    low, high = (float(each) for each in line.split("(")[1].rstrip(")").split(" to "))
    assert low < 0.1 * 40 + 0.7 * 90 + 0.2 * 41 < high
    assert f"Figure saved in {plot}" in done.output
    assert plot.read_bytes().startswith(b"\x89PNG")
    found = json.loads(run(reports, "--by", "country", "--weights", weights, "--json").output)
    assert found["columns"]["minutes"]["standardized"]["interval"][0] == pytest.approx(low, abs=0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "must have the columns ['country'] and one with the shares; found []"),
        ("country\nDE\n", "must have the columns ['country'] and one"),
        ("country,people\nLU,1\n", "at row 1 must name every group once that is shown"),
        ("country,people\nDE,1\nDE,1\n", "at row 2 must name every group once"),
        ("country,people\nDE,many\n", "at row 1 must have a number in 'people'"),
        ("country,people\nDE\n", "at row 1 must have a number in 'people'"),
        ("country,people\nDE,1\nIT,2\n", "shares must have the names ['DE', 'FR', 'IT']"),
    ],
)
def test_wrong_weights(reports: Path, tmp_path: Path, text: str, message: str) -> None:
    weights = tmp_path / "weights.csv"
    weights.write_text(text)
    done = run(reports, "--by", "country", "--weights", weights)
    assert message in str(done.exception)


def test_a_missing_label_has_an_empty_field(reports: Path, tmp_path: Path) -> None:
    weights = tmp_path / "weights.csv"
    weights.write_text("people,country\n1,DE\n1,FR\n1,IT\n1,LU\n\n1,\n")
    done = run(reports, "--by", "country", "--weights", weights, "--minimum", 2)
    assert "Standardized mean: 5" in done.output
    assert "(missing)" in done.output


def test_answers_by_share_or_by_score(reports: Path) -> None:
    text = run(reports.parent / "yes.csv", "--by", "country").output
    assert "share of yes" in text
    assert text.index("FR") < text.index("DE")
    source = reports.parent / "stars"
    assert " mean " in run(source, "--by", "country").output
    assert "share of 3" in run(source, "--by", "country", "--answer", "3").output
    done = run(source, "--by", "country", "--answer", "9")
    assert "answer must be one of ['1', '2', '3']" in str(done.exception)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--compare",), "--compare is for groups: it needs --by."),
        (("--minimum", 9), "--minimum is for groups"),
        (("--by", "country", "--bins", 9), "--bins is for everybody together, without --by."),
        (("--by", "country", "--campaign", __file__), "--by is for files that"),
    ],
)
def test_options_that_do_not_go_together(
    reports: Path, options: tuple[object, ...], message: str
) -> None:
    done = run(reports, *options)
    assert done.exit_code == 2
    assert message in done.output


def test_what_cannot_be_grouped(reports: Path) -> None:
    done = run(reports, "--by", "town")
    assert "by must name columns of ['country', 'version'" in str(done.exception)
    done = run(reports, "--by", "country", "--minimum", 10**6)
    assert "must have a group with at least 1,000,000 (--minimum)" in str(done.exception)


def test_shares_below_a_number(reports: Path) -> None:
    text = run(reports, "--by", "country", "--below", 65, "--compare").output
    assert "share below 65" in text
    lines = [line.split() for line in text.splitlines()]
    assert [line[0] for line in lines if line and line[0] in TRUTH][2] == "FR"
    assert "DE - FR" in text or "IT - FR" in text
    found = json.loads(run(reports, "--by", "country", "--below", 65, "--json").output)
    column = found["columns"]["minutes"]
    assert column["statistic"] == "share below 65"
    for each in column["groups"]:
        low, high = each["interval"]
        assert 0.0 <= low <= each["value"] <= high <= 1.0


def test_numbers_below_which_there_is_no_share_are_refused(reports: Path) -> None:
    done = run(reports, "--by", "country", "--below", 200)
    assert "below must lie between the bounds, 0 and 180; found 200" in str(done.exception)
    done = run(reports.with_name("stars"), "--by", "country", "--below", 2)
    assert "below must be given for reports of numbers alone" in str(done.exception)
    assert "it needs --by" in run(reports, "--below", 60).output
