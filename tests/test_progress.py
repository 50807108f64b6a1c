"""Long calls show a bar in terminals and notebooks, and nothing elsewhere."""

from __future__ import annotations

import io
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import noutput as no
from noutput import _progress, frames
from noutput._progress import shown_progress
from noutput.frames.engines import arrow
from noutput.planner.adaptive_plan import plan_adaptive


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


class Impatient:
    """A timer whose time has come when it starts."""

    daemon = False

    def __init__(self, _seconds: float, action: Callable[[], object]) -> None:
        self.start = action

    def cancel(self) -> None: ...

    def join(self) -> None: ...


def show_on(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """Done inside each test: pytest itself puts standard error back after fixtures."""
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NOUTPUT_PROGRESS", raising=False)
    monkeypatch.setattr(threading, "Timer", Impatient)


def test_the_bar_appears_on_a_terminal_and_vanishes(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(terminal := Terminal(), monkeypatch)
    with shown_progress("Working") as progress:
        progress(0.25)
        progress(0.251)  # too little to be drawn
        progress(1.0)
    drawn = terminal.getvalue().split("\r")
    assert [text[:9] for text in drawn if text.strip()] == ["Working …", "Working █", "Working █"]
    assert " 25%  about " in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert drawn[-2].strip() == ""  # overwritten
    assert len(drawn[-2]) == max(map(len, drawn))


def test_a_terminal_that_knows_few_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(terminal := Terminal(), monkeypatch)
    monkeypatch.setattr(Terminal, "encoding", "ascii")
    with shown_progress("Working") as progress:
        progress(0.5)
    assert terminal.getvalue().isascii()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    timer = threading.Timer
    show_on(terminal := Terminal(), monkeypatch)
    monkeypatch.setattr(threading, "Timer", timer)
    monkeypatch.setattr(_progress, "_PATIENCE", 3600.0)
    with shown_progress("Working") as progress:
        progress(1.0)
    assert terminal.getvalue() == ""


@pytest.mark.parametrize("why", ["file", "dumb", "off"])
def test_nothing_is_shown_elsewhere(why: str, monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(screen := io.StringIO() if why == "file" else Terminal(), monkeypatch)
    if why == "dumb":
        monkeypatch.setenv("TERM", "dumb")
    if why == "off":
        monkeypatch.setenv("NOUTPUT_PROGRESS", "off")
    with shown_progress("Working") as progress:
        progress(0.5)
    assert screen.getvalue() == ""


def test_threads_show_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A collector that runs in a terminal computes estimates in threads."""
    show_on(terminal := Terminal(), monkeypatch)

    def work() -> None:
        with shown_progress("Working") as progress:
            progress(0.5)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert terminal.getvalue() == ""


def test_the_outermost_call_has_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(terminal := Terminal(), monkeypatch)
    with shown_progress("Outer"), shown_progress("Inner") as inner:
        inner(0.5)
    assert "Outer" in terminal.getvalue()
    assert "Inner" not in terminal.getvalue()
    with pytest.raises(ZeroDivisionError), shown_progress("Broken"):
        raise ZeroDivisionError
    with shown_progress("Again"):  # an error leaves nothing behind
        pass
    assert "Again" in terminal.getvalue()


def test_a_callers_function_takes_the_place_of_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(terminal := Terminal(), monkeypatch)
    shares: list[float] = []
    no.design(1.0, 16, "worst", progress=shares.append)
    assert shares == [1.0]
    assert terminal.getvalue() == ""


class Handle:
    def __init__(self, shown: list[dict[str, str]]) -> None:
        self.shown = shown

    def update(self, data: dict[str, str], *, raw: bool) -> None:
        assert raw
        self.shown.append(data)


def test_a_notebook_gets_an_output_that_is_empty_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    show_on(screen := io.StringIO(), monkeypatch)
    shown: list[dict[str, str]] = []

    def display(data: dict[str, str], *, raw: bool, display_id: bool) -> Handle:
        assert raw
        assert display_id
        shown.append(data)
        return Handle(shown)

    shell = SimpleNamespace(kernel=object())
    parts: dict[str, Any] = {
        "IPython": SimpleNamespace(get_ipython=lambda: shell),
        "IPython.display": SimpleNamespace(display=display),
    }
    for name, module in parts.items():
        monkeypatch.setitem(sys.modules, name, module)
    with shown_progress("Working") as progress:
        progress(0.5)
    assert [each["text/plain"][:11] for each in shown] == ["Working", "Working 50%", ""]
    assert '<progress value="0.500">' in shown[1]["text/html"]
    assert screen.getvalue() == ""


LONG_CALLS: dict[str, Callable[[np.random.Generator], object]] = {
    "Designing": lambda _rng: no.design(1.234, 3, "worst"),
    "Auditing": lambda rng: no.audit(
        no.mechanism("duchi", 1.0), samples=1_000, inputs=[-1.0, 1.0], rng=rng
    ),
    "Privatizing": lambda _rng: _privatize_a_file(),
    "Estimating": lambda rng: _summary(rng).quantiles,
    "Planning": lambda _rng: no.plan(epsilon=1.0, error=0.5, bounds=(0, 180), objective="worst"),
    "Simulating": lambda _rng: _plan().wasserstein_errors,
    "Simulating waves": lambda _rng: plan_adaptive(_plan()),
}


def _plan() -> no.Plan:
    return no.plan(epsilon=1.0, people=1_234, bounds=(0, 180), objective="worst")


def _summary(rng: np.random.Generator) -> Any:
    d = no.design(4.0, 4, "worst", question=no.Number(0, 10))
    return no.summarize(d, d.privatize(rng.uniform(0, 10, 500), rng=rng), bins=8)


def _privatize_a_file() -> None:
    Path("people.csv").write_text("minutes\n12\n40\n", encoding="utf-8")
    design = no.design(1.0, 4, "worst", question=no.Number(0, 180))
    frames.privatize_files("people.csv", "reports.csv", "minutes", design=design)


@pytest.mark.parametrize("label", LONG_CALLS)
def test_long_calls_show_themselves(
    label: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    show_on(terminal := Terminal(), monkeypatch)
    LONG_CALLS[label](np.random.default_rng(1))
    assert f"\r{label}" in terminal.getvalue()


def _reports(ending: str) -> Path:
    """Return a file of reports that is read in several steps."""
    target = Path(f"reports.{ending}")
    m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    people = io.BytesIO(b"minutes\n" + b"12\n" * 600_000)
    frames.privatize_files(people, target, "minutes", mechanism=m, bounds=(0, 180), seed=1)
    return target


@pytest.mark.parametrize("engine", ["arrow", "duckdb"])
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_counting_shows_how_much_is_read(
    engine: str, ending: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(arrow, "BLOCK", 1 << 20)
    target = _reports(ending)
    show_on(terminal := Terminal(), monkeypatch)
    assert frames.tally_files(target, engine=engine)["minutes"].total == 600_000
    shares = re.findall(r"Counting \S+ +(\d+)%", terminal.getvalue())
    if (engine, ending) == ("duckdb", "parquet"):  # it does not tell
        assert "\rCounting …" in terminal.getvalue()
    else:
        assert len(shares) > 1
        assert int(shares[0]) < int(shares[-1]) == 100


def test_counting_several_files_is_one_bar(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    target = _reports("parquet")
    show_on(terminal := Terminal(), monkeypatch)
    assert frames.read_evidence(target, target)["minutes"].total == 1_200_000
    shares = [int(each) for each in re.findall(r"(\d+)%", terminal.getvalue())]
    assert shares == sorted(shares)
    assert 50 in shares
    assert shares[-1] == 100


def test_counting_frames_and_archives_shows_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    ages = frames.privatize(pa.table({"age": [20, 50]}), "age", mechanism=m, bounds=(0, 120))
    show_on(terminal := Terminal(), monkeypatch)
    frames.tally(ages, "age", m)
    assert "\rCounting …" in terminal.getvalue()
    show_on(terminal := Terminal(), monkeypatch)
    with pytest.raises(no.InvalidArgumentError, match="campaign"):
        frames.tally_reports(ages)
    assert "\rCounting …" in terminal.getvalue()
