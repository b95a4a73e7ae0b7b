"""What a release counts.

What people write, as part of a Markdown file: a viewer that runs HTML must find none of theirs. Pure.
"""

import re
from typing import Any

from django.conf import settings
from django.db.models import Count, Max

from annotation.models import Moment, Pooling, Video
from judging.models import BatchReview, Pair, Release
from judging.projects.selectors.queries import released_edits
from judging.releases.judged import measures_used, pairs_of_pools, pools_used
from judging.releases.judgments import facts_of
from judging.releases.scope import Scope
from judging.releases.train import described_in_train


def counts_of(scope: Scope) -> dict[str, Any]:
    """Counts that are the same in every release of the same state; others are told in the manifest only."""
    pairs = Pair.objects.filter(batch__query__in=scope.among).order_by()
    by_state = dict(pairs.order_by("state").values_list("state").annotate(n=Count("pk")))
    relevance = pairs.filter(state=Pair.State.SETTLED).order_by("relevance").values_list("relevance")
    given = facts_of(scope.keys)
    moments = Moment.objects.filter(video__corpus=scope.project.dataset.corpus_id, video__corpus__is_placeholder=False)
    unfinished = [query for query in scope.missing if query.state != "pilot"]
    return {
        "queries": len(scope.own),
        "twins": len(scope.listed) - len(scope.own),
        "queries_unfinished": len(unfinished),
        "queries_pilot": len(scope.missing) - len(unfinished),
        "missing": scope.missing_by_state,
        "pairs": by_state,
        "relevance": {str(value): n for value, n in relevance.annotate(n=Count("pk"))},
        **{name: given[name] for name in ("judgments", "simulated_judgments", "annotators")},
        "videos": Video.objects.filter(corpus=scope.project.dataset.corpus_id, corpus__is_placeholder=False).count(),
        "moments": moments.count(),
    }


def manifest_facts(release: Release, scope: Scope, counts: dict[str, Any]) -> dict[str, Any]:
    """What the release is. Its number and the time of its making are in its row alone: one state is one archive."""
    captions_edited, query_captions_edited = released_edits(scope.project, scope.keys)
    edits = {"captions_edited": captions_edited, "query_captions_edited": query_captions_edited}
    given = facts_of(scope.keys)
    return {
        "project": scope.project.name,
        "as_of": _last_day(scope, given["judged_to"]),
        "judged_from": given["judged_from"],
        "judged_to": given["judged_to"],
        "sentence_model": settings.SENTENCE_MODEL,
        "similarities": [
            {name: getattr(row, name) for name in ("name", "model", "version", "normalisation")}
            for row in measures_used(scope)
        ],
        "includes_pilot": release.includes_pilot,
        "anonymised": release.is_anonymised,
        "partial": scope.is_partial,
        "pools": [_pool(row, pairs_of_pools(scope)) for row in pools_used(scope)],
        "counts": {**counts, **edits, **described_in_train(scope.project)},
    }


def _last_day(scope: Scope, judged_to: str | None) -> str:
    """Of the last grade or decision that the release holds; where there is none, the day its project was made."""
    reviews = BatchReview.objects.filter(batch__query__in=scope.among)
    decided = reviews.aggregate(last=Max("decided_at"))["last"]
    days = [judged_to, decided.date().isoformat() if decided else None]
    return max(filter(None, days), default=scope.project.created_at.date().isoformat())


def _pool(row: Pooling, pairs: dict[int, int]) -> dict[str, Any]:
    return {
        "opened_at": row.opened_at.isoformat() if row.opened_at else None,
        "sources": [source.name for source in row.sources.all()],
        "depth": row.depth,
        "iou_min": row.iou_min,
        "pairs": pairs.get(row.pk, 0),
    }


SPECIAL = re.compile(r"([\\`*_\[\]<>|&])")
TAG = re.compile(r"<(?=[A-Za-z/!?])")


def plain_line(text: str) -> str:
    """Return the text as one line of plain text, for a heading or a cell."""
    return SPECIAL.sub(r"\\\1", " ".join(text.split()))


def prose(text: str) -> str:
    """Return the paragraphs as their author formatted them, with HTML tags shown as text."""
    return TAG.sub("&lt;", text)
