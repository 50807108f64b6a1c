from __future__ import annotations

import io
import json
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from noutput import cli
from noutput.designs.result import Design


@dataclass(frozen=True)
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: str) -> Done:
    """Call the command in this process, which has loaded everything once."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.setattr(sys, "argv", ["noutput", *arguments])
        with pytest.raises(SystemExit) as ended:
            cli.main()
    code = ended.value.code
    assert isinstance(code, int)
    return Done(code, out.getvalue(), err.getvalue())


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Call the command as a shell does."""
    return subprocess.run(
        [sys.executable, "-m", "noutput", *arguments], capture_output=True, text=True, timeout=600,
        check=False,
    )  # fmt: skip


def test_help_lists_every_verb() -> None:
    done = start("--help")
    assert done.returncode == 0
    for verb in cli._VERBS:
        assert verb in done.stdout


def test_an_unknown_verb_is_named() -> None:
    done = start("frobnicate")
    assert done.returncode == 2
    assert "frobnicate" in done.stderr


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys\nfrom noutput.cli import noutput\n"
        "noutput.main(['--help'], standalone_mode=False)\n"
        "print([m for m in ('numpy', 'scipy', 'rich', 'matplotlib') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=600, check=True
    )
    assert done.stdout.strip().endswith("[]")


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("design")
    done = run(
        "design", "--epsilon", "4", "--outputs", "5", "--method", "analytical",
        "--json", str(folder / "table.json"), "--plot", str(folder / "table.png"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_design_prints_what_people_need(saved: tuple[Path, str]) -> None:
    _, text = saved
    for fact in ("5, 3 bits each", "0.164235", "certified privacy loss", "1.0933", "fingerprint"):
        assert fact in text


def test_design_saves_a_certified_table(saved: tuple[Path, str]) -> None:
    folder, _ = saved
    table = Design.from_json((folder / "table.json").read_text()).mechanism
    assert table.epsilon == 4.0
    done = start("verify", str(folder / "table.json"))
    assert done.returncode == 0
    assert done.stdout.startswith("Private")
    assert "has a worst-case variance below 0.127" in done.stdout
    assert table.fingerprint in done.stdout


def test_design_draws_a_figure(saved: tuple[Path, str]) -> None:
    folder, _ = saved
    assert (folder / "table.png").read_bytes().startswith(b"\x89PNG")


def test_designs_for_distributions_show_their_windows(tmp_path: Path) -> None:
    done = run(
        "design", "--epsilon", "1", "--outputs", "16", "--objective", "distribution",
        "--json", str(tmp_path / "table.json"), "--plot", str(tmp_path / "table.png"),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for fact in ("16, 4 bits each", "Wasserstein error", "trained"):
        assert fact in done.stdout
    assert (tmp_path / "table.png").read_bytes().startswith(b"\x89PNG")
    done = run("verify", str(tmp_path / "table.json"))
    assert done.returncode == 0
    assert done.stdout.startswith("Private")


def test_the_default_design_is_balanced_and_says_how_close_to_the_limit_it_is(
    tmp_path: Path,
) -> None:
    path = tmp_path / "table.json"
    done = run("design", "--epsilon", "1", "--json", str(path), "--plot", str(tmp_path / "t.png"))
    assert done.returncode == 0, done.stderr
    found = Design.from_json(path.read_text())
    assert found.lower_bound is not None
    for fact in (
        "128, 7 bits each", "Wasserstein error", "worst-case variance", "...", "127 ",
        f"{found.value / found.lower_bound:.3f} times the proven limit",
    ):  # fmt: skip
        assert fact in done.stdout
    assert len(done.stdout.splitlines()) < 40
    done = run("verify", str(path))
    assert "has a worst-case variance below 3.99" in done.stdout


def test_verify_names_the_violation(saved: tuple[Path, str], tmp_path: Path) -> None:
    document = json.loads((saved[0] / "table.json").read_text())
    document["mechanism"]["epsilon"] = 3.9
    bad = tmp_path / "bad.json"
    bad.write_text(json.dumps(document))
    done = start("verify", str(bad))
    assert done.returncode == 1
    assert "NOT PRIVATE" in done.stderr
    assert "Output 0" in done.stderr
    assert "row" in done.stderr


def test_verify_refuses_what_is_no_table(tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"a": 1}')
    done = start("verify", str(bad))
    assert done.returncode == 2
    assert f"Error: format in '{bad}' must be" in done.stderr
    assert "Traceback" not in done.stderr
    assert run("verify", str(tmp_path / "missing.json")).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--epsilon", "0"), "epsilon must be a positive finite number"),
        (("--epsilon", "nan"), "epsilon must be a positive finite number"),
        (("--epsilon", "1", "--outputs", "1"), "--outputs must be a whole number from 2 to 256"),
        (("--epsilon", "1", "--outputs", "300"), "--outputs must be"),
        (("--epsilon", "1", "--objective", "best"), "not 'balanced', 'worst', 'average', 'd"),
        (("--epsilon", "1", "--outputs", "16"), "too large"),
        (("--epsilon", "1", "--objective", "average"), "objective must be 'worst'"),
        (("--epsilon", "1", "--outputs", "3", "--plot", "x.bmpx"), "end in .png"),
    ],
)
def test_bad_arguments_are_named(arguments: tuple[str, ...], message: str) -> None:
    done = run("design", "--method", "analytical", *arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "verb", [("design", "--epsilon", "1", "--outputs", "2"), ("compare",), ("demo",)]
)
def test_figures_that_cannot_be_written_are_refused_first(
    verb: tuple[str, ...], tmp_path: Path
) -> None:
    done = run(*verb, "--plot", str(tmp_path / "none" / "x.png"))
    assert done.returncode == 2
    assert "lie in a folder that exists" in done.stderr
    done = run(*verb, "--plot", str(tmp_path / "x.bmp"))
    assert done.returncode == 2
    assert "end in .png" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "note"),
    [
        (
            ("--epsilon", "1", "--outputs", "16", "--objective", "worst"),
            "Reports 7 and 8 tell the same",
        ),
        (
            ("--epsilon", "0.25", "--outputs", "15", "--objective", "worst"),
            "Report 7 hardly ever occurs: less than once in",
        ),
        (("--epsilon", "0.5", "--outputs", "3", "--method", "analytical"), "the table has 2"),
        (
            ("--epsilon", "0.5", "--method", "numerical", "--objective", "average"),
            "as the optimal design for the worst case has them",
        ),
    ],
)
def test_design_explains_its_number_of_outputs(arguments: tuple[str, ...], note: str) -> None:
    done = run("design", *arguments)
    assert done.returncode == 0
    assert note in done.stdout
    assert "-0.0000" not in done.stdout


def test_design_explains_nothing_that_is_plain() -> None:
    done = run("design", "--epsilon", "1", "--outputs", "15", "--objective", "worst")
    assert "as good" not in done.stdout
    assert "asked for" not in done.stdout
