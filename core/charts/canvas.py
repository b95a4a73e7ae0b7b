"""An SVG to draw on, and axes: where values lie on them, and which are written beside. Pure.

Coordinates are the SVG's own units: a letter is about 7 wide, on phones about 9. Nothing carries a style: colours
are classes, which ``static/css/charts.css`` fills in on pages; files bring their own.
"""

import math
import re
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple
from xml.etree import ElementTree as ET  # nosec B405 - it writes, and reads nothing

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
LETTER, WIDE_LETTER, BOLD_LETTER = 7.0, 9.0, 11.0
GAP = 26  # between the charts of a file
XMLNS = "http://www.w3.org/2000/svg"
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML 1.0, production 2


class Axis(NamedTuple):
    """A vertical axis from ``low`` to ``high``, ticked every ``step``."""

    name: str
    low: float
    high: float
    step: float
    unit: str = ""

    @classmethod
    def over(cls, name: str, low: float, high: float, *, about: int = 5) -> "Axis":
        """The least axis of whole steps that holds both values; at least one step long.

        A step is one of 1, 2, 2.5 and 5, times a power of ten; about so many of them divide the axis.
        """
        rough = (high - low) / about if high > low else 1.0
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(step * power for step in STEPS if step * power >= rough * (1 - 1e-9))
        first, last = math.floor(round(low / step, 9)), math.ceil(round(high / step, 9))
        return cls(name, first * step, max(last, first + 1) * step, step)

    @property
    def ticks(self) -> list[float]:
        steps = round((self.high - self.low) / self.step)
        return [round(self.low + index * self.step, 9) for index in range(steps + 1)]

    @property
    def base(self) -> float:
        """The tick that stands for nothing: zero if it is among them, else the lowest."""
        return next((tick for tick in self.ticks if tick == 0), self.low)

    def share(self, value: float) -> float:
        """How far up the axis a value lies: 0 at its foot, 1 at its head, never outside."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))

    def label(self, tick: float) -> str:
        decimals = len(f"{self.step:.6f}".rstrip("0").partition(".")[2])
        return f"{tick:,.{decimals}f}{self.unit}".replace("-", "−")


class LogAxis(Axis):
    """A vertical axis on which equal distances are equal ratios, ticked at 1, 2 and 5 times powers of ten."""

    @classmethod
    def covering(cls, name: str, low: float, high: float) -> "LogAxis":
        """Return the least axis from tick to tick that holds both values, which are above 0."""
        ticks = _ticks_of_log(low, high)
        first = max(tick for tick in ticks if tick <= low * (1 + 1e-9))
        return cls(name, first, min(tick for tick in ticks if tick >= high * (1 - 1e-9) and tick > first), 0)

    @property
    def ticks(self) -> list[float]:
        return [tick for tick in _ticks_of_log(self.low, self.high) if self.low <= tick <= self.high]

    def share(self, value: float) -> float:
        """Return how far up the axis a value lies; what is below its foot, as 0, lies on it."""
        if value <= self.low:
            return 0.0
        return min(1.0, math.log(value / self.low) / math.log(self.high / self.low))

    def label(self, tick: float) -> str:
        return f"{tick:,g}{self.unit}"


def _ticks_of_log(low: float, high: float) -> list[float]:
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    return [float(f"{factor}e{power}") for power in powers for factor in (1, 2, 5)]


Key = tuple[str, str]  # of a legend: class of its mark, words


class Canvas:
    """An SVG of a size, with a label for who cannot see it."""

    def __init__(self, label: str, width: float, height: float, *, classes: str = "") -> None:
        self.label, self.width, self.height = label, width, height
        box = f"0 0 {number(width)} {number(height)}"
        css = f"chart {classes}".strip()
        self.root = ET.Element("svg", {"class": css, "viewBox": box, "role": "img", "aria-label": writable(label)})

    def mark(self, tag: str, css: str = "", *, title: str = "", **attributes: float | str) -> ET.Element:
        """Add a shape or words; ``title`` is shown to a pointer over it."""
        xml = {name.replace("_", "-"): number(value) for name, value in attributes.items()}
        element = ET.SubElement(self.root, tag, {"class": css, **xml} if css else xml)
        if title:
            ET.SubElement(element, "title").text = writable(title)
        return element

    def words(self, x: float, y: float, text: str, css: str = "tick", anchor: str = "middle") -> None:
        self.mark("text", css, x=x, y=y, text_anchor=anchor).text = writable(text)

    def inline(self) -> str:
        """For a page, whose sheet fills in the colours."""
        return ET.tostring(self.root, encoding="unicode")


class Plot(Canvas):
    """Bands side by side above a horizontal axis, values upwards, perhaps a second axis at the right."""

    WIDTH, BOTTOM = 560, 46
    WIDEST_BAR = 80

    def __init__(
        self,
        label: str,
        bands: Sequence[str],
        axis: Axis,
        *,
        right: Axis | None = None,
        legend: Iterable[Key] = (),
        x_name: str,
        height: float = 200,
    ) -> None:
        positions = _legend_positions(axis.name, keys := list(legend), self.WIDTH)
        self.axis, self.bands = axis, bands
        self.top = 17 + max([y for _, y in positions], default=13.0)
        self.foot = self.top + height
        super().__init__(label, self.WIDTH, self.foot + self.BOTTOM)
        self.left = _room(axis)
        self.end = self.WIDTH - (_room(right) if right else 8)
        self.step = (self.end - self.left) / max(1, len(bands))
        self._legend(keys, positions)
        self._axis(axis, right)
        self._bands(x_name)

    def x(self, index: float) -> float:
        """The middle of a band."""
        return self.left + (index + 0.5) * self.step

    def y(self, value: float, axis: Axis | None = None) -> float:
        return self.foot - (axis or self.axis).share(value) * (self.foot - self.top)

    def bar(self, index: int, low: float, high: float, css: str, title: str, *, width: float = 0.74) -> None:
        wide, top = min(self.step * width, self.WIDEST_BAR), self.y(high)
        x_left = self.x(index) - wide / 2
        self.mark("rect", css, title=title, x=x_left, y=top, width=wide, height=max(0.0, self.y(low) - top))

    def whisker(self, index: int, low: float, high: float, title: str) -> None:
        x = self.x(index)
        self.mark("line", "whisker", title=title, x1=x, y1=self.y(low), x2=x, y2=self.y(high))

    def dot(self, index: int, value: float, title: str, css: str = "dot", *, axis: Axis | None = None) -> None:
        self.mark("circle", css, title=title, cx=self.x(index), cy=self.y(value, axis), r=min(4, self.step / 3))

    def line(self, values: Sequence[float | None], css: str, *, axis: Axis | None = None) -> None:
        """Join the values of neighbouring bands; where one is missing the line is broken."""
        for run in _runs(values):
            points = " ".join(f"{number(self.x(index))},{number(self.y(value, axis))}" for index, value in run)
            self.mark("polyline", css, points=points)

    def level(self, value: float, css: str = "grid") -> None:
        y = self.y(value)
        self.mark("line", css, x1=self.left, y1=y, x2=self.end, y2=y)

    def _axis(self, axis: Axis, right: Axis | None) -> None:
        self.words(0, 13, axis.name, "name", "start")
        for tick in axis.ticks:
            self.level(tick, "axis" if tick == axis.base else "grid")
            self.words(self.left - 6, self.y(tick) + 4, axis.label(tick), anchor="end")
        if right:
            self.words(self.WIDTH, 13, right.name, "name", "end")
            for tick in right.ticks:
                self.words(self.end + 6, self.y(tick, right) + 4, right.label(tick), anchor="start")

    def _bands(self, x_name: str) -> None:
        longest = max(map(len, self.bands), default=0) + 1
        every = max(1, -int(-longest * LETTER // self.step))
        fewer = max(1, -int(-longest * WIDE_LETTER // self.step))
        fewer = -(-fewer // every) * every  # of those shown at all
        for index in range(0, len(self.bands), every):
            css = "tick minor" if index % fewer else "tick"
            self.words(self.x(index), self.foot + 18, self.bands[index], css)
        self.words((self.left + self.end) / 2, self.foot + 39, x_name, "name")

    def _legend(self, keys: Sequence[Key], positions: Sequence[tuple[float, float]]) -> None:
        for (css, words), (x, y) in zip(keys, positions, strict=True):
            if css:
                self.mark("rect", css, x=x, y=y - 10, width=12, height=12, rx=2)
            self.words(x + (18 if css else 0), y, words, "key", "start")


def number(value: float | str) -> str:
    """At most one decimal: a tenth of a unit is less than a pixel."""
    return value if isinstance(value, str) else f"{value:.1f}".removesuffix(".0").replace("-0", "0", value > -0.05)


def writable(text: str) -> str:
    """Replace what XML has no way to write, as a control character: one of them makes a whole file unreadable."""
    return UNWRITABLE.sub("\ufffd", text)


def document(title: str, charts: Sequence[tuple[str, Canvas]], style: str) -> bytes:
    """A file that stands alone: the charts one below the other, each under its heading, with a sheet of their own."""
    width = max(chart.width for _, chart in charts) + 2 * GAP
    height = sum(chart.height + 2 * GAP for _, chart in charts) + GAP
    size = {"width": number(width), "height": number(height), "viewBox": f"0 0 {number(width)} {number(height)}"}
    root = ET.Element("svg", {"xmlns": XMLNS, "class": "chart file", **size})
    ET.SubElement(root, "title").text = writable(title)
    ET.SubElement(root, "style").text = style
    ET.SubElement(root, "rect", {"class": "paper", "width": number(width), "height": number(height)})
    y = float(GAP)
    for heading, chart in charts:
        words = ET.SubElement(root, "text", {"class": "heading", "x": number(GAP), "y": number(y + 10)})
        words.text = writable(heading)
        group = ET.SubElement(root, "g", {"transform": f"translate({GAP} {number(y + GAP)})"})
        group.extend(chart.root)
        y += chart.height + 2 * GAP
    svg: bytes = ET.tostring(root, encoding="utf-8", xml_declaration=True)
    return svg


def _runs(values: Sequence[float | None]) -> Iterable[list[tuple[int, float]]]:
    for _, run in groupby(enumerate(values), key=lambda pair: pair[1] is None):
        if points := [(index, value) for index, value in run if value is not None]:
            yield points


def _room(axis: Axis) -> float:
    """Return the width of an axis's numbers."""
    return 12 + WIDE_LETTER * max(len(axis.label(tick)) for tick in axis.ticks)


def _legend_positions(name: str, keys: Sequence[Key], width: float) -> list[tuple[float, float]]:
    """Left end and foot of each entry: beside the name of the axis, and in a new row where the width is used up."""
    positions, x, y = [], BOLD_LETTER * len(name) + 20, 13.0
    for css, words in keys:
        wide = (18 if css else 0) + WIDE_LETTER * len(words) + 14
        if x + wide > width:
            x, y = 0.0, y + 22
        positions.append((x, y))
        x += wide
    return positions
