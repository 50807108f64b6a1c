from __future__ import annotations

from noutput.evaluation.seeds import generator


def test_every_part_of_the_name_matters() -> None:
    names: list[tuple[str | float, ...]] = [
        ("collection", "adult", "pm", 0.5, 0),
        ("campaign", "adult", "pm", 0.5, 0),
        ("collection", "credit", "pm", 0.5, 0),
        ("collection", "adult", "pm-sub", 0.5, 0),
        ("collection", "adult", "pm", 1.0, 0),
        ("collection", "adult", "pm", 0.5, 1),
    ]
    drawn = {int(generator(1, *name).integers(1 << 62)) for name in names}
    drawn.add(int(generator(2, *names[0]).integers(1 << 62)))
    assert len(drawn) == len(names) + 1


def test_the_stream_never_changes() -> None:
    """Stored results belong to it."""
    drawn = generator(1, "collection", "adult", "pm", 0.5, 0).integers(1000, size=3)
    assert drawn.tolist() == [374, 692, 660]
