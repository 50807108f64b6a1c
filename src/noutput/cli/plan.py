"""`noutput plan`: how many people and how much epsilon for what error."""

from __future__ import annotations

import json
import textwrap
from typing import TYPE_CHECKING

import click

from noutput._numbers import bits, show
from noutput._progress import shown_progress
from noutput.cli import adaptive_plan, answer_plan, asked, options, published

if TYPE_CHECKING:
    from collections.abc import Callable

    from noutput.planner import Plan
    from noutput.questions import Question

__all__ = ["command"]

_WIDTH = 88
_EPSILONS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)


class _Histogram(click.ParamType[list[float]]):
    name = "W,W,..."

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> list[float]:
        try:
            return [float(part) for part in str(value).split(",")]
        except ValueError:
            self.fail(f"{value!r} is not a list of numbers such as 1,4,2.", param, ctx)


@click.command(name="plan")
@click.option("--epsilon", type=float, help="Privacy loss of one report.")
@click.option("--people", type=int, help="How many people report.")
@click.option("--error", type=float, help="Half the width of the 95% interval for the mean.")
@click.option(
    "--shares-within", type=float, metavar="SHARE",
    help="Half the width of the interval for the share of any answer, such as 0.02.",
)  # fmt: skip
@click.option(
    "--published-epsilon", type=float,
    help="What published counts may reveal about one person; give --epsilon or --people with it.",
)  # fmt: skip
@published.delta
@click.option("--lower", type=float, help="Smallest number [default: -1].")
@click.option("--upper", type=float, help="Largest number [default: 1].")
@asked.question
@click.option(
    "--prior", type=_Histogram(),
    help="Expected distribution of the numbers: weights of equal bins [default: even]. Of answers: "
    "one weight each [default: errors are kept whatever people answer].",
)  # fmt: skip
@click.option(
    "--level", type=float, default=0.95, show_default=True, help="Level of intervals of answers."
)
@options.outputs
@options.objective
@click.option(
    "--adaptive", is_flag=True,
    help="Also forecast a campaign whose first people find the range for all others.",
)  # fmt: skip
@click.option(
    "--first", type=float, metavar="SHARE",
    help="Share of the people in the first wave, with --adaptive [default: 0.2].",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    epsilon: float | None,
    people: int | None,
    error: float | None,
    shares_within: float | None,
    published_epsilon: float | None,
    delta: float,
    lower: float | None,
    upper: float | None,
    answers: tuple[str, ...] | None,
    scores: tuple[str, ...] | None,
    choice: tuple[str, ...] | None,
    yes_no: bool,
    prior: list[float] | None,
    level: float,
    outputs: int | None,
    objective: str | None,
    adaptive: bool,
    first: float | None,
    as_json: bool,
) -> None:
    """Predict the errors of a campaign before it starts.

    Give two of --epsilon, --people and --error; the third is computed. Errors are in the units of
    --lower and --upper. Of answers (--answers, --choice or --yes-no), --shares-within takes the
    place of --error, which is that of the mean score. With --published-epsilon,
    give --epsilon or --people: the other is computed so that whoever sees only published counts
    learns no more than that.
    """
    import noutput as no
    from noutput.planner import ready_plans

    question: Question = asked.answers_of(answers, scores, choice, yes_no) or no.Number(
        -1.0 if lower is None else lower, 1.0 if upper is None else upper
    )
    if not isinstance(question, no.Number) and (lower, upper) != (None, None):
        raise click.UsageError("--lower and --upper are for numbers, not for answers.")
    computed = epsilon is None and published_epsilon is None
    central = None
    if published_epsilon is not None:
        from noutput.planner.published import plan_published

        if (error, shares_within) != (None, None):
            raise click.UsageError(
                "--published-epsilon takes --epsilon or --people, not --error or --shares-within."
            )
        epsilon, people, central = plan_published(
            published_epsilon,
            epsilon=epsilon,
            people=people,
            delta=delta,
            n_outputs=outputs,
            objective=objective,
            question=question,
        )
    with shown_progress("Planning") as progress:
        found = no.plan(
            epsilon=epsilon,
            people=people,
            error=error,
            shares_within=shares_within,
            question=question,
            prior=prior,
            level=level,
            n_outputs=outputs,
            objective=objective,
            progress=progress,
        )
    others: tuple[Plan, ...] = ()
    waves = adaptive_plan.forecast(found, first, objective, adaptive=adaptive)
    if isinstance(found, no.AnswerPlan):
        content = answer_plan.facts(found)
    else:
        goal = objective or "balanced"
        others = ready_plans(found, _EPSILONS, prior=prior, n_outputs=outputs, objective=goal)
        with shown_progress("Simulating") as progress:
            content = _forecast(found, others, progress)
    if as_json:
        more = {} if central is None else {"published": central.to_dict()}
        more |= {} if waves is None else {"adaptive": waves.to_dict()}
        click.echo(json.dumps(content | more, indent=2))
        return
    if isinstance(found, no.AnswerPlan):
        answer_plan.show_answer_plan(found, assumed=prior is not None, computed=computed)
    else:
        # tables for the variance alone are made for an epsilon between those of the catalog
        _show(found, prior, from_catalog=computed and goal not in ("worst", "average"))
    if waves is not None:
        adaptive_plan.show(waves)
    if central is not None:
        published.show_privacy(central)
    if isinstance(found, no.Plan) and len(others) > 1:
        _show_table(found, others)


def _facts(found: Plan) -> dict[str, object]:
    return {
        "epsilon": found.epsilon,
        "people": found.people,
        "lower": found.bounds.lower,
        "upper": found.bounds.upper,
        "bits": found.bits,
        "standard_error": found.standard_error,
        "half_width": found.half_width,
        "worst_standard_error": found.worst_standard_error,
        "worst_half_width": found.worst_half_width,
        "respondents_error": found.respondents_error,
        "mean_method": found.mean_method,
        "bias_bound": found.bias_bound,
        "wasserstein_error": found.wasserstein_error,
        "wasserstein_errors": dict(found.wasserstein_errors),
        "wasserstein_range": found.wasserstein_range,
        "fingerprint": found.mechanism.fingerprint,
    }


def _forecast(
    found: Plan, others: tuple[Plan, ...], progress: Callable[[float], None]
) -> dict[str, object]:
    """Simulate all that is printed, and return it as plain JSON."""
    parts = 2 + len(others)
    more = {
        "interval_widths": found.interval_widths,
        "bars": found.bars,
        "shapes": {name: shape.words for name, shape in found.shapes},
    }
    progress(1.0 / parts)
    own = _facts(found)
    rows = []
    for place, other in enumerate(others):
        progress((2.0 + place) / parts)
        rows.append(_facts(other))
    return own | more | {"other_epsilons": rows}


def _show(found: Plan, prior: list[float] | None, *, from_catalog: bool) -> None:
    from noutput import resolution

    bounds = found.bounds
    assumed = "spread evenly" if prior is None else "distributed as the prior"
    errors = f"standard error {show(found.standard_error, digits=3)}"
    if found.bias_bound:
        errors += f", bias at most {show(found.bias_bound)}"
    click.echo(
        f"{found.people:,} people, epsilon = {found.epsilon:g}, "
        f"values from {bounds.lower:g} to {bounds.upper:g}\n"
        "\n"
        f"Mean           within {show(found.half_width, digits=3)} in 95% of campaigns "
        f"({errors})\n"
        f"               if values are {assumed}; "
        f"within {show(found.worst_half_width, digits=3)} whatever they are\n"
        f"Report         {bits(found.bits)}, one of {found.mechanism.n_outputs}\n"
        f"{_wrapped('Table', str(resolution(found.mechanism, bounds, reports=found.people)))}\n"
        "\n"
        f"{_distribution(found)}\n" + (f"{answer_plan.FROM_CATALOG}\n" if from_catalog else "")
    )


def _wrapped(head: str, text: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=f"{head:15}", subsequent_indent=" " * 15
    )  # fmt: skip


def _distribution(found: Plan) -> str:
    """Return what simulated campaigns say, by the shape of the numbers."""
    errors = dict(found.wasserstein_errors)
    fewest, most = found.bars
    middle = (found.bounds.lower + found.bounds.upper) / 2.0
    names = {"share below the middle": f"share below {middle:g}"}
    lines = [f"Distribution   Wasserstein error {_range(*found.wasserstein_range)}, simulated"]
    if len(errors) > 1:
        lines[0] += "; it depends on what values are like:"
        lines += [
            f"{'':15}{show(errors[name]):>6}  {name}: {shape.words}" for name, shape in found.shapes
        ]
    lines.append("Intervals      of 95% that hold whatever values are like are so wide, simulated:")
    for name, (low, high) in found.interval_widths.items():
        share = name.startswith("share")
        text = f"{_range(100.0 * low, 100.0 * high)} points" if share else _range(low, high)
        if name != "mean":
            lines.append(f"{'':15}{names.get(name, name):22} {text}")
    bars = str(most) if fewest == most else f"{fewest} to {most}"
    lines.append(f"Histogram      {bars} equal bars can be told apart without assumptions")
    return "\n".join(lines)


def _range(low: float, high: float) -> str:
    first, last = show(low), show(high)
    return first if first == last else f"{first} to {last}"


def _show_table(found: Plan, others: tuple[Plan, ...]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, title="The same people at other epsilons")
    for heading in ("epsilon", "mean within", "at worst", "Wasserstein\nup to", "bits"):
        table.add_column(heading, justify="right")
    table.add_column(f"people for {show(found.half_width, digits=3)}", justify="right")
    for other in others:
        table.add_row(
            f"{other.epsilon:g}",
            show(other.half_width, digits=3),
            show(other.worst_half_width, digits=3),
            show(other.wasserstein_range[1]),
            str(other.bits),
            _people(other, found.half_width),
            style="bold" if other is found else None,
        )
    Console().print(table)


def _people(plan: Plan, error: float) -> str:
    """Return how many people it takes, or a dash where there are not so many."""
    from noutput.errors import InvalidArgumentError

    try:
        return f"{plan.people_for(error):,}"
    except InvalidArgumentError:
        return "-"
