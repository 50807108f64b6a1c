"""Pages of scales, choices and yes/no."""

from __future__ import annotations

import re

import pytest

from noutput.campaign import Campaign, Choice, Number, Scale, YesNo
from tests.campaign.examples import answer_table, example_table, survey_campaign
from tests.collector.dashboard.reader import PAGE, Page, fill, get, read
from tests.collector.service import Service

SURVEY = survey_campaign("commute", public=True)
HOSTILE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{7*7}}"


def survey_page(
    service: Service, name: str, campaign: Campaign = SURVEY, people: int = 900
) -> Page:
    service.create(campaign)
    if people:
        fill(service, campaign, people)
    return read(get(service, f"{PAGE}?question={name}"))


def picture_texts(service: Service, name: str) -> list[str]:
    """Return all texts of the picture that a page offers as a file."""
    picture = get(service, f"{PAGE}/distribution.svg?question={name}")
    assert picture.headers["content-type"] == "image/svg+xml"
    return re.findall(r"<t(?:ext|span)[^>]*>([^<]+)<", picture.text)


def test_a_scale_has_a_bar_per_answer_and_nothing_between(service: Service) -> None:
    page = survey_page(service, "stars")
    for text in ("Average score", "What people answered", "Middle answer", "This or before",
                 "Each interval stands on its own", "Mean score", "Median"):  # fmt: skip
        assert text in page.text, text
    texts = picture_texts(service, "stars")
    assert [text for text in texts if re.fullmatch(r"[\d.]+", text)] == ["1", "2", "3", "4", "5"]
    assert not re.search(r"in steps of", page.text)
    chart = next(tag for kind, tag in page.tags if kind == "svg" and tag.get("role") == "img")
    assert re.match(r"Estimated shares of the answers: 1 [\d.]+%, 2 ", chart["aria-label"] or "")


def test_quantiles_of_a_scale_are_answers(service: Service) -> None:
    survey_page(service, "kilometers")
    text = get(service, f"{PAGE}?question=kilometers").text
    labels = {"0.5", "1", "1.5", "2", "1000"}
    pattern = r"(?:quartile|Median)</th><td>([^<]+)</td><td>(\S+) to ([^<]+)</td>"
    found = re.findall(pattern, text)
    assert len(found) == 3
    assert {text for row in found for text in row} <= labels


def test_labels_without_scores_have_a_middle_answer(service: Service) -> None:
    groups = Scale("young", "middle", "old", name="age")
    campaign = survey_campaign(
        "commute", public=True, questions=(groups,), tables=(answer_table(2.0, 3),)
    )
    page = survey_page(service, "age", campaign)
    assert "Middle answer (median)" in page.text
    assert "Average" not in page.text
    assert "Every share is known to ±" in page.text


def test_a_choice_is_sorted_by_size(service: Service) -> None:
    page = survey_page(service, "means")
    texts = picture_texts(service, "means")
    shares = [float(text[:-1]) for text in texts if re.fullmatch(r"\d+\.\d+%", text)]
    assert len(shares) == 4
    assert shares == sorted(shares, reverse=True)
    assert "Most frequent answer" in page.text
    assert "holds for all answers together" in page.text
    assert "Average" not in page.text
    assert "every share ±" in page.text


def test_yes_no_is_one_share(service: Service) -> None:
    page = survey_page(service, "late")
    assert "Share of yes" in page.text
    assert re.search(r"between\s+[\d.]+%\s+and\s+[\d.]+%", page.text)
    texts = picture_texts(service, "late")
    assert texts.count("yes") == 1
    assert "no" not in texts
    assert "100%" in texts  # the axis shows all people
    assert "this test sees little here" in page.text  # two outputs for two answers


def test_targets_of_shares_are_points(service: Service) -> None:
    survey_page(service, "late")
    for name, noun in (("late", "share of yes"), ("means", "every share")):
        text = read(get(service, f"{PAGE}?question={name}&target=2.5")).text
        assert f"Wanted: {noun} ±" in text
        assert "wanted is ± 2.5 points. It takes about" in " ".join(text.split())


@pytest.mark.parametrize("count", [0, 1, 2, 30])
def test_a_survey_page_for_any_number_of_reports(service: Service, count: int) -> None:
    survey_page(service, "stars", people=count)
    for question in SURVEY.questions:
        read(get(service, f"{PAGE}?question={question.name}"))


def test_the_promise_is_about_what_is_sent(service: Service) -> None:
    text = " ".join(survey_page(service, "stars", people=0).text.split())
    assert "It answers one of 6 questions, which is drawn at random, too" in text
    assert "A report tells at most: ε = 1 about commute, ε = 1 about Comfort, ε = 0.5" in text
    service.call("DELETE", PAGE, headers=service.admin)
    every = survey_campaign("commute", public=True, ask="all")
    text = " ".join(survey_page(service, "stars", every, people=0).text.split())
    assert "You send 6 reports, one per question." in text
    assert "what the reports tell adds up" in text
    assert "ε = 6.5 in all" in text


def test_every_kind_has_its_control(service: Service) -> None:
    many = Choice(*(f"answer {i}" for i in range(8)), name="many")
    campaign = survey_campaign(
        "commute", public=True, questions=(*SURVEY.questions, many),
        tables=(*SURVEY.tables, answer_table(1.0, 8)),
    )  # fmt: skip
    page = survey_page(service, "stars", campaign, people=0)
    controls = {tag["data-question"]: kind for kind, tag in page.tags if "data-question" in tag}
    assert controls == {
        "commute": "input", "stars": "fieldset", "age": "fieldset", "means": "fieldset",
        "late": "fieldset", "kilometers": "fieldset", "many": "select",
    }  # fmt: skip
    for text in ("under 30", "v\u00e9lo", "answer 7", "How long did it take?"):
        assert text in page.text


def test_hostile_labels_do_no_harm(service: Service) -> None:
    campaign = Campaign(
        id="commute", title="x", text="x", public=True,
        questions=(
            Choice(HOSTILE, "</svg><svg/onload=1>", "{{ 7 * 7 }}", name="way", label=HOSTILE),
            Scale("<b>", "&amp;", "x" * 150, name="size", text=HOSTILE),
            YesNo(name="late", label="<i>late</i>", text=HOSTILE),
            Number(0, 1, "<u>", name="n", label="</script>"),
        ),
        tables=(answer_table(1.0, 3), answer_table(1.0, 3), answer_table(1.0, 2),
                example_table((1.0, 3, 3, 0.4), 0, 1)),
        opens=SURVEY.opens, closes=SURVEY.closes,
    )  # fmt: skip
    service.create(campaign)
    fill(service, campaign, 600)
    for question in campaign.questions:
        answer = get(service, f"{PAGE}?question={question.name}")
        page = read(answer)
        for tag in ("<script>alert", "<img", "<svg/", "<b>", "<i>", "<u>"):
            assert tag not in answer.text
        assert "49" not in re.findall(r"\b49\b(?!%)", page.text.split("Reports")[0])
        assert page.text.count(HOSTILE) >= 1
        picture = get(service, f"{PAGE}/distribution.svg?question={question.name}").text
        for tag in ("<script", "<img", "<svg/", "<b>"):
            assert tag not in picture
