from __future__ import annotations

import sys
from pathlib import Path

import pytest

import noutput as no
from noutput.cli.figures import _draw_probabilities, draw_design, new_figure, save_figure
from noutput.errors import InvalidArgumentError, MissingExtraError
from tests.tables import window_table


def test_a_design_is_drawn(tmp_path: Path) -> None:
    draw_design(no.design(1.0, 4, "worst"), tmp_path / "design.svg")
    drawn = (tmp_path / "design.svg").read_text(encoding="utf-8")
    assert drawn.rstrip().endswith("</svg>")


@pytest.mark.parametrize(("n_outputs", "panels"), [(16, 1), (32, 2)])
def test_more_than_eight_lines_have_a_color_bar(n_outputs: int, panels: int) -> None:
    figure = new_figure(5.0, 4.0)
    _draw_probabilities(figure.subplots(), window_table(1.0, n_outputs, 33, 0.4))
    assert len(figure.axes) == panels
    assert (figure.axes[0].get_legend() is None) == (panels == 2)


def test_the_name_of_the_file_decides_its_format(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"plot must end in \.png, \.svg or \.pdf"):
        save_figure(new_figure(1.0, 1.0), tmp_path / "design.docx")


def test_a_missing_matplotlib_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(MissingExtraError, match=r"noutput\[plot\]"):
        new_figure(1.0, 1.0)
