"""What a project's training queries are ranked over, and the queries themselves, read piece by piece."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import islice

import numpy as np
from django.db.models import Count
from numpy.typing import NDArray

from accounts.models import Project
from annotation.captions.selectors import captions_to_train_on
from annotation.models import Measure
from annotation.pools.services.candidates import vectors_of
from annotation.queries.selectors import queries_to_train_on
from annotation.train_sets.ranks import Block, Parts, Query, TextRanker, TrainMoments, block_size, ranked_blocks

CHUNK = 2_048  # captions read and embedded at once
FORM = b"1"  # of parts; those of another are not used
OnProgress = Callable[[int, int], None]  # done, total


@dataclass(frozen=True)
class TrainPool:
    """The moments of a corpus, what rows say of them, and the vectors of their captions under a sentence model."""

    measure: Measure
    moments: TrainMoments
    first_caption: NDArray[np.intp]  # [M] into ``vectors``
    vectors: NDArray[np.float32]  # [C, D]
    digest: bytes  # of all that was read

    def ranked(self, project: Project, *, depth: int, parts: Parts | None = None) -> Iterator[Block]:
        """The project's training queries, in the order of published files, with their top moments; [] of none."""
        if not len(self.moments):
            return iter(())
        queries = queries_to_train_on(project.pk)
        repeated = queries.order_by().values("text").annotate(n=Count("pk")).filter(n__gt=1)
        ranker = TextRanker(
            self.vectors,
            self.first_caption,
            depth=depth,
            vectors_of=partial(vectors_of, model=self.measure.name),
            repeated=set(repeated.values_list("text", flat=True)),
        )
        return ranked_blocks(query_blocks(project, block_size(depth)), ranker, parts)

    def made_of(self, depth: int) -> bytes:
        """What ranks to this depth depend on besides the queries."""
        return b"/".join([FORM, str(depth).encode(), str(self.measure).encode(), self.digest])


def query_blocks(project: Project, size: int) -> Iterator[Sequence[Query]]:
    """Number and text of the project's training queries, ``size`` at a time, as they are at one instant."""
    rows = queries_to_train_on(project.pk).values_list("number", "text").iterator(chunk_size=size)
    while block := list(islice(rows, size)):
        yield block


def train_pool_of(*, project: Project, measure: Measure, on_progress: OnProgress | None = None) -> TrainPool:
    """The moments of the project's corpus that training queries are ranked over, by id; new captions are embedded.

    A moment's caption in the files is the first of its captions that serve.
    """
    captions = captions_to_train_on(project.dataset.corpus_id).order_by("moment_id", "id")
    columns = ("moment__video__name", "moment__video__duration_s", "moment__start_s", "moment__end_s")
    total = captions.count() if on_progress else 0
    rows = captions.values_list("moment_id", "text", *columns).iterator(chunk_size=CHUNK)
    moments, first, digest = TrainMoments(), [], sha256()
    vectors, count, last = np.zeros((0, 0), np.float32), 0, None
    while chunk := list(islice(rows, CHUNK)):
        found = vectors_of([text for _, text, *_ in chunk], model=measure.name)
        vectors.resize((count + len(chunk), found.shape[1]), refcheck=False)  # in place: there is one copy
        vectors[count:] = found
        for place, (moment, text, name, duration_s, start_s, end_s) in enumerate(chunk, start=count):
            if moment != last:
                moments.add(video_name=name, duration_s=duration_s, start_s=start_s, end_s=end_s, caption=text)
                first.append(place)
                last = moment
            digest.update(repr((moment, text, name, duration_s, start_s, end_s)).encode())
        count += len(chunk)
        if on_progress:
            on_progress(count, max(total, count))
    return TrainPool(measure, moments, np.array(first, np.intp), vectors, digest.digest())
