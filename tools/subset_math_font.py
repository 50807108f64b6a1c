"""Make the math font of the documentation: `python tools/subset_math_font.py stix-two-math.woff`.

The source is ``files/stix-two-math-latin-400-normal.woff`` of the npm package
``@fontsource/stix-two-math`` 5.3.0, which is the whole font STIX Two Math 2.12 (SIL Open Font
License, without a reserved name). Kept are the characters that formulas use, the tables by which
browsers place subscripts and stretch brackets, and nothing for other text.
"""

from __future__ import annotations

import sys
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

TARGET = Path(__file__).parents[1] / "docs" / "_static" / "fonts" / "stix-two-math.woff"
RANGES = (
    (0x0020, 0x007E), (0x00A0, 0x00A0), (0x00AC, 0x00AC), (0x00B1, 0x00B1), (0x00B7, 0x00B7),
    (0x00D7, 0x00D7), (0x0302, 0x0305), (0x0391, 0x03F6), (0x2009, 0x200A), (0x2016, 0x2016),
    (0x2026, 0x2026), (0x2032, 0x2033), (0x2061, 0x2064), (0x2102, 0x2102), (0x210E, 0x210E),
    (0x2113, 0x2115), (0x211A, 0x211A), (0x211D, 0x211D), (0x2124, 0x2124), (0x2190, 0x2194),
    (0x21A6, 0x21A6), (0x21D2, 0x21D4), (0x2200, 0x222C), (0x223C, 0x223C), (0x2248, 0x2248),
    (0x2260, 0x2261), (0x2264, 0x2265), (0x226A, 0x226B), (0x2282, 0x2287), (0x2295, 0x2297),
    (0x22C5, 0x22C5), (0x22EF, 0x22EF), (0x2308, 0x230B), (0x27E8, 0x27E9), (0x1D434, 0x1D467),
    (0x1D6E2, 0x1D71B),
)  # fmt: skip


def main() -> None:
    """Write the font that the pages use."""
    options = subset.Options()
    options.layout_features = ["*"]
    options.hinting = False
    options.flavor = "woff"
    font = TTFont(sys.argv[1], recalcTimestamp=False)
    made = subset.Subsetter(options)
    made.populate(unicodes=[code for first, last in RANGES for code in range(first, last + 1)])
    made.subset(font)
    TARGET.parent.mkdir(exist_ok=True)
    subset.save_font(font, str(TARGET), options)


if __name__ == "__main__":
    main()
