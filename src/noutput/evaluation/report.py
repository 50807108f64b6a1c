"""The report: every claim with its verdict, the figures, the tables, and their provenance."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from noutput.evaluation import claims, readings
from noutput.evaluation.comparison import CHANCE, Comparison, limit
from noutput.evaluation.datasets import LABELS
from noutput.evaluation.document import (
    Block,
    Heading,
    Items,
    Picture,
    Table,
    Text,
    to_html,
    to_markdown,
)
from noutput.evaluation.figures import paper_rows
from noutput.evaluation.provenance import versions
from noutput.evaluation.results import BINNED, RAW
from noutput.evaluation.scenarios import BINS, CONTENDERS, FIGURES, command
from noutput.evaluation.units import WORST_CASE
from noutput.evaluation.verdicts import VERDICTS
from noutput.evaluation.work import true_variances

if TYPE_CHECKING:
    from noutput.evaluation.claims import Claim
    from noutput.evaluation.datasets import Dataset
    from noutput.evaluation.figures import Drawing
    from noutput.evaluation.results import Results, Row
    from noutput.evaluation.run import FinishedRun
    from noutput.evaluation.tables import NumberTable
    from noutput.evaluation.verdicts import Finding

__all__ = ["PaperReport", "compose"]

_TITLE = "The paper's evaluation, reproduced"


@dataclass(frozen=True)
class PaperReport:
    """A report that can be read as Markdown or HTML."""

    blocks: tuple[Block, ...]
    findings: tuple[tuple[Claim, Finding], ...]

    def markdown(self) -> str:
        """Return REPORT.md."""
        return to_markdown(self.blocks)

    def html(self, folder: Path) -> str:
        """Return index.html, with the pictures of a folder in it."""
        return to_html(self.blocks, _TITLE, folder)

    def summary(self) -> str:
        """Return the verdicts, one line each."""
        width = max((len(finding.verdict) for _, finding in self.findings), default=0)
        return "\n".join(f"{f.verdict:{width}}  {c.text}" for c, f in self.findings)


def compose(
    found: Results,
    tables: dict[str, NumberTable],
    outcome: FinishedRun,
    drawings: Iterable[Drawing],
) -> PaperReport:
    """Write the report of a scenario."""
    findings = tuple(claims.check(found))
    blocks: list[Block] = [Heading(1, _TITLE), Text(_introduction(found))]
    blocks += _claims(findings)
    drawn = list(drawings)
    for name in found.scenario.figures:
        blocks.append(Heading(2, FIGURES[name].title))
        blocks += [Picture(d.name, d.caption) for d in drawn if d.figure == name]
        blocks += _details(name, found, tables, outcome)
    blocks += readings.sections(found)
    blocks += _setting(outcome)
    return PaperReport(tuple(blocks), findings)


def _introduction(found: Results) -> str:
    scenario = found.scenario
    return (
        'Every figure and table of "N-output Mechanism: Estimating Statistical Information from '
        'Numerical Data under Local Differential Privacy" (Baek and Chung), simulated anew with '
        f"{scenario.runs} runs (seed {scenario.seed}). All numbers are errors on [-1, 1]; lower is "
        "better. Verdicts are decided by the rules of `noutput.evaluation.verdicts`, from the "
        "numbers and their standard errors."
    )


def _claims(findings: tuple[tuple[Claim, Finding], ...]) -> list[Block]:
    counts = Counter(finding.verdict for _, finding in findings)
    total = ", ".join(_counted(verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict])
    rows = tuple((c.text, c.place, f"**{f.verdict}**") for c, f in findings)
    blocks: list[Block] = [
        Heading(2, "The claims"),
        Text(f"Of {len(findings)} claims, {total or 'none was computed'}."),
        Table(("what the paper says", "where", "verdict"), rows),
        Text(
            "Errors differ where chance alone would set them so far apart in 0.27% of the cases (3 "
            "standard errors with many runs, more with few); what is closer is equal within noise. "
            "A claim about all settings holds if none speaks against it, holds in part if at least "
            "as many speak for it as against it, and is undecided if noise leaves most of them "
            "open. High privacy is an epsilon of at most 1."
        ),
        Heading(2, "The numbers behind the verdicts"),
    ]
    for claim, finding in findings:
        blocks += [Heading(3, f"{claim.text[:-1]}: {finding.verdict}"), Items(finding.numbers)]
    return blocks


def _counted(verdict: str, count: int) -> str:
    """Count a verdict: "1 holds", "3 hold in part", "2 are undecided"."""
    if "hold" in verdict:
        words = verdict if count == 1 else verdict.replace("holds", "hold").replace("does", "do")
    else:
        words = f"{'is' if count == 1 else 'are'} {verdict}"
    return f"{count} {words}"


def _details(
    name: str, found: Results, tables: dict[str, NumberTable], outcome: FinishedRun
) -> Iterator[Block]:
    """Return what stands below the pictures of a figure."""
    if name in tables:
        if name == "example":
            yield _example(tables[name])
        else:
            rows = tuple(tuple(map(_plain, row)) for row in tables[name].rows)
            yield Table(tuple(c.replace("_", " ") for c in tables[name].columns), rows)
        return
    rows_found = found.of(name)
    if name in ("worst-case-rmse", "mean"):
        yield _agreement(rows_found)
    if name == "mean":
        yield from _beaten(rows_found)
    if name == "variance":
        yield from _truths(outcome.datasets.values())
        rows_found = found.of(name, truth=BINNED)
    if name in ("distribution", "variance"):
        yield from _gain(rows_found, found.scenario.mechanisms)
        rows_found = paper_rows(rows_found)
    for dataset in dict.fromkeys(row.dataset for row in rows_found):
        yield Heading(3, "All inputs" if dataset == WORST_CASE else LABELS.get(dataset, dataset))
        yield _numbers([row for row in rows_found if row.dataset == dataset])
        if name == "variance":
            yield Text("Against the variance of the numbers:")
            yield _numbers(paper_rows(found.of(name, truth=RAW, dataset=dataset)))


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _example(table: NumberTable) -> Block:
    outputs = sorted({row[1] for row in table.rows if isinstance(row[1], float) and row[1] > 0.0})
    listed = " and ".join(f"{output:.3f}" for output in outputs)
    return Text(
        f"The outputs above 0 are {listed}; the paper reads about 1.87 and 2.57. Sequential least "
        "squares from many starts ends here."
    )


def _truths(datasets: Iterable[Dataset]) -> Iterator[Block]:
    """Say which variance is the true one, and how far the two are from each other."""
    yield Text(
        "**Two truths.** The paper does not say whether its errors are taken against the variance "
        f"of the numbers or of their histogram with {BINS} bins. Its estimate puts every bin at "
        "its center, so that even the true histogram misses the variance of the numbers by what "
        "the table lists, and a bias of EM in the other direction would look like accuracy. "
        "Verdicts use the variance of the true histogram; both are shown."
    )
    lines = []
    for data in datasets:
        truths = true_variances(data)
        error = math.sqrt(float(((truths[BINNED] - truths[RAW]) ** 2).mean()))
        lines.append((data.label, f"{error:.2g}"))
    yield Table(("dataset", "error of the true histogram (root mean square)"), tuple(lines))


def _agreement(rows: list[Row]) -> Block:
    """Say how often measured errors leave what theory predicts, and how often chance does."""
    judged = [row for row in rows if not math.isnan(row.deviation)]
    sentences = []
    if judged:
        far = [row for row in judged if abs(row.deviation) > limit(row.runs - 1)]
        largest = max(judged, key=lambda row: abs(row.deviation))
        sentences.append(
            f"{len(far)} of {len(judged)} measured errors differ from the prediction by more than "
            f"noise (by chance one expects {CHANCE * len(judged):.1f}); the farthest, "
            f"{_name(largest)}, is at {largest.deviation:+.1f} standard errors, where "
            f"{limit(largest.runs - 1):.1f} are within noise."
        )
    equal = len(rows) - len(judged)
    if equal:
        places = f"{equal}{' further' if judged else ''} setting{'s' if equal > 1 else ''}"
        sentences.append(
            f"In {places} all runs gave the same error, which does not tell how noisy it is; more "
            "runs or more people would."
        )
    return Text(f"**Theory.** {' '.join(sentences)}")


def _name(row: Row) -> str:
    where = "all inputs" if row.dataset == WORST_CASE else LABELS.get(row.dataset, row.dataset)
    return f"{_mechanism(row)} on {where} at epsilon {row.epsilon:g}"


def _mechanism(row: Row) -> str:
    label = CONTENDERS[row.mechanism].label if row.mechanism in CONTENDERS else "lower bound"
    return label + (" (EMS)" if row.estimator == "ems" else "")


def _beaten(rows: list[Row]) -> Iterator[Block]:
    """List where another mechanism has a smaller error than the worst-case design, by theory."""
    reference = {(r.dataset, r.epsilon): r for r in rows if r.mechanism == "numerical-worst"}
    lines = []
    for row in rows:
        paper = reference.get((row.dataset, row.epsilon))
        if paper is None or CONTENDERS[row.mechanism].role != "baseline":
            continue
        if row.predicted < paper.predicted:
            ratio = Comparison(paper, row)
            lines.append(
                (
                    LABELS.get(row.dataset, row.dataset),
                    f"{row.epsilon:g}",
                    _mechanism(row),
                    f"{row.predicted / paper.predicted:.4f}",
                    str(ratio),
                )
            )
    if lines:
        yield Text(
            "**Where a baseline beats the worst-case design, theory says so:** the table lists "
            "every setting in which the variance averaged over that data predicts it. The worst "
            "case is what the design minimizes; no promise is made for data that sit where "
            "another mechanism has less noise, such as an edge."
        )
        yield Table(
            ("dataset", "epsilon", "mechanism", "predicted ratio", "measured"), tuple(lines)
        )


def _gain(found: list[Row], mechanisms: tuple[str, ...]) -> Iterator[Block]:
    """Say how much gp changes the errors of the same reports."""
    rows = {(r.dataset, r.mechanism, r.estimator, r.epsilon): r for r in found}
    lines, zeros = [], 0
    for name in mechanisms:
        pairs = [
            (rows[d, m, "gp", e].value, row.value)
            for (d, m, estimator, e), row in rows.items()
            if m == name and estimator == "em" and (d, m, "gp", e) in rows
        ]
        logs = [math.log(gp / em) for gp, em in pairs if gp and em]
        zeros += len(pairs) - len(logs)
        if logs:
            ratio = math.exp(math.fsum(logs) / len(logs))
            lines.append((CONTENDERS[name].label, f"{ratio:.2f}"))
    if lines:
        yield Text(
            "**The estimator matters.** The error with gp relative to the paper's EM from the same "
            f"reports, as the geometric mean over datasets and epsilons{_left_out(zeros)}:"
        )
        yield Table(("mechanism", "gp / EM"), tuple(lines))


def _left_out(zeros: int) -> str:
    if not zeros:
        return ""
    words = (
        "setting with an error of exactly 0 is"
        if zeros == 1
        else "settings with an error of exactly 0 are"
    )
    return f" ({zeros} {words} left out)"


def _numbers(rows: list[Row]) -> Table:
    """Lay out the values of one dataset: one line per mechanism, one column per epsilon."""
    epsilons = sorted({row.epsilon for row in rows})
    lines: dict[str, dict[float, Row]] = {}
    for row in rows:
        lines.setdefault(_mechanism(row), {})[row.epsilon] = row
    return Table(
        ("mechanism", *(f"ε = {epsilon:g}" for epsilon in epsilons)),
        tuple(
            (label, *(_value(line[e]) if e in line else "" for e in epsilons))
            for label, line in lines.items()
        ),
    )


def _value(row: Row) -> str:
    if not row.runs:
        return f"{row.value:.4g}"
    return f"{row.value:.3g} ± {row.standard_error:.1g}"


def _setting(outcome: FinishedRun) -> list[Block]:
    blocks: list[Block] = [Heading(2, "How it was made")]
    if outcome.datasets:
        rows = tuple(
            (data.label, f"{data.people:,}", str(data.n_attributes), _remarks(data))
            for data in outcome.datasets.values()
        )
        blocks.append(Table(("dataset", "people", "attributes", "remarks"), rows))
    blocks += _sizes(outcome)
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    source = "`metadata.json` has the commits and the fingerprints of all mechanisms."
    return [*blocks, Items((*_METHOD, f"`{command(outcome.scenario)}`; {made}; {source}"))]


def _sizes(outcome: FinishedRun) -> Iterator[Block]:
    """Say how many outputs the numerical designs have, and why."""
    names = [
        n for n in ("numerical-worst", "numerical-average") if n in outcome.scenario.mechanisms
    ]
    found = {(n, e): m for (n, e), m in outcome.mechanisms.items() if n in names}
    if not found:
        return
    epsilons = sorted({epsilon for _, epsilon in found})
    yield Text(
        "**The numerical designs** do not search N for each objective, as the paper does. They "
        "take the N of the best optimal worst-case table with at most 16 outputs (the smallest "
        "within 0.01% of the best), also where the average is minimized, and outputs that coincide "
        "are merged. They have so many outputs:"
    )
    yield Table(
        ("design", *(f"ε = {epsilon:g}" for epsilon in epsilons)),
        tuple(
            (
                CONTENDERS[n].label,
                *(str(getattr(found.get((n, e)), "n_outputs", "")) for e in epsilons),
            )
            for n in names
        ),
    )


def _remarks(data: Dataset) -> tuple[str, ...]:
    unusual = (f"**{data.difference}**",) if data.difference else ()
    return (*unusual, *data.notes) or ("nothing is left out",)


_METHOD = (
    (
        "Every person reports one attribute, drawn at random; every column is scaled to [-1, 1] by "
        "its smallest and largest number."
    ),
    (
        "One simulated collection serves the mean, the distribution and the variance. Errors are "
        "averaged over attributes and runs (root mean square for mean and variance); ± is one "
        "standard error, from the spread of the runs."
    ),
    (
        "Distributions have 64 bins; EM stops when an iteration changes the mean log-likelihood "
        "per report by at most 1e-5. Direct encoding and OUE in the paper's panels: unbiased "
        "shares, moved to the closest distribution."
    ),
)
