"""What was pooled, and the numbers that pools and similarities have in a release's files."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.db.models import Count, Q

from annotation.models import Candidate, Measure, PoolAnswer, PoolEntry, Pooling
from judging.releases.forms import POOL_ANSWERS, POOL_ENTRIES, CsvFile
from judging.releases.scope import Scope

OPENED = (Pooling.State.OPENING, Pooling.State.DONE)
CHUNK = 5000


@dataclass(frozen=True)
class PoolNumbers:
    """Keys of similarities and of opened pools to their numbers in files, from 1."""

    measures: dict[int, int]
    poolings: dict[int, int]


def numbers_of(scope: Scope) -> PoolNumbers:
    return PoolNumbers(
        {row.pk: number for number, row in enumerate(measures_used(scope), start=1)},
        {row.pk: number for number, row in enumerate(pools_used(scope), start=1)},
    )


def measures_used(scope: Scope) -> list[Measure]:
    """How the similarities of the candidates of these queries were computed, by name."""
    used = Candidate.objects.filter(query__in=scope.among, measure__isnull=False).order_by()
    rows = Measure.objects.filter(pk__in=used.values("measure").distinct())
    return sorted(rows, key=lambda row: (row.name, row.model, row.version, row.normalisation))


def pools_used(scope: Scope) -> list[Pooling]:
    """Opened pools that answered these queries, in the order they were opened."""
    answered = PoolAnswer.objects.filter(query__in=scope.among).values("source__pooling")
    brought = Candidate.objects.filter(query__in=scope.among, pooling__isnull=False).values("pooling")
    rows = Pooling.objects.filter(Q(pk__in=answered) | Q(pk__in=brought), state__in=OPENED)
    return list(rows.select_related("query_set").prefetch_related("sources").order_by("opened_at", "pk"))


def pairs_of_pools(scope: Scope) -> dict[int, int]:
    """Pairs that each pool brought."""
    found = Candidate.objects.filter(query__in=scope.among, pooling__isnull=False, pair__isnull=False)
    return dict(found.order_by().values_list("pooling").annotate(n=Count("pk")))


def write_pools(scope: Scope, folder: Path, pools: PoolNumbers) -> None:
    with CsvFile(folder, POOL_ANSWERS) as file:
        file.add_all(_answers(scope, pools))
    with CsvFile(folder, POOL_ENTRIES) as file:
        file.add_all(_entries(scope, pools))


def _answers(scope: Scope, pools: PoolNumbers) -> Iterator[Sequence[Any]]:
    rows = PoolAnswer.objects.filter(source__pooling__in=pools.poolings, query__in=scope.among)
    columns = ("source__name", "query__number", "spans", "unmatched", "without_preview", "drawn_from")
    ordered = rows.order_by("source__pooling__opened_at", "source__pooling", "source", "query__number")
    for pool, *facts in ordered.values_list("source__pooling", *columns).iterator(chunk_size=CHUNK):
        yield (pools.poolings[pool], *facts)


def _entries(scope: Scope, pools: PoolNumbers) -> Iterator[Sequence[Any]]:
    rows = PoolEntry.objects.filter(answer__source__pooling__in=pools.poolings, answer__query__in=scope.among)
    columns = ("answer__source__name", "answer__query__number", "moment__video__name", "moment__start_s")
    ordered = rows.order_by(
        *("answer__source__pooling__opened_at", "answer__source__pooling", "answer__source"),
        *("answer__query__number", "rank", "moment"),
    )
    found = ordered.values_list("answer__source__pooling", *columns, "moment__end_s", "rank")
    for pool, *facts in found.iterator(chunk_size=CHUNK):
        yield (pools.poolings[pool], *facts)
