"""The report: every claim with its verdict, the figures, the tables, and what made them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from noutput.evaluation import claims
from noutput.evaluation.comparison import Comparison
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
from noutput.evaluation.results import BINNED
from noutput.evaluation.scenarios import FIGURES, MECHANISMS, command

if TYPE_CHECKING:
    from noutput.evaluation.claims import Claim, Finding
    from noutput.evaluation.datasets import Dataset
    from noutput.evaluation.figures import Drawing
    from noutput.evaluation.results import Results, Row
    from noutput.evaluation.run import Outcome
    from noutput.evaluation.tables import Table as Numbers

__all__ = ["Report", "compose"]

_TITLE = "The paper's evaluation, reproduced"
_LIMIT = 3.0  # standard errors
_TAIL = math.erfc(_LIMIT / math.sqrt(2.0))


@dataclass(frozen=True)
class Report:
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
    found: Results, tables: dict[str, Numbers], outcome: Outcome, drawings: Iterable[Drawing]
) -> Report:
    """Write the report of a scenario."""
    findings = tuple(claims.check(found))
    blocks: list[Block] = [Heading(1, _TITLE), Text(_introduction(found))]
    blocks += _claims(findings)
    drawn = list(drawings)
    for name in found.scenario.figures:
        blocks.append(Heading(2, FIGURES[name].title))
        blocks += [Picture(d.name, d.caption) for d in drawn if d.figure == name]
        blocks += _details(name, found, tables)
    blocks += _setting(outcome)
    return Report(tuple(blocks), findings)


def _introduction(found: Results) -> str:
    scenario = found.scenario
    return (
        'Every figure and table of "N-output Mechanism: Estimating Statistical Information from '
        'Numerical Data under Local Differential Privacy" (Baek and Chung), simulated anew with '
        f"{scenario.runs} runs (seed {scenario.seed}). All numbers are errors on [-1, 1]; lower is "
        "better. Verdicts are decided by the rules of `noutput.evaluation.claims`, from the "
        "numbers and their standard errors."
    )


def _claims(findings: tuple[tuple[Claim, Finding], ...]) -> list[Block]:
    counts = Counter(finding.verdict for _, finding in findings)
    total = ", ".join(
        f"{counts[v]} {v if counts[v] == 1 else v.replace('holds', 'hold').replace('does', 'do')}"
        for v in (claims.HOLDS, claims.PART, claims.FAILS)
    )
    rows = tuple((c.text, c.place, f"**{f.verdict}**", f.numbers) for c, f in findings)
    return [
        Heading(2, "The claims"),
        Text(f"Of {len(findings)} claims, {total}."),
        Table(("what the paper says", "where", "verdict", "numbers"), rows),
        Text(
            "Errors differ where they are at least 3 standard errors apart; what is closer is "
            "equal within noise. High privacy is an epsilon of at most 1."
        ),
    ]


def _details(name: str, found: Results, tables: dict[str, Numbers]) -> Iterator[Block]:
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
        rows_found = found.of(name, truth=BINNED)
    if name in ("distribution", "variance"):
        yield from _gain(rows_found, found.scenario.mechanisms)
        rows_found = paper_rows(rows_found)
    for dataset in dict.fromkeys(row.dataset for row in rows_found):
        yield Heading(3, f"{LABELS.get(dataset, 'All inputs')}")
        yield _numbers([row for row in rows_found if row.dataset == dataset])


def _plain(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def _example(table: Numbers) -> Block:
    outputs = sorted({row[1] for row in table.rows if isinstance(row[1], float) and row[1] > 0.0})
    listed = " and ".join(f"{output:.3f}" for output in outputs)
    return Text(
        f"The outputs above 0 are {listed}; the paper reads about 1.87 and 2.57. Sequential least "
        "squares from many starts ends here."
    )


def _agreement(rows: list[Row]) -> Block:
    """Say how often measured errors leave what theory predicts, and how often chance does."""
    far = [row for row in rows if abs(row.deviation) > _LIMIT]
    largest = max(rows, key=lambda row: abs(row.deviation))
    return Text(
        f"**Theory.** {len(far)} of {len(rows)} measured errors are more than 3 standard errors "
        f"from the prediction (by chance one expects {_TAIL * len(rows):.1f}, and somewhat more "
        "with few runs, whose standard errors are themselves uncertain); the farthest, "
        f"{_name(largest)}, is at {largest.deviation:+.1f}."
    )


def _name(row: Row) -> str:
    where = LABELS.get(row.dataset, "all inputs")
    return f"{_mechanism(row)} on {where} at epsilon {row.epsilon:g}"


def _mechanism(row: Row) -> str:
    label = MECHANISMS[row.mechanism].label if row.mechanism in MECHANISMS else "lower bound"
    return label + (" (EMS)" if row.estimator == "ems" else "")


def _beaten(rows: list[Row]) -> Iterator[Block]:
    """List where another mechanism has a smaller error than the worst-case design, by theory."""
    reference = {(r.dataset, r.epsilon): r for r in rows if r.mechanism == "numerical-worst"}
    lines = []
    for row in rows:
        paper = reference.get((row.dataset, row.epsilon))
        if paper is None or MECHANISMS[row.mechanism].role != "baseline":
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
    lines = []
    for name in mechanisms:
        logs = [
            math.log(rows[d, m, "gp", e].value / row.value)
            for (d, m, estimator, e), row in rows.items()
            if m == name and estimator == "em" and (d, m, "gp", e) in rows
        ]
        if logs:
            ratio = math.exp(math.fsum(logs) / len(logs))
            lines.append((MECHANISMS[name].label, f"{ratio:.2f}"))
    if lines:
        yield Text(
            "**The estimator matters.** The error with gp relative to the paper's EM from the same "
            "reports, as the geometric mean over datasets and epsilons:"
        )
        yield Table(("mechanism", "gp / EM"), tuple(lines))


def _numbers(rows: list[Row]) -> Table:
    """Lay out the values of one dataset: a line a mechanism, a column an epsilon."""
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


def _setting(outcome: Outcome) -> list[Block]:
    blocks: list[Block] = [Heading(2, "How it was made")]
    if outcome.datasets:
        rows = tuple(
            (data.label, f"{data.people:,}", str(data.n_attributes), _remarks(data))
            for data in outcome.datasets.values()
        )
        blocks.append(Table(("dataset", "people", "attributes", "remarks"), rows))
    made = ", ".join(f"{name} {version}" for name, version in versions().items())
    source = "`metadata.json` has the commits and the fingerprints of all mechanisms."
    return [*blocks, Items((*_METHOD, f"`{command(outcome.scenario)}`; {made}; {source}"))]


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
        "Distributions have 64 bins; EM stops when an iteration changes the mean log-likelihood a "
        "report by at most 1e-5. Direct encoding and OUE in the paper's panels: unbiased shares, "
        "moved to the closest distribution."
    ),
)
