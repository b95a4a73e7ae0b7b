"""Embedding captions and queries, ranking the pool of each query, and keeping how similarities were computed."""

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet

from accounts.models import Project, User
from annotation.captions.selectors import captions_serving
from annotation.corpora.selectors import corpus_is_seen
from annotation.models import Candidate, Measure, Moment, ProjectCorpus, Query, TextVector
from annotation.pools.rules import Indexes, Numbers, Vectors, depth_of, strata_of
from annotation.queries.selectors import queries_to_judge
from annotation.similarity import registry, sentences
from annotation.similarity.base import Similarity, SimilarityMissing, named_errors
from annotation.similarity.registry import ModelRefused, model_check
from core.audit import audit_record
from moment_retrieval.relevance import DECIMALS

logger = logging.getLogger(__name__)
CHUNK = 2048  # texts embedded and stored at once; longest first, so that a chunk holds texts of a length
OnProgress = Callable[[int, int], None]  # done, total


@dataclass(frozen=True)
class Pool:
    """All moments that may be judged, with their captions."""

    moment_ids: Numbers  # [M]
    first_caption: Indexes  # [M] into ``captions``
    captions: list[str]  # [C]
    caption_ids: list[int]  # [C]

    def wordings(self, index: int) -> dict[str, str]:
        """Return the captions of the moment at this index, by their id."""
        start = self.first_caption[index]
        end = self.first_caption[index + 1] if index + 1 < len(self.first_caption) else len(self.captions)
        return {str(pk): text for pk, text in zip(self.caption_ids[start:end], self.captions[start:end], strict=True)}

    def rank(self, texts: Sequence[str], *, similarity: str, depth: int) -> Iterator[list[int]]:
        """Yield the ids of the top moments of each text under the similarity of this name, best first."""
        measure = registry.similarity(similarity, embed=vectors_of)
        for order, _ in measure.top(texts, self.captions, self.first_caption, depth=depth):
            yield self.moment_ids[order].tolist()

    def measured(self, text: str, moments: Sequence[int], *, similarity: str) -> dict[int, tuple[float, int | None]]:
        """Return the similarity of a text to each of these moments, and their ranks among all; of a similarity that
        ranks the best of another one alone there are no ranks beyond those."""
        measure = registry.similarity(similarity, embed=vectors_of)
        index_of = {pk: index for index, pk in enumerate(self.moment_ids.tolist())}
        indexes = [index_of[pk] for pk in moments]
        if isinstance(measure, registry.Reranked):
            texts = [list(self.wordings(index).values()) for index in indexes]
            values = [float(measure.pairs(own, [text] * len(own)).max()) for own in texts]
            return {pk: (round(value, DECIMALS), None) for pk, value in zip(moments, values, strict=True)}
        every = measure.pairs(self.captions, [text] * len(self.captions))
        best = np.maximum.reduceat(every, self.first_caption).round(DECIMALS)
        result: dict[int, tuple[float, int | None]] = {}
        for pk, index in zip(moments, indexes, strict=True):
            before = (best > best[index]).sum() + (best[:index] == best[index]).sum()  # ties keep the order of moments
            result[pk] = float(best[index]), int(before) + 1
        return result


def text_key(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def vectors_of(texts: Sequence[str], *, model: str, on_progress: OnProgress | None = None) -> Vectors:
    """Unit vectors [N, D] of ``texts`` [N]; each distinct text is embedded once, ever, per version of the model.

    What is embedded is stored chunk by chunk: killed work goes on there. Raises SimilarityMissing where there is no
    such model here.
    """
    measure = measure_of(registry.sentence_model(model))
    vectors = _vectors_of(texts, measure)
    missing = sorted({text for text in texts if text_key(text) not in vectors}, key=lambda text: (-len(text), text))
    for start in range(0, len(missing), CHUNK):
        some = missing[start : start + CHUNK]

        def report(n_done: int, before: int = start) -> None:
            if on_progress:
                on_progress(before + n_done, len(missing))

        fresh = sentences.encode(some, model=model, setup=registry.sentence_setup(), on_progress=report)
        rows = [
            TextVector(measure=measure, text_sha256=text_key(text), vector=vector.astype("<f4").tobytes())
            for text, vector in zip(some, fresh, strict=True)
        ]
        TextVector.objects.bulk_create(rows, ignore_conflicts=True, batch_size=CHUNK)
    vectors |= _vectors_of(missing, measure)  # another process may have been faster: what is stored counts
    return np.stack([vectors[text_key(text)] for text in texts])


def _vectors_of(texts: Iterable[str], measure: Measure) -> dict[bytes, Vectors]:
    keys = list({text_key(text) for text in texts})
    vectors: dict[bytes, Vectors] = {}
    for start in range(0, len(keys), 5000):
        rows = TextVector.objects.filter(measure=measure, text_sha256__in=keys[start : start + 5000])
        for key, vector in rows.values_list("text_sha256", "vector"):
            vectors[bytes(key)] = np.frombuffer(vector, dtype="<f4")
    return vectors


def pool_of(*, project: Project, previews: Sequence[str] = (Moment.Preview.READY,)) -> Pool:
    """The moments of the project's corpus that have a caption and a preview in one of these states, by id."""
    captions = captions_serving(project.dataset.corpus_id).filter(moment__preview_state__in=previews)
    rows = list(captions.order_by("moment_id", "id").values_list("moment_id", "id", "text"))
    moments = np.array([moment_id for moment_id, *_ in rows], dtype=np.int64)
    ids, first = np.unique(moments, return_index=True)
    return Pool(ids, first.astype(np.intp), [text for *_, text in rows], [caption for _, caption, _ in rows])


def candidates_rank(
    *,
    project_id: int,
    previews: Sequence[str] | None = None,
    on_progress: OnProgress | None = None,
    on_ranked: OnProgress | None = None,
) -> int:
    """Rank the pool for every judged query of the project that has no candidates; return how many these are.

    Moments without a preview take part only where the corpus has no video at all: its pools can be studied, and nothing
    of them can be opened. ``previews`` says instead by its states whose moments do. ``on_progress`` gets embedded
    texts, ``on_ranked`` ranked queries. Raises SimilarityMissing where the project's similarity is not here; no other
    takes its place.
    """
    project = Project.objects.get(pk=project_id)
    queries = list(_queries_without_candidates(project).order_by("id"))
    if previews is None:
        is_seen = corpus_is_seen(project.dataset.corpus_id)
        previews = [Moment.Preview.READY if is_seen else Moment.Preview.MISSING]
    pool = pool_of(project=project, previews=previews)
    if not queries or not pool.captions:
        return 0
    similarity = registry.similarity(similarity_of(project), embed=partial(vectors_of, on_progress=on_progress))
    measure = measure_of(similarity)
    ranked, depth = [], depth_of(project.batch_size, strata_of(project.strata))
    with named_errors():
        for result in similarity.top([query.text for query in queries], pool.captions, pool.first_caption, depth=depth):
            ranked.append(result)
            if on_ranked:
                on_ranked(len(ranked), len(queries))
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)  # one ranking at a time
        text_of = dict(_queries_without_candidates(project).values_list("pk", "text"))
        free = {query.pk for query in queries if text_of.get(query.pk) == query.text}  # a title may have changed
        rows = []
        for query, (moments, values) in zip(queries, ranked, strict=True):
            best = zip(moments.tolist(), values.tolist(), strict=True) if query.pk in free else ()
            for rank, (at, value) in enumerate(best, start=1):
                row = Candidate(query=query, rank=rank, similarity=value, measure=measure)
                row.moment_id, row.wordings = int(pool.moment_ids[at]), pool.wordings(at)
                rows.append(row)
        Candidate.objects.bulk_create(rows, batch_size=2000)
    logger.info(
        "project %s: %s queries ranked by %s over %s moments", project.pk, len(free), measure, len(pool.moment_ids)
    )
    return len(free)


def similarity_of(project: Project) -> str:
    """Return the name of the similarity that ranks the project's candidates. Raises SimilarityMissing where it came
    with a file, or from a time before MOMENTJUDGE_MODELS, and names a folder elsewhere."""
    _check_models(project.dataset.similarity)
    return project.dataset.similarity or settings.SENTENCE_MODEL


def _check_models(similarity: str) -> None:
    for model in registry.sentence_models_of(similarity) if similarity else ():
        if model != settings.SENTENCE_MODEL:
            try:
                model_check(model)
            except ModelRefused as error:
                raise SimilarityMissing(str(error)) from error


@transaction.atomic
def similarity_choose(*, project: Project, name: str, actor: User | None) -> None:
    """Let the similarity of this name rank the candidates of queries that have none yet; empty for the default.

    Raises:
        SimilarityMissing: it is not here, or names a folder that is not below MOMENTJUDGE_MODELS.
        TopNotOffered: it does not rank.
    """
    _check_models(name)
    registry.check(name or settings.SENTENCE_MODEL)
    dataset = ProjectCorpus.objects.select_for_update().get(pk=project.pk)
    if dataset.similarity != name:
        names = {"before": dataset.similarity, "now": name}
        audit_record(project=project, actor=actor, action="similarity.choose", subject=project.uuid, **names)
        dataset.similarity = name
        dataset.save(update_fields=["similarity"])


@transaction.atomic
def candidates_clear(*, queries: QuerySet[Query]) -> int:
    """Forget the candidates of these queries, so that they are ranked anew; return how many queries lost theirs.

    The database keeps those of a batch.
    """
    locked_ids = list(queries.select_for_update(of=("self",)).values_list("pk", flat=True))
    ids = list(queries.filter(pk__in=locked_ids).values_list("pk", flat=True))  # a batch may have been opened meanwhile
    Candidate.objects.filter(query__in=ids).delete()
    return len(ids)


def candidates_delete(*, project_id: int) -> None:
    """Forget all candidates of a project without batches; those of a batch the database keeps."""
    Candidate.objects.filter(query__project=project_id).delete()


def _queries_without_candidates(project: Project) -> QuerySet[Query]:
    return queries_to_judge(project.pk).filter(candidates__isnull=True)


def measure_of(similarity: Similarity) -> Measure:
    """The row of the similarity as it is now; new when it has not been used before."""
    return measure_named(**{name: getattr(similarity, name) for name in ("name", "model", "version", "normalisation")})


def measure_named(**key: Any) -> Measure:
    """The row of this name, model, version and normalisation; new when it has not been used before."""
    measure, _ = Measure.objects.get_or_create(**key)
    return measure
