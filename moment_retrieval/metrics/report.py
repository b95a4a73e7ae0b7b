"""NDCG@K,IoU>=mu of whole runs, per query and as means, and remarks on what is odd about a run that has a score."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from moment_retrieval.errors import EmptyFile, InvalidCutoff, UnknownVideo
from moment_retrieval.jsonfiles import shown
from moment_retrieval.metrics.matching import covered
from moment_retrieval.metrics.ndcg_iou import Convention, Empty, Gain, Measure, check_measures, query_scores
from moment_retrieval.metrics.scores import Scores, check_queries, missing_queries, numbers_of
from moment_retrieval.records import JudgedMoment, Span
from moment_retrieval.tables import Flags, JudgedTable, MomentTable, RunTable

KS = (10, 20, 40)
MUS = (0.3, 0.5, 0.7)
Retrieved: TypeAlias = Mapping[str, Sequence[Span] | NDArray[Any]]
Judged: TypeAlias = Mapping[str, Sequence[JudgedMoment] | NDArray[Any]]


@dataclass(frozen=True, kw_only=True)
class Report(Scores):
    """The scores of one run, in [0, 1].

    The means are over ``query_ids``: those of the ground truth with PAPER (missing ones have 0), those of the run with
    RELEASED. A query answered with an empty list is not missing.

    ``measures`` are the cutoffs and thresholds, k by k.
    """

    convention: Convention
    gain: Gain
    empty: Empty = Empty.ZERO
    condensed: bool = False


def evaluate(
    runs: Retrieved,
    judged: Judged,
    *,
    ks: Sequence[int] = KS,
    mus: Sequence[float] = MUS,
    convention: Convention = Convention.PAPER,
    gain: Gain = Gain.EXPONENTIAL,
    empty: Empty = Empty.ZERO,
    condensed: bool = False,
) -> Report:
    """Score a run against judged moments.

    Both are tables (``RunTable.from_arrays`` takes arrays of a whole batch), or mappings from query id to records, best
    first, or to arrays: [N, 3] of video number, start and end for a run, [N, 4] with the relevance for judged moments.

    Args:
        judged: judged moments; a query without a relevant one counts as ``empty`` says where the run answers it with an
            empty list or not at all, and 0 where it answers.
        ks: cutoffs, each 1 or more.
        mus: IoU thresholds, each in (0, 1].
        convention: also says over which queries the mean is taken.
        condensed: leave out, for each threshold, predictions that reach it with no judged moment, and let those below
            move up: an estimate where judgments are incomplete (Sakai, Alternatives to Bpref, SIGIR 2007). A query
            whose list is emptied by it was answered.

    Raises:
        UnknownQuery: the run answers a query that is not judged (a run of another split would otherwise score 0).
        EmptyFile: there is no query to take a mean over.
        InvalidCutoff: a cutoff or threshold is out of range, or there is none.
        InvalidRecord: a time or relevance is out of range.
    """
    measures = tuple(Measure(k, mu) for k in dict.fromkeys(ks) for mu in dict.fromkeys(mus))
    if not measures:
        raise InvalidCutoff("no cutoff k or no IoU threshold mu is given")
    check_measures(measures)
    retrieved, truth = RunTable.from_moments(runs), JudgedTable.from_moments(judged)
    check_queries(retrieved, truth)
    averaged = truth.query_ids if convention is Convention.PAPER else retrieved.query_ids
    if not averaged:
        raise EmptyFile("no queries to score")
    numbers = np.stack([numbers_of(averaged, retrieved), numbers_of(averaged, truth)], axis=1)
    values = np.empty((len(averaged), len(measures)))
    for mu in dict.fromkeys(measure.mu for measure in measures) if condensed else (None,):
        which = [number for number, measure in enumerate(measures) if mu in (None, measure.mu)]
        some = [measures[number] for number in which]
        lists = retrieved if mu is None else condensed_run(retrieved, truth, mu, convention)
        values[:, which] = query_scores(lists, truth, numbers, some, convention=convention, gain=gain, empty=empty)
    if condensed and empty is Empty.ONE:  # lists that were emptied are no empty answers
        answered = np.append(np.diff(retrieved.offsets) > 0, False)[numbers[:, 0]]
        relevant = np.bincount(truth.query, weights=truth.weights > 0, minlength=len(truth))[numbers[:, 1]]
        values[answered & (relevant == 0)] = 0.0
    return Report(
        measures=measures,
        query_ids=averaged,
        values=values,
        missing=missing_queries(retrieved, truth),
        convention=convention,
        gain=gain,
        empty=empty,
        condensed=condensed,
    )


def condensed_run(run: RunTable, judged: JudgedTable, mu: float, convention: Convention) -> RunTable:
    """Return the run without predictions that reach ``mu`` with no judged moment of their query."""
    queries = np.stack([numbers_of(judged.query_ids, run), np.arange(len(judged))], axis=1)
    depth = int(np.diff(run.offsets).max(initial=1))
    return run.taken(covered(run, judged, queries, [convention.least(mu)], depth=depth)[0])


Durations: TypeAlias = Mapping[str, float]  # video name to seconds
ROUNDING_S = 0.01  # a time this far outside its video was rounded


def all_warnings(
    run: RunTable,
    judged: JudgedTable,
    *,
    depth: int | None = None,
    durations_s: Durations | None = None,
    has_times: bool = True,
) -> tuple[str, ...]:
    """One sentence for each oddity, with where it is first seen.

    Args:
        depth: the largest cutoff; predictions beyond it do not count.
        durations_s: how long the videos are, where that is known.
        has_times: False where predictions are of whole videos, as those of TVR's task VR: start and end of all are 0.
    """
    return (*video_warnings(run, judged), *run_warnings(run, depth, durations_s, has_times), *truth_warnings(judged))


def video_warnings(run: RunTable, judged: JudgedTable) -> Iterator[str]:
    """Whether the run names other videos; it says which videos hold judged moments, so it is not for hidden labels."""
    if len(run.spans.names) and not set(run.spans.names) & set(judged.spans.names):
        yield "none of the run's videos is in the ground truth: are they called alike?"


def check_videos(run: RunTable, judged: JudgedTable) -> None:
    """Raise UnknownVideo where no prediction is of a video with judged moments; the message says where the first is."""
    if next(video_warnings(run, judged), None):
        name = shown(run.spans.names[int(run.spans.video[0])])
        everywhere = np.ones(len(run.spans.video), np.bool_)
        sentence = f"predictions of videos that the ground truth does not have, {name} first; are they called alike?"
        raise UnknownVideo(next(notes_of(run, everywhere, sentence)))


def run_warnings(
    run: RunTable, depth: int | None, durations_s: Durations | None = None, has_times: bool = True
) -> Iterator[str]:
    """Those on the run alone; they tell nothing of what was judged."""
    length = run.spans.end_s - run.spans.start_s
    yield from notes_of(run, repeated(run), "repeated predictions, which find their moment claimed")
    if has_times:
        yield from notes_of(run, length == 0, "predictions without length, which overlap nothing")
    yield from notes_of(run, length < 0, "predictions that end before they start, which overlap nothing")
    yield from outside(run, durations_s or {})
    if durations_s:
        unknown = np.array([name not in durations_s for name in run.spans.names], np.bool_)
        yield from notes_of(run, unknown[run.spans.video], "predictions of videos that the corpus does not have")
    if depth is not None:
        beyond = run.order == depth
        yield from notes_of(run, beyond, f"queries with more than {depth} predictions, of which the rest do not count")


def outside(run: RunTable, durations_s: Durations) -> Iterator[str]:
    """Predictions that leave their video; they are scored with the times that they have."""
    lengths = np.array([durations_s.get(name, np.inf) for name in run.spans.names], np.float64)
    length = lengths[run.spans.video] if len(lengths) else np.zeros(0)
    for late, words in (
        (-np.minimum(run.spans.start_s, run.spans.end_s), "begin before their video does"),
        (np.maximum(run.spans.start_s, run.spans.end_s) - length, "end after their video"),
    ):
        if (late > ROUNDING_S).any():
            yield from notes_of(run, late > ROUNDING_S, f"predictions that {words}, by up to {late.max():.1f} s")


def truth_warnings(judged: JudgedTable) -> Iterator[str]:
    """Those on the judged moments."""
    yield from notes_of(
        judged, judged.spans.end_s == judged.spans.start_s, "judged moments without length, which nothing finds"
    )
    relevant = np.bincount(judged.query, weights=judged.weights > 0, minlength=len(judged))
    without = np.flatnonzero(relevant == 0)
    if len(without):
        first = judged.query_ids[without[0]]
        yield f"queries without a relevant moment, where nothing can be found: {len(without)}, first {first}"


def notes_of(table: MomentTable[Any], odd: Flags, sentence: str) -> Iterator[str]:
    """How many rows are odd, and which is the first."""
    rows = np.flatnonzero(odd)
    if len(rows):
        query = int(table.query[rows[0]])
        line = f"in line {table.lines[query]}, " if table.lines else ""
        position = f"{table.row_name} {int(table.order[rows[0]]) + 1}"
        yield f"{sentence}: {len(rows)}, first {line}query {table.query_ids[query]}, {position}"


def repeated(run: RunTable) -> Flags:
    """Which rows were there before in their query."""
    columns = (run.query, run.spans.video, run.spans.start_s, run.spans.end_s)
    order = np.lexsort(columns[::-1])  # stable: the first of equals stays first
    same = np.ones(max(0, len(order) - 1), np.bool_)
    for column in columns:
        same &= column[order][1:] == column[order][:-1]
    odd = np.zeros(len(order), np.bool_)
    odd[order[1:][same]] = True
    return odd
