"""Charts as SVG, drawn by ourselves: colours are classes, which ``static/css/charts.css`` fills in. Pure."""

from judging.plots.axes import Axis
from judging.plots.canvas import Canvas, document
from judging.plots.heat import Cell, heat_map
from judging.plots.kinds import (
    Column,
    Ranked,
    Series,
    Spread,
    columns_chart,
    lines_chart,
    ranked_chart,
    shares_chart,
    spread_chart,
)

__all__ = [
    "Axis",
    "Canvas",
    "Cell",
    "Column",
    "Ranked",
    "Series",
    "Spread",
    "columns_chart",
    "document",
    "heat_map",
    "lines_chart",
    "ranked_chart",
    "shares_chart",
    "spread_chart",
]
