from __future__ import annotations

from noutput.evaluation.scenarios import CONTENDERS
from noutput.evaluation.style import style_of


def test_every_mechanism_has_a_look_of_its_own() -> None:
    looks = {style_of(name) for name in CONTENDERS} | {style_of("square-wave", "ems")}
    assert len(looks) == len(CONTENDERS) + 1
    assert style_of("unheard-of") not in looks


def test_one_mechanism_looks_the_same_with_every_estimator() -> None:
    assert style_of("pm", "em") == style_of("pm", "gp") == style_of("pm")
