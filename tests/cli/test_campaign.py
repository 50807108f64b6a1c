from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import noutput as no
from noutput.campaign import Campaign
from noutput.campaign.campaign import fit_table
from noutput.campaign.draft import CampaignDraft
from noutput.cli.campaign import command
from noutput.errors import InvalidArgumentError

RECIPE = """
id = "commute-2026"
title = "Commute"
text = "How many minutes was your way to work?"
epsilon = 1.0
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00+02:00
public = true

[[questions]]
name = "commute"
unit = "minutes"
lower = 0
upper = 180

[[questions]]
name = "changes"
lower = 0
upper = 9.5

[table]
outputs = 3
method = "analytical"
"""


def create(folder: Path, text: str = RECIPE, *arguments: str) -> Result:
    file = folder / "commute.toml"
    file.write_text(text, encoding="utf-8")
    return CliRunner().invoke(command, ["create", str(file), *arguments])


def test_a_recipe_becomes_a_certified_campaign(tmp_path: Path) -> None:
    done = create(tmp_path)
    assert done.exit_code == 0, done.output
    campaign = Campaign.from_json((tmp_path / "commute.json").read_bytes())
    assert campaign.id == "commute-2026"
    assert campaign.epsilon == 1.0
    assert campaign.public
    assert campaign.objectives == ("mean", "mean")
    assert campaign.tables[0].n_outputs == 3
    assert [each.name for each in campaign.questions] == ["commute", "changes"]
    assert campaign.questions[1] == no.Number(0, 9.5, name="changes")
    assert json.loads(campaign.to_json())["closes"] == "2026-03-31T22:00:00Z"
    for fact in ("commute.json", "3 outputs, 2 bits", "certified loss", campaign.fingerprint):
        assert fact in done.output


def test_it_is_told_to_programs_as_well(tmp_path: Path) -> None:
    done = create(tmp_path, RECIPE, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    campaign = Campaign.from_json(Path(told["file"]).read_bytes())
    assert (told["id"], told["fingerprint"]) == (campaign.id, campaign.fingerprint)
    assert (told["opens"], told["closes"]) == ("2026-03-01T00:00:00Z", "2026-03-31T22:00:00Z")
    assert (told["epsilon"], told["epsilon_per_period"], told["notes"]) == (1.0, None, [])
    assert 0 < told["published"]["epsilon"] < 1 == told["epsilon"]
    assert told["published"]["release"] == 500
    loss = campaign.tables[0].privacy_loss()
    same = {"objective": "mean", "outputs": 3, "epsilon": 1.0, "privacy_loss": loss}
    assert told["questions"] == [{"name": "commute", **same}, {"name": "changes", **same}]


ROUNDS = """
id = "commute"
title = "Commute"
text = "How many minutes was your way to work?"
epsilon = 1.0
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z
[[questions]]
name = "late"
kind = "yes/no"
[schedule]
every = "day"
rounds_per_period = 10
answers = 2
"""


def test_rounds_and_notes_are_told_to_programs(tmp_path: Path) -> None:
    done = create(tmp_path, ROUNDS, "--json")
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["epsilon"], told["epsilon_per_period"]) == (0.5, 1.0)
    assert [note for note in told["notes"] if "closes" in note]
    assert "Note:" not in done.stderr


def test_a_small_epsilon_has_no_published_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("noutput.collector.guarantees.planned", lambda *_, **__: None)
    assert json.loads(create(tmp_path, RECIPE, "--json").stdout)["published"] is None
    assert "published" not in create(tmp_path).stdout


def test_a_campaign_is_balanced_unless_it_says_otherwise(tmp_path: Path) -> None:
    done = create(tmp_path, RECIPE.partition("[table]")[0])
    assert done.exit_code == 0, done.output
    campaign = Campaign.from_json((tmp_path / "commute.json").read_bytes())
    found = no.design(1.0)
    assert campaign.objectives == ("balanced", "balanced")
    assert campaign.tables[0] == fit_table(found.mechanism.plain, campaign.questions[0])
    assert "128 outputs, 7 bits" in done.output
    assert found.lower_bound is not None
    times = f"{found.value / found.lower_bound:.3f} times the proven limit"
    assert f"balanced; worst-case variance {found.value:.4g}, {times}" in done.output


@pytest.mark.parametrize(
    ("goal", "table", "objective"),
    [
        ('objective = "mean"', "", "worst"),
        ("", 'objective = "average"', "average"),
        ("", 'objective = "distribution"', "distribution"),
        ('objective = "balanced"', 'objective = "balanced"', "balanced"),
    ],
)
def test_goal_and_objective_follow_each_other(goal: str, table: str, objective: str) -> None:
    text = RECIPE.partition("[table]")[0].replace("lower", f"{goal}\nlower") + f"[table]\n{table}"
    draft = CampaignDraft.from_toml(text)
    assert draft.designs == ({"epsilon": 1.0, "objective": objective},) * 2
    expected = {"worst": "mean", "average": "mean"}.get(objective, objective)
    assert draft.parts["objectives"] == (expected, expected)


def test_a_table_for_another_goal_is_refused() -> None:
    text = RECIPE.partition("[table]")[0].replace("lower", 'objective = "mean"\nlower')
    with pytest.raises(InvalidArgumentError, match=r"table\.objective must serve the goal 'mean'"):
        CampaignDraft.from_toml(text + '[table]\nobjective = "distribution"')


def test_a_campaign_can_ask_for_the_distribution(tmp_path: Path) -> None:
    text = RECIPE.replace("lower", 'objective = "distribution"\nlower')
    text = text.replace("outputs = 3", "outputs = 32").replace('method = "analytical"', "")
    done = create(tmp_path, text)
    assert done.exit_code == 0, done.output
    campaign = Campaign.from_json((tmp_path / "commute.json").read_bytes())
    assert campaign.objectives == ("distribution", "distribution")
    wanted = no.design(1.0, 32, "distribution").mechanism.plain
    assert campaign.tables[0] == fit_table(wanted, campaign.questions[0])
    assert "32 outputs, 5 bits" in done.output


MIXED = """
id = "survey"
title = "Survey"
text = "How was it?"
epsilon = 1.0
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z

[[questions]]
name = "platform"
kind = "choice"
labels = ["ios", "android", "web"]

[[questions]]
name = "late"
kind = "yes/no"

[[questions]]
name = "stars"
values = "1..5"
"""


def test_tables_of_answers_are_shown_with_their_errors(tmp_path: Path) -> None:
    done = create(tmp_path, MIXED)
    assert done.exit_code == 0, done.output
    platform = "platform of 3 answers: ios, android, web"
    assert f"({platform}; late, yes or no; stars of 5 answers from 1 to 5)" in done.output
    assert "2 outputs, 1 bit; epsilon 1.0" in done.output
    late = no.design(1.0, question=no.YesNo())
    wanted = f"squared error of the shares, added up: {late.value:.4g} per report at worst"
    limit = f"lower bound {late.lower_bound:.4g}, gap {late.gap:.2%}"
    assert f"  table        shares; {wanted}, {limit}\n" in done.output


def test_it_writes_where_it_is_told(tmp_path: Path) -> None:
    target = tmp_path / "other.json"
    assert create(tmp_path, RECIPE, "-o", str(target)).exit_code == 0
    assert Campaign.from_json(target.read_bytes()).title == "Commute"
    assert not (tmp_path / "commute.json").exists()


def test_another_campaign_is_not_replaced(tmp_path: Path) -> None:
    assert create(tmp_path).exit_code == 0
    assert create(tmp_path).exit_code == 0  # the same one
    before = (tmp_path / "commute.json").read_bytes()
    changed = RECIPE.replace("minutes was", "hours was")
    done = create(tmp_path, changed)
    assert done.exit_code == 2
    assert "a campaign never changes" in done.output
    assert (tmp_path / "commute.json").read_bytes() == before
    assert create(tmp_path, changed, "--force").exit_code == 0
    assert (tmp_path / "commute.json").read_bytes() != before


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("epsilon = 1.0", "", "epsilon must be given"),
        ("epsilon = 1.0", "epsilon = 0", "epsilon must be a positive finite number; found 0"),
        ("epsilon = 1.0", "epsilon = '1'", "epsilon must be a positive finite number; found '1'"),
        ("epsilon = 1.0", "epsilon = 1.0\nepsilom = 2", "key epsilom must be 'epsilon'"),
        ("title =", "titel =", "key titel must be 'title'"),
        ("public = true", "public = 1", "public must be true or false; found 1"),
        ("public = true", "zzz = 1", "key zzz must be one of"),
        ("upper = 9.5", "upper = 9.5\nobjective = 'all'",
         "questions[1].objective must be one of 'balanced', 'mean'"),
        ("public = true", "goal = 'mean'", "key goal must be"),
        ('id = "commute-2026"', 'id = "A B"', "id must be a letter a-z or a digit"),
        ("opens = 2026-03-01T00:00:00Z", "opens = 2026-03-01", "opens must be an instant"),
        ("00:00:00Z", "00:00:00", "opens must be an instant with a time zone"),
        (
            "2026-03-01T00:00:00Z",
            "'2026-03-01'",
            "such as 2026-03-01T00:00:00Z, not in quotes; found '2026-03-01'",
        ),
        ("00:00:00Z", "00:00:00.5Z", "opens must be a whole second"),
        ("2026-04-01", "2026-02-01", "closes must be later than opens (2026-03-01T00:00:00Z)"),
        ("upper = 180", "upper = 0", "questions[0].upper must be larger than lower (0.0)"),
        ("upper = 180", "", "questions[0].upper must be given"),
        ("upper = 180", "uper = 180", "key questions[0].uper must be 'upper'"),
        ("upper = 9.5", "upper = nan", "questions[1].upper must be a finite number; found nan"),
        ('name = "changes"', 'name = "commute"', "questions must have different names"),
        ("[[questions]]\nname = \"commute\"", "[other]\nname = 'commute'", "key other must be"),
        ("outputs = 3", "outputs = 1", "table.outputs must be a whole number from 2 to 256"),
        ("outputs = 3", "size = 3", "key table.size must be one of"),
        ('"analytical"', '"magic"', "method must be one of"),
        ("upper = 9.5", "upper = 9.5\nobjective = 'balanced'", "method must be left at its"),
        ("outputs = 3", "objective = 'distribution'", "method must be left at its default"),
        ("[table]", "[table", "file must be TOML"),
    ],
)  # fmt: skip
def test_errors_name_the_key_the_rule_and_the_value(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert old in RECIPE
    done = create(tmp_path, RECIPE.replace(old, new, 1))
    assert isinstance(done.exception, InvalidArgumentError)
    assert message in str(done.exception)
    assert not (tmp_path / "commute.json").exists()


def test_the_help_shows_how_an_instant_is_written() -> None:
    shown = CliRunner().invoke(command, ["create", "--help"]).output
    assert "2026-03-01T00:00:00Z, not in quotes" in " ".join(shown.split())


def test_a_file_that_is_not_text_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    file.write_bytes(b"\xff\xfe")
    done = CliRunner().invoke(command, ["create", str(file)])
    assert "file must be UTF-8" in str(done.exception)
