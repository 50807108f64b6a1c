"""`noutput demo`: a whole campaign on this machine, from the first report to the dashboard."""

from __future__ import annotations

import signal
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput._numbers import bits, round_edges, show
from noutput._progress import shown_progress
from noutput.cli import options
from noutput.cli.histogram import MARK, draw_bars, encodable
from noutput.cli.targets import PLOT_ENDINGS, check_target
from noutput.estimate.choices import QUARTILES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from noutput.collector.demonstration import Demonstration
    from noutput.collector.simulation import Population
    from noutput.estimate.summary import AnswerSummary, Summary
    from noutput.mechanisms.table import TableMechanism

__all__ = ["command"]

_PEOPLE = 40_000
_WIDTH = 92
_FEWEST = 2  # reports that say anything
_PANEL = 12_000  # people who answer the second campaign, if there are so many
_RATE = 100  # people who report per second, before the demo starts and while it is watched


@click.command(name="demo")
@click.option("--people", type=click.IntRange(2, 10_000_000), default=_PEOPLE, show_default=True)
@click.option("--epsilon", type=float, default=1.0, show_default=True)
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True,
    help="Seed of the simulated people.",
)  # fmt: skip
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0,
    help="Port of the dashboard on this machine [default: a free one].",
)  # fmt: skip
@click.option(
    "--serve/--no-serve", default=None,
    help="Whether to keep the dashboard open until Ctrl-C [default: in a terminal].",
)  # fmt: skip
@click.option(
    "--adaptive", is_flag=True,
    help="Declare 0 to 600 minutes, and let the first fifth of the people find the range.",
)  # fmt: skip
@options.plot("the distribution")
def command(
    people: int,
    epsilon: float,
    seed: int,
    port: int,
    serve: bool | None,
    plot_path: Path | None,
    *,
    adaptive: bool,
) -> None:
    """Run a campaign with simulated people on this machine, and show its dashboard.

    Each is asked one of four questions about the way to work, drawn at random: a number, a scale,
    a choice and yes/no. A real collector is started, with its database in a temporary folder. The
    people are simulated from a seed; their reports are drawn with secure randomness and sent over
    HTTP. A second campaign asks people with two platforms in rounds, and shows a trend. Everything
    is deleted when the demo ends.
    """
    import numpy as np

    import noutput as no
    from noutput.campaign import NextWave
    from noutput.cli.waves import wave_lines
    from noutput.collector.demonstration import DECLARED, LONGEST, QUESTIONS, commuters, demonstrate
    from noutput.collector.pooled import estimated

    check_target(plot_path, PLOT_ENDINGS)
    rng = np.random.default_rng(seed)
    everybody = commuters(people, rng)
    truth = np.asarray(everybody.values["minutes"], float)
    with shown_progress("Designing") as progress:
        designs = [no.design(epsilon, question=each, progress=progress) for each in QUESTIONS]
    tables = [each.mechanism.plain for each in designs]
    following = NextWave(max(people // 5, 1), people) if adaptive else None
    longest = DECLARED if adaptive else LONGEST
    with (
        _ended_by_signals(),
        tempfile.TemporaryDirectory(prefix="noutput-demo-") as folder,
        demonstrate(Path(folder), tables, port, people / _RATE, following) as show_case,
    ):
        app_users = show_case.play(min(people, _PANEL), rng)
        _collect(show_case, everybody, longest)
        for line in wave_lines(show_case.newest()) if adaptive else ():
            click.echo(textwrap.fill(encodable(line), _WIDTH, subsequent_indent="  "))
        click.echo(f"Each report satisfies {epsilon:g}-local differential privacy.")
        readers = show_case.readers()
        if readers is not None:
            said = f"{readers.sentence} (If nobody invents reports: here, anybody could.)"
            click.echo(textwrap.fill(encodable(said), _WIDTH))
        click.echo()
        asked_questions = show_case.campaign.questions
        for place, (asked, design) in enumerate(zip(asked_questions, designs, strict=True)):
            parts = show_case.parts(place)
            if isinstance(design.mechanism, no.TableMechanism):
                _show_report(design.mechanism, float(truth[0]), longest)
            if sum(part.tally.total for part in parts) < _FEWEST:
                click.echo(f"\n{asked.text} Too few reports for an estimate.")
                continue
            found = no.summarize(*estimated(parts), asked)
            if isinstance(found, no.AnswerSummary):
                _show_answers(found, everybody.values[found.question.name])
                continue
            _show_figures(found, truth)
            _show_distribution(found, truth, longest)
            if plot_path:
                from noutput.cli.distribution_figure import draw_distributions

                draw_distributions({"minutes": found}, plot_path, {"minutes": truth})
                click.echo(f"\nFigure saved in {plot_path}")
        _show_panel(show_case, app_users)
        if sys.stdout.isatty() if serve is None else serve:
            _serve(show_case, rng)
        else:
            click.echo("\nnoutput demo --serve keeps the live dashboard open.")


def _collect(show_case: Demonstration, everybody: Population, longest: float) -> None:
    from noutput.collector.dashboard.words import duration

    click.echo(
        f"A collector runs at {show_case.url}. {len(everybody):,} simulated people are asked\n"
        f"one question each about their way to work: how many minutes it took (0 to {longest:g}), "
        "how many\n"
        "stars they give it, how they went, or whether they were late. Their reports are noted as\n"
        f"if they had come in over the last {duration(len(everybody) / _RATE)}."
    )
    start = time.perf_counter()
    with shown_progress("Reporting") as progress:
        for sent in show_case.arrive(everybody):
            progress(sent / len(everybody))
    click.echo(f"{sent:,} reports were counted in {time.perf_counter() - start:.1f} s.")


def _show_panel(show_case: Demonstration, users: Population) -> None:
    """Show the platforms of the campaign with rounds beside the truth."""
    import numpy as np

    rounds = len(set(users.rounds))
    asked = (
        f"A second campaign asked {len(users):,} people in {rounds} rounds, one per hour. "
        f"{show_case.panel.text}"
    )
    click.echo("\n" + textwrap.fill(asked, _WIDTH))
    found = show_case.compared()
    seconds = np.asarray(users.values["seconds"], float)
    platforms = [each["platform"] for each in users.labels]
    rows = found["statistics"][0]["estimates"]
    if rows:
        click.echo(f"  {'Platform':28} {'truth':>7}  {'estimate':>9}   95% interval")
    for row in rows:
        truth = seconds[[each == row["group"] for each in platforms]].mean()
        low, high = row["interval"]
        half = (high - low) / 2.0
        texts = [show(each, half) for each in (truth, row["value"], low, high)]
        click.echo(f"  {row['group']:28} {texts[0]:>7}  {texts[1]:>9}   {texts[2]} to {texts[3]}")
    click.echo(textwrap.fill(found["text"], _WIDTH))


def _serve(show_case: Demonstration, rng: np.random.Generator) -> None:
    """Let a few more people report every second until Ctrl-C."""
    from noutput.collector.demonstration import commuters

    click.echo(
        f"\nThe live dashboard is at {show_case.page}\n"
        f"and the one with rounds and two platforms at {show_case.panel_page}\n"
        f"{_RATE} more people report every second to each. Ctrl-C ends the demo."
    )
    try:
        while True:
            show_case.follow(_RATE, rng)
            for _ in show_case.send(commuters(_RATE, rng)):
                time.sleep(1.0)
    except KeyboardInterrupt:
        click.echo("\nThe demo has ended, and its database is gone.")


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Let a request to end the process end it as Ctrl-C does: with everything cleaned up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show_report(mechanism: TableMechanism, truth: float, longest: float) -> None:
    """Show what a report of the first person could be; nobody knows which it was."""
    unit = truth / (longest / 2.0) - 1.0
    report = mechanism.privatize(unit)
    chances = mechanism.probabilities([-1.0, 0.0, 1.0])[:, report]
    told = (
        f"{report} of 0..{mechanism.n_outputs - 1}, {bits(mechanism.bits)}. "
        f"Its sender commutes {truth:.1f} minutes; with 0, {longest / 2.0:g} or {longest:g} "
        f"minutes the chances of the same report are "
        f"{chances[0]:.1%}, {chances[1]:.1%} and {chances[2]:.1%}."
    )
    click.echo(_named("One report", told) + "\n")


def _named(name: str, text: str) -> str:
    """Return a text beside its name, in lines that fit a terminal.

    Examples
    --------
    >>> print(_named("Forged reports", "unusual: " + "one honest question in 20, " * 3))
    Forged reports       unusual: one honest question in 20, one honest question in 20, one
                         honest question in 20,
    """
    first = f"{name:20} "
    return textwrap.fill(text, _WIDTH, initial_indent=first, subsequent_indent=" " * len(first))


def _show_figures(found: Summary, truth: NDArray[np.float64]) -> None:
    import numpy as np

    true = {"Mean": truth.mean(), "Variance": truth.var(), "Standard deviation": truth.std()}
    quartiles = np.quantile(truth, list(QUARTILES.values())).tolist()
    true |= dict(zip(QUARTILES, quartiles, strict=True))
    click.echo(f"{'Minutes':20} {'truth':>7}  {'estimate':>9}   95% interval")
    for name, figure in found.figures.items():
        estimate, low, high = figure.texts
        value = show(true[name], figure.half or None)
        click.echo(f"{name:20} {value:>7}  {estimate:>9}   {low} to {high}")
    click.echo(_named("Forged reports", found.forged_text) + "\n")


def _show_distribution(found: Summary, truth: NDArray[np.float64], longest: float) -> None:
    import numpy as np

    import noutput as no

    edges = round_edges(0.0, longest)
    shares = np.diff(np.asarray(found.distribution.cdf(edges))).tolist()
    true = (np.histogram(truth, edges)[0] / truth.size).tolist()
    click.echo(draw_bars(edges, shares, true))
    bins = found.distribution.bins
    exact = np.histogram(truth, bins, (0.0, longest))[0] / truth.size
    bounds = found.distribution.bounds
    distance = float(no.wasserstein(found.distribution.probabilities, exact, bounds))
    click.echo(
        encodable(
            f"\nBars are the estimate, {MARK} is the truth. "
            f"The Wasserstein distance of the two is {show(distance)} minutes."
        )
    )


def _show_answers(found: AnswerSummary, truth: NDArray[np.float64] | list[str]) -> None:
    """Show the shares of a question with answers beside the truth."""
    answers = list(truth)
    asked = found.question.text
    click.echo(f"\n{asked:30} {'truth':>7}  {'estimate':>9}   95% interval")
    for bar in found.bars:
        estimate, low, high = bar.texts
        share = f"{answers.count(bar.label) / len(answers):.1%}"
        click.echo(f"  {bar.label:28} {share:>7}  {estimate:>9}   {low} to {high}")
