"""Embedding captions and queries, and ranking the pool of each query."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from numpy.typing import NDArray

from annotation.models import Candidate, Moment, Project, Query, TextVector
from annotation.rules.pooling import DEPTH, top_moments
from annotation.selectors import captions_serving, queries_to_judge
from annotation.similarity import sentences

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Pool:
    """All moments that may be judged, with the vectors of their captions."""

    moment_ids: NDArray[np.int64]  # [M]
    first_caption: NDArray[np.intp]  # [M] into ``vectors``
    vectors: NDArray[np.float32]  # [C, D]
    captions: Sequence[tuple[int, str]] = ()  # [C] id and text

    def wordings(self, moment_id: int) -> dict[str, str]:
        """What the captions of the moment say, by their id."""
        place = int(np.searchsorted(self.moment_ids, moment_id))
        ends = [*self.first_caption[place : place + 2], len(self.captions)]
        return {str(caption): text for caption, text in self.captions[ends[0] : ends[1]]}

    def rank(
        self, queries: NDArray[np.float32], *, depth: int
    ) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Per query [D] of ``queries`` [Q, D]: ids and similarities of its top moments, best first."""
        for order, similarity in top_moments(queries, self.vectors, self.first_caption, depth=depth):
            yield self.moment_ids[order], similarity


def text_key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def vectors_of(
    texts: Sequence[str], *, model: str, on_progress: Callable[[int], None] | None = None
) -> NDArray[np.float32]:
    """Unit vectors [N, D] of ``texts`` [N]; each distinct text is embedded once, ever, per model."""
    known = _stored(texts, model)
    missing = sorted({text for text in texts if text_key(text) not in known})
    if missing:
        fresh = sentences.encode(missing, model=model, on_progress=on_progress)
        rows = [
            TextVector(model=model, text_sha256=text_key(text), vector=vector.astype("<f4").tobytes())
            for text, vector in zip(missing, fresh, strict=True)
        ]
        TextVector.objects.bulk_create(rows, ignore_conflicts=True, batch_size=2000)
        known |= {text_key(text): vector for text, vector in zip(missing, fresh, strict=True)}
    return np.stack([known[text_key(text)] for text in texts])


def _stored(texts: Iterable[str], model: str) -> dict[bytes, NDArray[np.float32]]:
    keys = list({text_key(text) for text in texts})
    known: dict[bytes, NDArray[np.float32]] = {}
    for start in range(0, len(keys), 5000):
        rows = TextVector.objects.filter(model=model, text_sha256__in=keys[start : start + 5000])
        for key, vector in rows.values_list("text_sha256", "vector"):
            known[bytes(key)] = np.frombuffer(vector, dtype="<f4")
    return known


def pool_of(*, project: Project, model: str, on_progress: Callable[[int], None] | None = None) -> Pool:
    """The moments of the project's corpus that have a preview and a caption, by id."""
    rows = list(
        captions_serving(project.corpus_id)
        .filter(moment__preview_state=Moment.Preview.READY)
        .order_by("moment_id", "id")
        .values_list("moment_id", "id", "text")
    )
    if not rows:
        return Pool(np.zeros(0, np.int64), np.zeros(0, np.intp), np.zeros((0, 0), np.float32))
    captions = [(caption_id, text) for _, caption_id, text in rows]
    vectors = vectors_of([text for _, text in captions], model=model, on_progress=on_progress)
    ids, first = np.unique(np.array([moment_id for moment_id, *_ in rows], dtype=np.int64), return_index=True)
    return Pool(ids, first.astype(np.intp), vectors, captions)


def candidates_rank(*, project_id: int) -> int:
    """Rank the pool for every judged query of the project that has no candidates; the rest stay as they are.

    Returns:
        How many queries were given candidates.
    """
    project = Project.objects.get(pk=project_id)
    model = settings.SENTENCE_MODEL
    queries = list(_queries_without_candidates(project).order_by("id"))
    if not queries:
        return 0
    pool = pool_of(project=project, model=model)
    if not len(pool.moment_ids):
        return 0
    vectors = vectors_of([query.text for query in queries], model=model)
    ranked = list(pool.rank(vectors, depth=DEPTH))
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)  # one ranking at a time
        free = set(_queries_without_candidates(project).values_list("pk", flat=True))
        rows = [
            Candidate(
                query=query,
                moment_id=int(moment),
                rank=rank,
                similarity=float(similarity),
                model=model,
                wordings=pool.wordings(int(moment)),
            )
            for query, (moments, similarities) in zip(queries, ranked, strict=True)
            if query.pk in free
            for rank, (moment, similarity) in enumerate(zip(moments, similarities, strict=True), start=1)
        ]
        Candidate.objects.bulk_create(rows, batch_size=2000)
    logger.info("project %s: %s queries ranked over %s moments", project.pk, len(free), len(pool.moment_ids))
    return len(free)


@transaction.atomic
def candidates_clear(*, queries: QuerySet[Query]) -> int:
    """Forget the candidates of these queries, so that they are ranked anew; the database keeps those of a batch.

    Returns:
        How many queries lost their candidates.
    """
    held = list(queries.select_for_update(of=("self",)).values_list("pk", flat=True))
    ids = list(queries.filter(pk__in=held).values_list("pk", flat=True))  # a batch may have been opened meanwhile
    Candidate.objects.filter(query__in=ids).delete()
    return len(ids)


def _queries_without_candidates(project: Project) -> QuerySet[Query]:
    return queries_to_judge(project.pk).filter(candidates__isnull=True)
