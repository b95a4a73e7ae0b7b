"""Write what was judged and pooled: the published arrays, pairs, qrels, candidates, batches, pools."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from django.db.models import Count, Q

from annotation.captions.selectors import captions_serving
from annotation.models import Candidate, Measure, PoolAnswer, PoolEntry, Pooling
from judging.models import Batch, BatchReview, Pair
from judging.releases.layout import (
    BATCHES,
    CANDIDATES,
    JUDGED_SPLITS,
    PAIRS,
    POOL_ANSWERS,
    POOL_ENTRIES,
    QRELS,
    CsvFile,
    JsonArrayFile,
    yes,
)
from judging.releases.selectors import Listed, Scope
from judging.studies.selectors import contributions

OPENED = (Pooling.State.OPENING, Pooling.State.DONE)
POOL_CHUNK = 5000


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
    pooled = Candidate.objects.filter(query__in=scope.among, pooling__isnull=False).values("pooling")
    rows = Pooling.objects.filter(Q(pk__in=answered) | Q(pk__in=pooled), state__in=OPENED)
    return list(rows.select_related("query_set").prefetch_related("sources").order_by("opened_at", "pk"))


def pairs_of_pools(scope: Scope) -> dict[int, int]:
    """Pairs that each pool pooled."""
    found = Candidate.objects.filter(query__in=scope.among, pooling__isnull=False, pair__isnull=False)
    return dict(found.order_by().values_list("pooling").annotate(n=Count("pk")))


def write_pools(scope: Scope, folder: Path, pools: PoolNumbers) -> None:
    with CsvFile(folder, POOL_ANSWERS) as file:
        file.add_all(_answers(scope, pools))
    with CsvFile(folder, POOL_ENTRIES) as file:
        file.add_all(_pool_entries(scope, pools))


def _answers(scope: Scope, pools: PoolNumbers) -> Iterator[Sequence[Any]]:
    rows = PoolAnswer.objects.filter(source__pooling__in=pools.poolings, query__in=scope.among)
    columns = ("source__name", "query__number", "spans", "unmatched", "without_preview", "drawn_from")
    ordered = rows.order_by("source__pooling__opened_at", "source__pooling", "source", "query__number")
    for pool, *facts in ordered.values_list("source__pooling", *columns).iterator(chunk_size=POOL_CHUNK):
        yield (pools.poolings[pool], *facts)


def _pool_entries(scope: Scope, pools: PoolNumbers) -> Iterator[Sequence[Any]]:
    rows = PoolEntry.objects.filter(answer__source__pooling__in=pools.poolings, answer__query__in=scope.among)
    columns = ("answer__source__name", "answer__query__number", "moment__video__name", "moment__start_s")
    ordered = rows.order_by(
        *("answer__source__pooling__opened_at", "answer__source__pooling", "answer__source"),
        *("answer__query__number", "rank", "moment"),
    )
    found = ordered.values_list("answer__source__pooling", *columns, "moment__end_s", "rank")
    for pool, *facts in found.iterator(chunk_size=POOL_CHUNK):
        yield (pools.poolings[pool], *facts)


NO_WORD = re.compile(r"[\s%]")  # percent-encoded, so that two names never become one
CHUNK = 200  # queries read at once
IMPORTED = "imported"  # how the moment of such a pair was found is not known
OnProgress = Callable[[int, int], None]  # done, total
FIELDS = (
    *("batch__query_id", "pk", "source_id", "state", "relevance", "reason", "batch__number"),
    *("candidate_id", "candidate__rank", "candidate__similarity", "candidate__source", "candidate__moment_id"),
    *("candidate__moment__video__name", "candidate__moment__start_s", "candidate__moment__end_s"),
    "candidate__moment__video__duration_s",
)


class JudgedPair(NamedTuple):
    query: int
    pk: int
    source_id: int | None
    state: str
    relevance: int | None
    reason: str
    batch: int
    candidate: int
    rank: int
    similarity: float | None
    source: str
    moment: int
    video: str
    start_s: float
    end_s: float
    duration_s: float

    @property
    def number(self) -> int:
        """In files: that of the imported file, else our own."""
        return self.pk if self.source_id is None else self.source_id

    @property
    def moment_name(self) -> str:
        """Video, start and end in seconds as one word: the document id of TREC files."""
        return f"{NO_WORD.sub(lambda found: quote(found[0]), self.video)}:{self.start_s!r}-{self.end_s!r}"


def write_judged(scope: Scope, folder: Path, pools: PoolNumbers, on_progress: OnProgress) -> int:
    """Write the files; the largest number of a pair is returned."""
    done, last = 0, 0
    with ExitStack() as stack:
        arrays = {split: stack.enter_context(JsonArrayFile(folder / name)) for split, name in JUDGED_SPLITS.items()}
        pairs_csv = stack.enter_context(CsvFile(folder, PAIRS))
        candidates_csv = stack.enter_context(CsvFile(folder, CANDIDATES))
        batches_csv = stack.enter_context(CsvFile(folder, BATCHES))
        qrels = stack.enter_context((folder / QRELS).open("w", encoding="utf-8", newline="\n"))
        for chunk in _chunks(scope.listed):
            held = _pairs({query.judged for query in chunk})
            for split, array in arrays.items():
                for entry in _entries(scope, [query for query in chunk if query.split == split], held):
                    array.add(entry)
            own = [query for query in chunk if query.is_own]
            pairs_csv.add_all(_pair_rows(own, held))
            qrels.writelines(_qrels(own, held))
            candidates_csv.add_all(_candidate_rows(own, pools))
            batches_csv.add_all(_batch_rows(own, pools))
            last = max([last, *(pair.number for query in own for pair in held[query.judged])])
            done += len(chunk)
            on_progress(done, len(scope.listed))
    return last


def _chunks(queries: Sequence[Listed]) -> Iterator[list[Listed]]:
    rest = iter(queries)
    while chunk := list(islice(rest, CHUNK)):
        yield chunk


def _pairs(judged: Collection[int]) -> dict[int, list[JudgedPair]]:
    """Pairs of each query, best rank first."""
    rows = Pair.objects.filter(batch__query__in=judged).order_by("batch__query", "candidate__rank")
    held: dict[int, list[JudgedPair]] = defaultdict(list)
    for row in rows.values_list(*FIELDS):
        held[row[0]].append(JudgedPair(*row))
    return held


def _entries(scope: Scope, queries: Iterable[Listed], held: dict[int, list[JudgedPair]]) -> Iterator[dict[str, object]]:
    """Queries with their settled moments; a twin shares the relevance of the query judged for it."""
    shown = [query for query in queries if not query.is_placeholder]
    captions = _captions(
        scope.project.dataset.corpus_id, {pair.moment for query in shown for pair in held[query.judged]}
    )
    for query in shown:
        settled = [pair for pair in held[query.judged] if pair.state == Pair.State.SETTLED]
        moments = [_moment_row(pair, captions) for pair in settled]
        yield {"query_id": query.number, "query": query.text, "relevant_moment": moments}


def _captions(corpus_id: int, moments: Collection[int]) -> dict[int, str]:
    """One caption of each moment: the first that serves."""
    rows = captions_serving(corpus_id).filter(moment__in=moments)
    return dict(rows.order_by("-id").values_list("moment", "text"))


def _moment_row(pair: JudgedPair, captions: dict[int, str]) -> dict[str, object]:
    return {
        "pair_id": pair.number,
        "video_name": pair.video,
        "timestamp": [pair.start_s, pair.end_s],
        "duration": pair.duration_s,
        "caption": captions.get(pair.moment),
        "similarity": pair.similarity,
        "relevance": pair.relevance,
    }


def _pair_rows(queries: Sequence[Listed], held: dict[int, list[JudgedPair]]) -> Iterator[Sequence[object]]:
    returned = contributions(pair.candidate for query in queries for pair in held[query.judged])
    for query in queries:
        for pair in held[query.judged]:
            by = sorted(returned.get(pair.candidate, []), key=lambda source: (source[1], source[0]))
            moment = ("", "", "") if query.is_placeholder else (pair.video, pair.start_s, pair.end_s)
            yield (
                *(pair.number, query.number, query.text, *moment, pair.rank, pair.similarity, pair.batch),
                *(pair.state, pair.relevance, pair.reason, IMPORTED if query.is_placeholder else pair.source),
                "; ".join(f"{name}: {rank}" for name, rank in by),
            )


def _qrels(queries: Iterable[Listed], held: dict[int, list[JudgedPair]]) -> Iterator[str]:
    """TREC lines: query, 0, moment, relevance."""
    for query in queries:
        for pair in [] if query.is_placeholder else held[query.judged]:
            if pair.state == Pair.State.SETTLED:
                yield f"{query.number} 0 {pair.moment_name} {pair.relevance}\n"


def _candidate_rows(queries: Sequence[Listed], pools: PoolNumbers) -> Iterator[Sequence[Any]]:
    numbers = {query.judged: query.number for query in queries if not query.is_placeholder}
    rows = Candidate.objects.filter(query__in=numbers).order_by("query__number", "rank")
    found = rows.values_list(
        *("query", "rank", "moment__video__name", "moment__start_s", "moment__end_s"),
        *("similarity", "measure", "source", "pooling"),
    )
    for query, *facts, measure, source, pool in found:
        yield (numbers[query], *facts, pools.measures.get(measure), source, pools.poolings.get(pool))


def _batch_rows(queries: Sequence[Listed], pools: PoolNumbers) -> Iterator[Sequence[Any]]:
    numbers = {query.judged: query.number for query in queries}
    reviews = {
        row["batch"]: row
        for row in BatchReview.objects.filter(batch__query__in=numbers).values(
            "batch", "decision", "suggestion", "decided_by"
        )
    }
    rows = Batch.objects.filter(query__in=numbers).order_by("query__number", "number")
    for pk, query, number, rounds, pool, pilot in rows.values_list(
        "pk", "query", "number", "round", "pooling", "is_pilot"
    ):
        review = reviews.get(pk)
        decided: tuple[object, ...] = ("", "", "")
        if review:
            decided = (review["decision"], review["suggestion"], "lead" if review["decided_by"] else "rule")
        yield (numbers[query], number, rounds, pools.poolings.get(pool), yes(pilot), *decided)
