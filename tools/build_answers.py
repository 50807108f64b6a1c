"""Build the catalog of designs for answers that ships with the package: `make catalog`.

Every finished design is kept in a folder, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import click

from noutput.designs.answers import shipped
from noutput.designs.answers.objective import OBJECTIVES
from noutput.designs.answers.request import solve_answers
from noutput.designs.answers.result import AnswerDesign

_TARGET = Path("src/noutput/designs") / shipped.NAME
_LARGEST_GAP = 0.0101


def make(epsilon: float, n_answers: int, objective: str) -> AnswerDesign:
    """Design one entry of the catalog from nothing."""
    question = shipped.stand_in(n_answers)
    return solve_answers(epsilon, question, None, objective, lambda _share: None)


def _made(key: tuple[float, int, str], folder: Path) -> str:
    """Return the document of a design; a finished file is not made again."""
    path = folder / ("-".join(map(str, key)) + ".json")
    if path.exists():
        return path.read_text()
    text = make(*key).to_json()
    part = path.with_suffix(".part")
    part.write_text(text)
    part.replace(path)
    return text


@click.command()
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("results/answers"))
def main(jobs: int, folder: Path) -> None:
    """Solve, check and write every design of the catalog."""
    folder.mkdir(parents=True, exist_ok=True)
    keys = [(e, k, name) for k in shipped.SIZES for e in shipped.EPSILONS for name in OBJECTIVES]
    designs = {}
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(_made, key, folder): key for key in keys}
        with click.progressbar(as_completed(futures), len(futures), label="answers") as bar:
            for future in bar:
                found = AnswerDesign.from_json(future.result())
                if found.gap > _LARGEST_GAP:
                    raise SystemExit(f"{futures[future]}: the gap is {found.gap:.2%}")
                designs[futures[future]] = found
    shipped.write(designs, _TARGET)
    click.echo(f"{len(designs)} designs, {_TARGET.stat().st_size / 1e3:.0f} KB in {_TARGET}")


if __name__ == "__main__":
    main()
