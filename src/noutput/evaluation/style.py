"""Plot style: one color and one marker per mechanism, the same in all figures.

The colors are those of Okabe and Ito and of Tol, which people with any kind of color vision can
tell apart; markers and dashes tell lines apart where there is no color at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

__all__ = ["BOUND_STYLE", "Style", "style_of"]


@dataclass(frozen=True, slots=True)
class Style:
    """The look of a line."""

    color: str
    marker: str
    dash: str = "-"
    width: float = 1.3
    hollow: bool = False

    def options(self) -> dict[str, Any]:
        """Return what matplotlib's `plot` takes."""
        return {
            "color": self.color,
            "marker": self.marker,
            "linestyle": self.dash,
            "linewidth": self.width,
            "markersize": 5.0,
            "markeredgewidth": 1.0,
            "markeredgecolor": self.color,
            "markerfacecolor": "white" if self.hollow else self.color,
        }


_STYLES: Mapping[str, Style] = MappingProxyType(
    {
        "numerical-worst": Style("#D55E00", "o", width=2.0),
        "numerical-average": Style("#E69F00", "s", width=2.0),
        "analytical": Style("#CC79A7", "D"),
        "duchi": Style("#999999", "v"),
        "three-output": Style("#666666", "^"),
        "pm": Style("#56B4E9", "P"),
        "pm-sub": Style("#0072B2", "X"),
        "square-wave": Style("#009E73", "*"),
        "square-wave/ems": Style("#009E73", "*", "--", hollow=True),
        "direct-encoding": Style("#661100", "h"),
        "oue": Style("#999933", ">"),
        "hybrid": Style("#44AA99", "<", "--", hollow=True),
        "pm-opt": Style("#332288", "d", "--", hollow=True),
        "optimal-16": Style("#000000", "o", "--", hollow=True),
        "optimal-64": Style("#000000", "s", ":", hollow=True),
        "distribution-64": Style("#AA3377", "p", width=2.0),
        "balanced": Style("#117733", "H", width=2.0),
    }
)

_OTHER = Style("#882255", "8", "-.")

BOUND_STYLE: Mapping[str, Any] = MappingProxyType(
    {"color": "black", "linestyle": (0, (1, 1)), "linewidth": 1.2}
)
"""The look of a lower bound."""


def style_of(mechanism: str, estimator: str = "") -> Style:
    """Return the style of a mechanism; smoothing is dashed."""
    return _STYLES.get(f"{mechanism}/{estimator}") or _STYLES.get(mechanism, _OTHER)
