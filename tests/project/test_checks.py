"""What runs before a commit and before a change lands is what `make` runs."""

from __future__ import annotations

import os
import platform
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

from noutput.designs import catalog

ROOT = Path(__file__).parents[2]


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile, with the names of programs filled in."""
    found = re.search(rf"^{target}:[^\n]*\n((?:\t[^\n]*\n)+)", read("Makefile"), re.MULTILINE)
    assert found is not None, target
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in found[1].splitlines()]


def test_the_hooks_are_what_make_lint_runs() -> None:
    repositories = yaml.safe_load(read(".pre-commit-config.yaml"))["repos"]
    assert [repository["repo"] for repository in repositories] == ["local"]  # nothing is fetched
    hooks = repositories[0]["hooks"]
    assert [hook["entry"] for hook in hooks] == recipe("lint")
    for hook in hooks:
        assert set(hook) == {"id", "name", "entry", "language", "pass_filenames"}
        assert hook["language"] == "system"
        assert hook["pass_filenames"] is False


def test_coverage_is_measured_by_the_same_tests_and_held() -> None:
    erase, tests, combine, report = recipe("coverage")
    assert tests == '$(MAKE) test PYTEST=".venv/bin/coverage run -m pytest"'
    (everything,) = recipe("test")
    assert everything == "$(MAKE) -j 2 fast lint types layers docs spark"
    assert all(line.startswith("$(PYTEST)") for line in recipe("fast") + recipe("spark"))
    assert [line.split()[1] for line in (erase, combine, report)] == ["erase", "combine", "report"]
    settings = tomllib.loads(read("pyproject.toml"))["tool"]["coverage"]
    assert settings["run"]["branch"] is True
    assert settings["report"]["fail_under"] >= 95
    assert not {"omit", "include", "exclude_lines", "exclude_also"} & {
        *settings["run"], *settings["report"],
    }  # fmt: skip
    lines = read(".ci/run").splitlines()
    assert (
        lines.index("make coverage") < lines.index("make kernels") < lines.index("make check-slow")
    )
    assert "make test" not in lines


_KERNELS = """
import ctypes, re
from pathlib import Path
import numpy as np, scipy.linalg

maps = Path("/proc/self/maps").read_text()
for library in sorted(set(re.findall(r"/\\S+openblas\\S+", maps))):
    name = "scipy_openblas_get_corename" + "64_" * ("openblas64_" in library)
    corename = getattr(ctypes.CDLL(library), name)
    corename.restype = ctypes.c_char_p
    print(corename().decode())
print(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
"""


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the kernels are those of x86-64")
def test_the_second_kernel_is_what_numpy_and_scipy_compute_with() -> None:
    """A name that they do not know would be passed over, and the first kernel tested twice."""
    setting = re.search(r"^KERNEL := (.*)$", read("Makefile"), re.MULTILINE)
    assert setting is not None
    kernel = dict(part.split("=") for part in shlex.split(setting[1]))
    assert recipe("kernels")[0].startswith("$(KERNEL) $(PYTEST) ")
    command = [sys.executable, "-W", "error", "-c", _KERNELS]
    found = subprocess.run(
        command, env=os.environ | kernel, capture_output=True, text=True, check=True
    )
    assert found.stdout.split("\n") == [kernel["OPENBLAS_CORETYPE"]] * 2 + ["[]", ""]


def test_no_constraint_names_an_index() -> None:
    for name in ("constraints-all.txt", "constraints-demo.txt"):
        assert not re.search(r"^--|://", read(name), re.MULTILINE), name


def test_editors_are_told_the_line_length_of_ruff() -> None:
    length = tomllib.loads(read("pyproject.toml"))["tool"]["ruff"]["line-length"]
    assert f"[*.py]\nmax_line_length = {length}\n" in read(".editorconfig")


def test_designs_that_another_run_kept_are_not_read() -> None:
    folder = catalog.cache_folder()
    assert folder is not None
    assert folder.name.startswith("noutput-cache-")
