"""Figures of a collection while it runs, of all its rounds or of one; each is a chart, an SVG and a CSV.

Source: TVR (Lei et al., ECCV 2020), section 3 and figures 2, 13 and 15, of what is written so far.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

from accounts.models import Project
from annotation.statistics.analyses import Text, length_counts, span_analyses, text_analyses
from annotation.statistics.rules import WORD
from core.charts.canvas import Axis, Plot
from core.charts.kinds import Column as Bar
from core.charts.kinds import columns_chart, parts_chart
from core.sql import sql_rows
from judging.collection.rules import SHARES, TYPE_LABELS, TYPES
from judging.collection.selectors import GONE
from judging.figures.charts import COUNT, SHARE, UNIT_NAMES, Chart, Column, DrawnFigure, Value, band_of
from judging.figures.corpus_charts import lengths_figure, variety_figure
from judging.figures.rules import Unit, periods_of
from judging.guidelines.selectors import policy_in_force
from judging.models import Policy, WritingRound, WrittenQuery
from judging.pay.rules import MS_PER_HOUR
from judging.people.selectors import actor_names

State = WrittenQuery.State
MOST_WRITERS = 30  # of a chart; the table and the CSV have all
MOST_TEXTS = 20_000  # that are compared, so that the page stays quick
QUERIES = """
FROM judging_writtenquery query JOIN judging_writingclip clip ON clip.id = query.clip_id
JOIN judging_writinground round ON round.id = clip.round_id AND round.project_id = %(project)s
WHERE (%(round)s::bigint IS NULL OR round.id = %(round)s)"""
COUNTS = f"""
SELECT clip.round_id, query.writer_id, (query.created_at AT TIME ZONE %(zone)s)::date, query.type, query.state,
    count(*), count(query.active_ms),
    coalesce(sum(CASE WHEN query.active_ms IS NOT NULL THEN least(query.active_ms, %(cap_ms)s) END), 0)::bigint
{QUERIES} GROUP BY 1, 2, 3, 4, 5 ORDER BY 3, 2"""  # nosec B608 - constants
TEXTS = f"""
SELECT query.start_s, query.end_s, video.duration_s, query.text
{QUERIES.replace("WHERE", "JOIN annotation_video video ON video.id = clip.video_id WHERE")}
    AND query.state IN ('waiting', 'accepted') ORDER BY query.id"""  # nosec B608 - constants


class Written(NamedTuple):
    """Queries of one round, writer, day, type and state; ``ms`` is the active time of the ``timed`` ones of them."""

    round_id: int
    writer_id: int
    day: date
    type: str
    state: str
    queries: int
    timed: int
    ms: int

    @property
    def is_in_force(self) -> bool:
        """Whether it waits or is accepted."""
        return self.state in (State.WAITING, State.ACCEPTED)


class Checked(NamedTuple):
    """Queries by what checkers say about them; those that wait are open."""

    accepted: int
    rejected: int
    waiting: int

    @property
    def total(self) -> int:
        return sum(self)


CHECKED = (("series-3", "accepted"), ("series-2", "rejected"), ("other", "open"))
SHARE_AXIS = Axis("share of queries", 0, 100, 25, " %")


def checked_of(rows: Iterable[Written]) -> Checked:
    """Count queries by what became of them."""
    counts: Counter[str] = Counter()
    for row in rows:
        counts[row.state] += row.queries
    return Checked(counts[State.ACCEPTED], counts[State.SENT_BACK] + counts[State.REJECTED], counts[State.WAITING])


@dataclass(frozen=True)
class Collection:
    """Reads what is written in a project, or in one round of it, each table once at most.

    Args:
        to_lead: whether writers are called by their names.
    """

    project: Project
    round: WritingRound | None = None
    to_lead: bool = False

    @cached_property
    def policy(self) -> Policy:
        return policy_in_force(self.project.pk)

    @cached_property
    def counts(self) -> list[Written]:
        values = {"zone": self.policy.time_zone, "cap_ms": 1000 * self.policy.writing_cap_s}
        return [Written(*row) for row in self._rows(COUNTS, **values)]

    @cached_property
    def moments(self) -> list[tuple[float, float, float, str]]:
        """Return start, end, the length of the video in seconds and the text of each query in force, oldest first."""
        return self._rows(TEXTS)

    @cached_property
    def names(self) -> dict[int, str]:
        return actor_names(self.project, to_lead=self.to_lead)

    @cached_property
    def rounds(self) -> dict[int, WritingRound]:
        return self.project.writing_rounds.in_bulk()

    @property
    def in_words(self) -> str:
        """Name what is drawn, for titles of files."""
        return f"{self.project}, {self.round}" if self.round else str(self.project)

    def by_writer(self) -> list[tuple[str, list[Written]]]:
        """Return each writer's name and rows, whoever wrote most first."""
        rows: dict[int, list[Written]] = {}
        for row in self.counts:
            rows.setdefault(row.writer_id, []).append(row)
        order = sorted(rows, key=lambda writer: (-sum(row.queries for row in rows[writer]), writer))
        return [(self.names.get(writer, GONE), rows[writer]) for writer in order]

    def _rows(self, statement: str, **values: Any) -> list[Any]:
        return sql_rows(statement, {"project": self.project.pk, "round": self.round and self.round.pk, **values})


def types(collection: Collection) -> DrawnFigure:
    """Draw how many queries there are of each type, beside the shares that their rounds ask for."""
    columns = [
        *(Column("type", "Type"), Column("queries", "Queries", COUNT), Column("share", "Share", SHARE)),
        *(Column("share_asked_for", "To be", SHARE), Column("share_tvr", "In TVR", SHARE)),
    ]
    rows = [row for row in collection.counts if row.is_in_force]
    if not rows:
        return DrawnFigure([], columns, [])
    of_types, of_rounds = Counter[str](), Counter[int]()
    for row in rows:
        of_types[row.type] += row.queries
        of_rounds[row.round_id] += row.queries
    n = of_types.total()
    targets = {type_: _target(type_, of_rounds, collection.rounds) / n for type_ in TYPES}
    heading, numbers = "Types of queries", list[list[Value]]()
    labels = [TYPE_LABELS[type_] for type_ in TYPES]
    plot = Plot(heading, labels, SHARE_AXIS, x_name="the line is the share to reach")
    for index, type_ in enumerate(TYPES):
        share, target = of_types[type_] / n, targets[type_]
        words = f"{of_types[type_]:,} queries, {100 * share:.1f} %"
        plot.bar(index, 0, 100 * share, "bar", f"{labels[index]}: {words}")
        line = f"{labels[index]}: to be {100 * target:.1f} %"
        plot.bar(index, 100 * target - 0.5, 100 * target + 0.5, "series-2", line)
        plot.words(plot.x(index), plot.y(100 * max(share, target)) - 8, f"{of_types[type_]:,}", "value")
        numbers.append([labels[index], of_types[type_], share, target, SHARES[type_] / 100])
    return DrawnFigure([Chart(heading, plot)], columns, numbers, facts=f"{n:,} queries that wait or are accepted.")


def _target(type_: str, of_rounds: Counter[int], rounds: dict[int, WritingRound]) -> float:
    """Return how many queries of a type there were if each round had just its shares."""
    return sum(
        n * rounds[round_id].shares[type_] / sum(rounds[round_id].shares.values()) for round_id, n in of_rounds.items()
    )


def lengths(collection: Collection) -> DrawnFigure:
    """Draw lengths and centres of moments, and how many words queries have."""
    if not (moments := collection.moments):
        return lengths_figure({}, texts="queries")
    words = length_counts(WORD.findall(text) for *_, text in moments)
    analyses = {"texts": len(moments), "words": words, **span_analyses(row[:3] for row in moments)}
    return lengths_figure(analyses, texts="queries")


def variety(collection: Collection) -> DrawnFigure:
    """Draw how varied the newest queries are."""
    texts = [Text(text, text.lower()) for *_, text in collection.moments[-MOST_TEXTS:]]
    is_part = len(collection.moments) > MOST_TEXTS
    notes = [f"Of the newest {MOST_TEXTS:,} of {len(collection.moments):,} queries."] if is_part else []
    return variety_figure(text_analyses(texts, tagged=False) if texts else {}, texts="queries", notes=notes)


def checks(collection: Collection) -> DrawnFigure:
    """Draw which share of the queries is accepted, rejected or open: by writer, and by when they were written."""
    columns = [
        *(Column("writer", "Writer"), Column("day", "Written on"), Column("queries", "Queries", COUNT)),
        *(Column(name, name.capitalize(), COUNT) for _, name in CHECKED),
        Column("share_accepted", "Accepted of those checked", SHARE),
    ]
    if not collection.counts:
        return DrawnFigure([], columns, [])
    writers = [(name, checked_of(rows)) for name, rows in collection.by_writer()]
    unit, by_start = _periods(collection.counts)
    periods = [(band_of(start, unit), checked_of(rows)) for start, rows in by_start.items()]
    total = checked_of(collection.counts)
    decided = total.accepted + total.rejected
    facts = f"{total.total:,} queries, {total.waiting:,} of them open; " + (
        f"{100 * total.accepted / decided:.1f} % of the checked ones are accepted." if decided else "none is checked."
    )
    charts = [
        _checked_chart("By writer", writers[:MOST_WRITERS], x_name="writer"),
        _checked_chart("By when they were written", periods, x_name=UNIT_NAMES[unit]),
    ]
    numbers: list[list[Value]] = [
        [name, day.isoformat(), checked.total, *checked, _share_accepted(checked)]
        for name, day, rows in _days(collection)
        for checked in [checked_of(rows)]
    ]
    return DrawnFigure(charts, columns, numbers, facts=facts, notes=_notes(writers))


def _checked_chart(heading: str, bands: Sequence[tuple[str, Checked]], *, x_name: str) -> Chart:
    labels, counts = [label for label, _ in bands], [checked for _, checked in bands]
    return Chart(heading, parts_chart(f"Checks, {heading.lower()}", labels, counts, CHECKED, SHARE_AXIS, x_name=x_name))


def _share_accepted(checked: Checked) -> float | None:
    decided = checked.accepted + checked.rejected
    return checked.accepted / decided if decided else None


class Pace(NamedTuple):
    """How many queries were written in how much active time."""

    queries: int
    timed: int
    ms: int

    @property
    def hours(self) -> float:
        return self.ms / MS_PER_HOUR

    @property
    def per_hour(self) -> float | None:
        """Queries an hour, of those whose time is known; None where no time is."""
        return self.timed / self.hours if self.ms else None


def pace_of(rows: Iterable[Written]) -> Pace:
    """Add up queries and their time."""
    rows = list(rows)
    return Pace(*(sum(getattr(row, name) for row in rows) for name in Pace._fields))


def pace(collection: Collection) -> DrawnFigure:
    """Draw how many queries an hour each writer writes, and all of them together over time."""
    columns = [
        *(Column("writer", "Writer"), Column("day", "Day"), Column("queries", "Queries", COUNT)),
        *(Column("hours", "Hours", ",.2f"), Column("queries_per_hour", "Queries an hour", ",.1f")),
    ]
    writers = [(name, pace_of(rows)) for name, rows in collection.by_writer()]
    total = pace_of(collection.counts)
    if total.per_hour is None:
        return DrawnFigure([], columns, [])
    unit, by_start = _periods(collection.counts)
    periods = [(band_of(start, unit), pace_of(rows)) for start, rows in by_start.items()]
    charts = [
        _pace_chart("By writer", writers[:MOST_WRITERS], x_name="writer"),
        _pace_chart("All writers, over time", periods, x_name=UNIT_NAMES[unit]),
    ]
    numbers: list[list[Value]] = [
        [name, day.isoformat(), one.queries, one.hours, one.per_hour]
        for name, day, rows in _days(collection)
        for one in [pace_of(rows)]
    ]
    facts = f"{total.timed:,} queries in {total.hours:,.1f} hours: {total.per_hour:.1f} an hour."
    notes = [f"Of one query {collection.policy.writing_cap_s} s count at the most, as the policy says."]
    if untimed := total.queries - total.timed:
        notes.append(f"Nobody measured the time of {untimed:,} queries; they are left out.")
    return DrawnFigure(charts, columns, numbers, facts=facts, notes=[*notes, *_notes(writers)])


def _pace_chart(heading: str, bands: Sequence[tuple[str, Pace]], *, x_name: str) -> Chart:
    bars = [
        Bar(label, one.per_hour, (f"{one.per_hour:.1f}", f"{one.timed:,} in {one.hours:.1f} h"))
        if one.per_hour is not None
        else Bar(label, None, ())
        for label, one in bands
    ]
    axis = Axis.over("queries an hour", 0, max((bar.value or 0 for bar in bars), default=1))
    return Chart(heading, columns_chart(f"Queries an hour, {heading.lower()}", bars, axis, x_name=x_name))


def _periods(rows: Sequence[Written]) -> tuple[Unit, dict[date, list[Written]]]:
    """Group rows, at least one, by the periods they are drawn in; no period is left out."""
    unit, starts = periods_of({row.day for row in rows})
    by_start: dict[date, list[Written]] = {start: [] for start in starts}
    for row in rows:
        by_start[unit.first_of(row.day)].append(row)
    return unit, by_start


def _days(collection: Collection) -> Iterable[tuple[str, date, list[Written]]]:
    """Yield each writer's name with each of their days and its rows."""
    for name, rows in collection.by_writer():
        for day, of_day in groupby(rows, key=lambda row: row.day):
            yield name, day, list(of_day)


def _notes(writers: Sequence[object]) -> list[str]:
    n = len(writers)
    return [f"The chart has {MOST_WRITERS} of {n} writers; the numbers have all."] if n > MOST_WRITERS else []


class Figure(NamedTuple):
    """A figure: its name in addresses, its words, and how it is drawn."""

    name: str
    title: str
    about: str
    draw: Callable[[Collection], DrawnFigure]


FIGURES = (
    Figure(
        "types", "Types of queries", "What the queries are about, beside the shares that the rounds ask for.", types
    ),
    Figure(
        "checks",
        "Checks",
        "Which share of the queries is accepted or rejected, and which is to be checked.",
        checks,
    ),
    Figure("pace", "Queries an hour", "How many queries are written in an hour of active time.", pace),
    Figure(
        "lengths",
        "Lengths and centres",
        "How long moments are, where in the video their centres lie, and how many words a query has. "
        "Of queries that wait or are accepted, as the writers marked them; as figures 2 and 13 of TVR.",
        lengths,
    ),
    Figure(
        "variety",
        "Variety",
        "How many different runs of four words the queries hold, and how much the most frequent texts make up. "
        "As figures 13 and 15 of TVR.",
        variety,
    ),
)
BY_NAME = {figure.name: figure for figure in FIGURES}
