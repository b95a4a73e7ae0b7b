"""The curves under a hit."""

from models_runner.search.views import HEIGHT, LEFT, RIGHT, WIDTH, why_chart


def draw_chart() -> str:
    how = {"clip_s": 1.5, "end_offset_s": 1.5, "duration_s": 6.0}
    return why_chart([0.1, 0.8, 0.1, 0.0], [0.0, 0.1, 0.2, 0.7], (1.5, 6.0), **how).inline()


def x(second: float, last: float = 6.0) -> str:
    return f"{LEFT + second / last * (WIDTH - RIGHT - LEFT):.1f}".removesuffix(".0")


def test_curves_peak_where_the_moment_begins_and_ends() -> None:
    svg = draw_chart()
    assert f'<rect class="span" x="{x(1.5)}"' in svg and f'height="{HEIGHT:g}"><title>1.5 to 6.0 s' in svg
    assert f'cx="{x(1.5)}"' in svg and "start at 1.5 s: 0.800" in svg
    assert f'cx="{x(6)}"' in svg and "end at 6.0 s: 0.700" in svg  # the fourth clip begins at 4.5 s, and ends later


def test_a_video_that_nobody_measured_lasts_as_long_as_its_clips() -> None:
    svg = why_chart([0.5, 0.5], [0.5, 0.5], (0.0, 3.0), clip_s=1.5, end_offset_s=0.0, duration_s=None).inline()
    assert f'width="{WIDTH - RIGHT - LEFT:g}"' in svg
