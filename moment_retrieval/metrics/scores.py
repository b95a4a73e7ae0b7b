"""Result of every metric: a value for each query and measure, and their means."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import repeat
from typing import Any

import numpy as np

from moment_retrieval.errors import EmptyFile, UnknownQuery
from moment_retrieval.tables import Floats, Ints, MomentTable


@dataclass(frozen=True, kw_only=True)
class Scores:
    measures: tuple[Any, ...]  # what was measured; ``str`` of one is its name
    query_ids: tuple[str, ...]  # the queries that enter the means
    values: Floats  # [queries, measures]; NaN where a query has no part in a measure
    missing: tuple[str, ...] = ()  # queries of the ground truth that the run does not answer
    # [queries] the type of each query (TVR: v, t, vt); empty where they have none
    kinds: tuple[str, ...] = field(default=(), repr=False)
    facts: Mapping[str, str] = field(default_factory=dict)  # how the scores were computed, for people

    @cached_property
    def per_query(self) -> dict[str, dict[Any, float]]:
        """Query id -> measure -> value."""
        rows = (dict(zip(self.measures, row, strict=True)) for row in self.values.tolist())
        return dict(zip(self.query_ids, rows, strict=True))

    @cached_property
    def mean(self) -> dict[Any, float]:
        """Measure -> mean, over the queries that have a part in it, in their order."""
        return means(self.measures, self.values)

    @cached_property
    def by_kind(self) -> dict[str, dict[Any, float]]:
        """Type of query -> measure -> mean over the queries of that type."""
        kinds = np.array(self.kinds)
        return {kind: means(self.measures, self.values[kinds == kind]) for kind in dict.fromkeys(self.kinds)}


def means(measures: Sequence[Hashable], values: Floats) -> dict[Any, float]:
    """The mean of each column, NaN left out; NaN where nothing is left."""
    result = {}
    for measure, column in zip(measures, np.ascontiguousarray(values.T), strict=True):
        numbers = column[~np.isnan(column)]
        result[measure] = float(numbers.mean()) if len(numbers) else float("nan")
    return result


def check_queries(runs: MomentTable[Any], judged: MomentTable[Any]) -> None:
    """Refuse a run that cannot be scored.

    Raises:
        UnknownQuery: it answers queries that are not judged; the message names three, and the line of the first.
        EmptyFile: there is nothing to score.
    """
    unknown = [query_id for query_id in runs.query_ids if query_id not in judged.row_of]
    if unknown:
        some = ", ".join(unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        line = f"line {runs.lines[runs.row_of[unknown[0]]]}: " if runs.lines else ""
        raise UnknownQuery(f"{line}{len(unknown)} of the run's {len(runs)} queries are not in the ground truth: {some}")
    if not judged.query_ids:
        raise EmptyFile("no queries to score")


def missing_queries(runs: MomentTable[Any], judged: MomentTable[Any]) -> tuple[str, ...]:
    """The judged queries that the run does not answer."""
    return tuple(query_id for query_id in judged.query_ids if query_id not in runs.row_of)


def numbers_of(query_ids: Sequence[str], table: MomentTable[Any]) -> Ints:
    """The number of each query in the table, -1 where it has none."""
    return np.fromiter(map(table.row_of.get, query_ids, repeat(-1)), np.int64, len(query_ids))
