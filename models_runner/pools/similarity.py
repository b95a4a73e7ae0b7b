"""Pooling by features: which moments a model of images and texts finds most similar to a query.

Source: the ranking of videos by the cosine of CLIP's embeddings (Radford et al. 2021, arXiv:2103.00020), for moments as
the mean of their clips.
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from uuid import UUID

import numpy as np

from accounts.models import Project
from annotation.models import Moment, Pooling, PoolSource
from annotation.pools.rules import Vectors, top_moments
from annotation.pools.services.poolings import Returned
from core.exceptions import NotPossible
from judging.studies.selectors import queries_to_pool
from models_runner.models import FeatureSet
from moment_retrieval.features import FeatureStore, open_features
from moment_retrieval.preprocessing import CLIP_S, l2_normalised


class FeaturePair(NamedTuple):
    """Features of videos and of queries that the two halves of one model made."""

    videos: FeatureSet
    queries: FeatureSet

    @property
    def name(self) -> str:
        """Its name as a source of a pool."""
        return f"similarity by {self.videos.name}"


def feature_pairs(project: Project) -> dict[str, FeaturePair]:
    """Return, by the UUID of the features of videos, the pairs that can be compared, the newest first."""
    sets = list(FeatureSet.objects.filter(project=project, state=FeatureSet.State.DONE).order_by("-pk"))
    texts: dict[tuple[str, int], FeatureSet] = {}
    for one in sets:
        if one.extractor == FeatureSet.Extractor.JOINT_TEXTS and one.is_fit:
            texts.setdefault((one.model, one.width), one)
    videos = [one for one in sets if one.kind == FeatureSet.Kind.VIDEO and one.is_fit]
    return {
        str(one.uuid): FeaturePair(one, texts[one.model, one.width])
        for one in videos
        if (one.model, one.width) in texts
    }


def uuids_of(pairs: Iterable[FeaturePair]) -> dict[str, list[UUID]]:
    """Return the UUIDs of each pair by its name, as a pool keeps them."""
    return {pair.name: [pair.videos.uuid, pair.queries.uuid] for pair in pairs}


def returned_by_features(pooling: Pooling, source: PoolSource) -> Iterator[Returned]:
    """Yield for each query the moments that are most similar to it, as many as the pool is deep.

    Raises:
        NotPossible: the features are gone, or hold none of these queries or of the moments that can be watched.
        ScoringError: a file of features cannot be read.
    """
    videos, queries = (FeatureSet.objects.filter(uuid=uuid).first() for uuid in source.feature_uuids)
    if videos is None or queries is None:
        raise NotPossible(f"Features of {source.name} are not there any more.")
    with open_features(queries.path) as store:
        numbers = _numbers(pooling, store)
        if not numbers:
            raise NotPossible(f"The features {queries.name} hold none of these queries; make them again.")
        texts = l2_normalised(np.stack([store.rows(str(number)).mean(axis=0) for number in numbers]))
    rows = Moment.objects.filter(
        video__corpus=pooling.project.dataset.corpus_id, preview_state=Moment.Preview.READY
    ).order_by("video__index", "pk")
    with open_features(videos.path) as store:
        moments = [row for row in rows.values_list("video__name", "start_s", "end_s") if row[0] in store]
        if not moments:
            raise NotPossible(f"The features {videos.name} hold no video with a moment that can be watched.")
        clips = np.stack([moment_vector(store.rows(name), start_s, end_s) for name, start_s, end_s in moments])
    best = top_moments(texts, l2_normalised(clips), np.arange(len(moments)), depth=pooling.depth)
    for number, (indexes, _) in zip(numbers, best, strict=True):
        for rank, index in enumerate(indexes.tolist(), start=1):
            name, start_s, end_s = moments[index]
            yield Returned(number, name, start_s, end_s, source.name, rank)


def moment_vector(rows: Vectors, start_s: float, end_s: float) -> Vectors:
    """Return the mean [D] of the unit rows [n, D] of those clips of a video that the moment touches."""
    first = min(int(start_s / CLIP_S), len(rows) - 1)
    after = max(first + 1, math.ceil(end_s / CLIP_S))
    mean: Vectors = l2_normalised(rows[first:after]).mean(axis=0)
    return mean


def _numbers(pooling: Pooling, store: FeatureStore) -> list[int]:
    """Return the numbers of the queries to pool for that have features, one of each query and its twins."""
    number_of = {query: number for number, query in queries_to_pool(pooling).items() if str(number) in store}
    return sorted(number_of.values())
