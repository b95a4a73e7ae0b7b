"""Curves of a training: the loss, and the score on validation, by step. Pure."""

from collections.abc import Mapping, Sequence

from core.charts.canvas import WIDE_LETTER, Axis, Canvas, number

WIDTH, HEIGHT = 560.0, 190.0
TOP, LEFT, RIGHT, FOOT = 26.0, 64.0, 12.0, 46.0
Point = Sequence[float | None]  # step, value; of a score also the loss


class Curves(Canvas):
    """Lines over steps."""

    def __init__(
        self, label: str, axis: Axis, last: float, *, keys: Sequence[tuple[str, str]] = (), keys_from: float = 150.0
    ) -> None:
        super().__init__(label, WIDTH, TOP + HEIGHT + FOOT)
        self.axis, self.steps = axis, Axis.over("step", 0, max(last, 1), about=4)
        self.words(0, 13, axis.name, "name", "start")
        for tick in axis.ticks:
            y = self.y(tick)
            self.mark("line", "axis" if tick == axis.base else "grid", x1=LEFT, y1=y, x2=WIDTH - RIGHT, y2=y)
            self.words(LEFT - 6, y + 4, axis.label(tick), anchor="end")
        for tick in self.steps.ticks:
            text, x = self.steps.label(tick), self.x(tick)
            sticks_out = x + len(text) * WIDE_LETTER / 2 > WIDTH
            self.words(WIDTH if sticks_out else x, TOP + HEIGHT + 18, text, anchor="end" if sticks_out else "middle")
        self.words((LEFT + WIDTH) / 2, TOP + HEIGHT + 39, "step", "name")
        x = keys_from
        for css, words in keys:
            self.mark("rect", css, x=x, y=3, width=12, height=12, rx=2)
            self.words(x + 18, 13, words, "key", "start")
            x += 150

    def x(self, step: float) -> float:
        return LEFT + self.steps.share(step) * (WIDTH - RIGHT - LEFT)

    def y(self, value: float) -> float:
        return TOP + HEIGHT - self.axis.share(value) * HEIGHT

    def line(self, points: Sequence[tuple[float, float]], css: str) -> None:
        coordinates = " ".join(f"{number(self.x(step))},{number(self.y(value))}" for step, value in points)
        self.mark("polyline", f"line {css}", points=coordinates)


def losses_chart(losses: Sequence[Point], scores: Sequence[Point]) -> Canvas:
    """The loss of training, and that of validation where it was measured."""
    trained = _pairs(losses)
    validated = _pairs([(point[0], point[2]) for point in scores if len(point) > 2])
    values = [value for _, value in [*trained, *validated]]
    last = max(step for step, _ in [*trained, *validated])
    axis = Axis.over("loss", min(0.0, *values), max(values))
    keys = [("series-1", "training"), ("series-2", "validation")] if validated else []
    canvas = Curves(f"Loss over {last:,.0f} steps", axis, last, keys=keys)
    canvas.line(trained, "series-1")
    if validated:
        canvas.line(validated, "series-2")
    return canvas


def scores_chart(scores: Sequence[Point]) -> Canvas:
    """NDCG@20,IoU>=0.5 of every evaluation; the best is marked."""
    points = _pairs(scores)
    last, most = max(step for step, _ in points), max(value for _, value in points)
    name = "validation NDCG@20,IoU≥0.5"
    canvas = Curves(f"{name}: the best of {len(points)} is {most:.4f}", Axis.over(name, 0, max(most, 0.01)), last)
    canvas.line(points, "series-1")
    best = next(point for point in points if point[1] == most)
    for step, value in points:
        is_best = (step, value) == best
        title = f"step {step:,.0f}: {value:.4f}{', the best' if is_best else ''}"
        css = "series-2" if is_best else "series-1"
        canvas.mark("circle", css, title=title, cx=canvas.x(step), cy=canvas.y(value), r=5 if is_best else 2.6)
    return canvas


def seeds_chart(scores: Mapping[int, Sequence[Point]], main_seed: int) -> Canvas:
    """NDCG@20,IoU>=0.5 of every evaluation of every seed, one of them before the others; the best of each is marked."""
    curves = {seed: points for seed, values in scores.items() if (points := _pairs(values))}
    every = [point for points in curves.values() for point in points]
    name = "validation NDCG@20,IoU≥0.5"
    axis = Axis.over(name, 0, max(0.01, *(value for _, value in every)))
    keys = [("series-1", f"seed {main_seed}"), ("other", "other seeds")]
    canvas = Curves(f"{name} of {len(curves)} seeds", axis, max(step for step, _ in every), keys=keys, keys_from=250)
    for seed in sorted(curves, key=lambda seed: seed == main_seed):
        css = "series-1" if seed == main_seed else "other"
        canvas.line(curves[seed], css)
        step, value = max(curves[seed], key=lambda point: point[1])
        title = f"seed {seed}, step {step:,.0f}: {value:.4f}, its best"
        canvas.mark("circle", css, title=title, cx=canvas.x(step), cy=canvas.y(value), r=4.5)
    return canvas


def _pairs(points: Sequence[Point]) -> list[tuple[float, float]]:
    return [(point[0], point[1]) for point in points if point[0] is not None and point[1] is not None]
