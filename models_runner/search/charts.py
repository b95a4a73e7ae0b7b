"""Where a model sees a moment begin and end: its probabilities over the seconds of a video. Pure."""

from collections.abc import Sequence

from core.charts.canvas import Axis, Canvas, number

WIDTH, HEIGHT = 560.0, 120.0
TOP, LEFT, RIGHT, FOOT = 30.0, 56.0, 12.0, 44.0


def why_chart(
    start: Sequence[float],
    end: Sequence[float],
    span: tuple[float, float],
    *,
    clip_s: float,
    end_offset_s: float,
    duration_s: float | None,
) -> Canvas:
    """A line for each boundary, and the moment between them.

    Args:
        start, end: probabilities of each clip.
        span: start and end of the moment, in seconds.
        clip_s: seconds of a clip.
        end_offset_s: from the beginning of the end's clip to where a moment ends that ends there.
        duration_s: of the video; None: as long as its clips.
    """
    starts = [(place * clip_s, value) for place, value in enumerate(start)]
    ends = [(place * clip_s + end_offset_s, value) for place, value in enumerate(end)]
    last = max(duration_s or 0.0, len(start) * clip_s, span[1])
    label = f"Start and end by probability; the moment from {span[0]:.1f} to {span[1]:.1f} s is marked"
    canvas = Canvas(label, WIDTH, TOP + HEIGHT + FOOT)
    axis, seconds = Axis.over("probability", 0, max(*start, *end), about=3), Axis.over("seconds", 0, last, about=6)

    def x(second: float) -> float:
        return LEFT + min(1.0, second / last) * (WIDTH - RIGHT - LEFT)

    def y(value: float) -> float:
        return TOP + HEIGHT - axis.share(value) * HEIGHT

    words = f"{span[0]:.1f} to {span[1]:.1f} s"
    canvas.mark("rect", "span", title=words, x=x(span[0]), y=TOP, width=x(span[1]) - x(span[0]), height=HEIGHT)
    canvas.words(0, 14, axis.name, "name", "start")
    for place, (css, words) in enumerate((("series-1", "start"), ("series-2", "end"), ("span", "the moment"))):
        canvas.mark("rect", css, x=150 + 100 * place, y=4, width=12, height=12, rx=2)
        canvas.words(168 + 100 * place, 14, words, "key", "start")
    for tick in axis.ticks:
        canvas.mark("line", "axis" if tick == 0 else "grid", x1=LEFT, y1=y(tick), x2=WIDTH - RIGHT, y2=y(tick))
        canvas.words(LEFT - 6, y(tick) + 4, axis.label(tick), anchor="end")
    for tick in (tick for tick in seconds.ticks if tick <= last):
        canvas.words(x(tick), TOP + HEIGHT + 18, seconds.label(tick))
    canvas.words((LEFT + WIDTH) / 2, TOP + HEIGHT + 38, "seconds of the video", "name")
    for points, css, name in ((starts, "series-1", "start"), (ends, "series-2", "end")):
        drawn = " ".join(f"{number(x(second))},{number(y(value))}" for second, value in points)
        canvas.mark("polyline", f"line {css}", points=drawn)
        second, most = max(points, key=lambda point: point[1])
        canvas.mark("circle", css, title=f"{name} at {second:.1f} s: {most:.3f}", cx=x(second), cy=y(most), r=4)
    return canvas
