"""What was judged, as Tables 1 and 4 of TVR-Ranking and its section on the collection say it."""

from typing import Any

from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from annotation.models import Moment, Project, Query
from annotation.selectors.collection import span_figures
from judging.models import Batch, BatchReview, Pair


def judged_figures(project: Project, split: str, *, finished: QuerySet[Query]) -> dict[str, Any]:
    """Of a split's settled pairs, whatever batch they are of; pilot batches are left out.

    How many moments are relevant is known of ``finished`` queries alone. A query has one batch when it was closed after
    its first, two when it was given a second. Of historic pairs the moments are not known.
    """
    pairs = Pair.objects.filter(batch__project=project, batch__query__split=split, batch__is_pilot=False)
    settled = pairs.filter(state=Pair.State.SETTLED)
    counts = pairs.aggregate(
        settled=Count("pk", filter=Q(state=Pair.State.SETTLED)),
        dropped=Count("pk", filter=Q(state=Pair.State.DROPPED)),
        relevant=Count("pk", filter=Q(state=Pair.State.SETTLED, relevance__gte=1)),
        judged=Count("batch__query", filter=Q(state=Pair.State.SETTLED), distinct=True),
    )
    moments = Moment.objects.filter(pk__in=settled.values("candidate__moment"), video__corpus__is_placeholder=False)
    decided = counts["settled"] + counts["dropped"]
    consensus = 100 * counts["settled"] / decided if decided else None
    return {
        **span_figures(moments),
        **counts,
        "consensus": consensus,
        "relevant_per_query": _relevant_per_query(pairs.filter(batch__query__in=finished.values("pk"))),
        **_batches(project, split),
    }


def _relevant_per_query(pairs: QuerySet[Pair]) -> float | None:
    found = pairs.aggregate(
        queries=Count("batch__query", distinct=True),
        relevant=Count("pk", filter=Q(state=Pair.State.SETTLED, relevance__gte=1)),
    )
    return found["relevant"] / found["queries"] if found["queries"] else None


def _batches(project: Project, split: str) -> dict[str, Any]:
    second = Batch.objects.filter(query=OuterRef("query"), number=2)
    closed = BatchReview.objects.filter(batch=OuterRef("pk"), decision=BatchReview.Decision.CLOSE)
    firsts = Batch.objects.filter(project=project, query__split=split, number=1, is_pilot=False)
    found = firsts.annotate(has_second=Exists(second), is_closed=Exists(closed)).aggregate(
        one=Count("pk", filter=Q(has_second=False, is_closed=True)), two=Count("pk", filter=Q(has_second=True))
    )
    decided = found["one"] + found["two"]
    shares = {name: 100 * n / decided if decided else None for name, n in found.items()}
    return {"one_batch": found["one"], "two_batches": found["two"], **{f"{n}_share": s for n, s in shares.items()}}
