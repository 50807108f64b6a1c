from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from noutput._numbers import show

finite = st.floats(-1e9, 1e9)


@given(finite, st.floats(1e-9, 1e6))
def test_no_digit_that_matters_is_lost(value: float, error: float) -> None:
    found = float(show(value, error).replace(",", ""))
    assert abs(found - value) <= max(0.051 * error, 0.5 if error >= 10 else 0.0) + 1e-9


@given(finite)
def test_a_number_alone_keeps_its_own_digits(value: float) -> None:
    assume(abs(value) > 1e-9)
    assert abs(float(show(value).replace(",", "")) - value) <= max(0.051 * abs(value), 0.0)


def test_no_zero_is_negative() -> None:
    assert (show(-0.3, 30.0), show(-0.0), show(-0.0004, 0.5), show(-1e-12, 1e-9)) == (
        "0",
        "0",
        "0.00",
        "0",
    )


def test_what_has_no_scale_is_printed_as_it_is() -> None:
    assert show(0.0) == "0"
    assert show(1.5, 0.0) == "1.5"
    assert show(1.5, float("inf")) == "1.5"
