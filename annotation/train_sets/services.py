"""Pseudo training sets: ordered, written by a task that can be killed, discarded, and the pool they are ranked over.

Ranks of blocks lie in a folder of this machine until the set is done; the files are written from them in one go.
"""

import logging
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from hashlib import file_digest, sha256
from itertools import islice
from pathlib import Path
from time import time
from typing import Any
from uuid import UUID

import numpy as np
from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions.selectors import captions_to_train_on
from annotation.models import Measure, TrainSet
from annotation.pools.rules import Indexes, Vectors
from annotation.pools.services.candidates import measure_of, vectors_of
from annotation.queries.selectors import queries_to_train_on
from annotation.similarity import registry
from annotation.train_sets.files import JsonTrainFile, ParquetTrainFile
from annotation.train_sets.models import MOST_DEPTH, TYPES
from annotation.train_sets.ranks import Block, Parts, TextRanker, TrainMoments, block_size, ranked_blocks
from core.audit import audit_record
from core.exceptions import NotPossible
from core.jobs import JobKind, Progress, durable, swept
from core.media_files import files_delete

logger = logging.getLogger(__name__)
FORGOTTEN_S = 24 * 3600  # a folder that no set needs is removed after so long
ROW_BYTES = 400  # of a row in both files, at most, as a rule
OUTDATED = "Captions, queries or the model changed while it was interrupted; what was ranked before was ranked anew."
State, Step = TrainSet.State, TrainSet.Step
OnProgress = Callable[[str], None]
OnEmbedded = Callable[[int, int], None]  # done, total
TRAIN_SETS = JobKind(
    "annotation.tasks.train_set_write",
    lambda: TrainSet.objects.filter(state=State.RUNNING).select_related("project"),
    lock="train-set",
    clean=lambda row: _discard(row.uuid),
)
CHUNK = 2_048  # captions read and embedded at once
FORM = b"1"  # of parts; those of another are not used


@dataclass(frozen=True)
class TrainPool:
    """The moments of a corpus, what rows say of them, and the vectors of their captions under a sentence model."""

    measure: Measure
    moments: TrainMoments
    first_caption: Indexes  # [M] into ``vectors``
    vectors: Vectors  # [C, D]
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
        rows = queries.values_list("number", "text").iterator(chunk_size=block_size(depth))
        blocks = iter(lambda: list(islice(rows, block_size(depth))), [])  # as the queries are at one instant
        return ranked_blocks(blocks, ranker, parts)

    def made_of(self, depth: int) -> bytes:
        """Return all that ranks to this depth depend on besides the queries."""
        return b"/".join([FORM, str(depth).encode(), str(self.measure).encode(), self.digest])


def train_pool_of(*, project: Project, measure: Measure, on_progress: OnEmbedded | None = None) -> TrainPool:
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
        block = vectors_of([text for _, text, *_ in chunk], model=measure.name)
        vectors.resize((count + len(chunk), block.shape[1]), refcheck=False)  # in place: there is one copy
        vectors[count:] = block
        for index, (moment, text, name, duration_s, start_s, end_s) in enumerate(chunk, start=count):
            if moment != last:
                moments.add(video_name=name, duration_s=duration_s, start_s=start_s, end_s=end_s, caption=text)
                first.append(index)
                last = moment
            digest.update(repr((moment, text, name, duration_s, start_s, end_s)).encode())
        count += len(chunk)
        if on_progress:
            on_progress(count, max(total, count))
    return TrainPool(measure, moments, np.array(first, np.intp), vectors, digest.digest())


@transaction.atomic
def train_set_start(*, project: Project, depth: int, actor: User | None, wake: bool = True) -> TrainSet:
    """Order the training set of the top ``depth`` moments; a task writes it unless the caller does.

    One that is being written already stays as it is; one that failed goes on where it stopped.

    Raises:
        NotPossible: the depth is out of range, or there is no training query or no moment to rank.
        SimilarityMissing: there is no such sentence model here.
    """
    Project.objects.select_for_update().get(pk=project.pk)
    if not 1 <= depth <= MOST_DEPTH:
        raise NotPossible(f"A training set has 1 to {MOST_DEPTH:,} moments for each query.")
    if not queries_to_train_on(project.pk).exists():
        raise NotPossible("This project has no training queries; draw queries first.")
    if not captions_to_train_on(project.dataset.corpus_id).exists():
        raise NotPossible("No moment of the corpus has a caption that serves.")
    registry.check(settings.SENTENCE_MODEL)
    row = project.train_sets.filter(depth=depth, state=State.RUNNING).first()
    if row is None:
        row = project.train_sets.filter(depth=depth, state=State.FAILED).order_by("-pk").first()
        if row:
            TRAIN_SETS.resume(row, state=State.RUNNING, wake=False)
        else:
            row = TrainSet.objects.create(project=project, depth=depth, started_by=actor)
        audit_record(project=project, actor=actor, action="train_set.start", subject=row.uuid, depth=depth)
    if wake:
        TRAIN_SETS.send(row.pk)
    return row


@transaction.atomic
def train_set_discard(*, train_set: TrainSet, actor: User | None) -> None:
    """Remove a training set and its files; one that is being written stops."""
    row = TrainSet.objects.select_for_update(of=("self",)).select_related("project").filter(pk=train_set.pk).first()
    if row is None:
        raise NotPossible("This training set has been discarded already.")
    details = {"depth": row.depth, "state": row.state}
    audit_record(project=row.project, actor=actor, action="train_set.discard", subject=row.uuid, **details)
    row.delete()
    transaction.on_commit(partial(_discard, row.uuid))


@swept
def folders_sweep(now: datetime) -> None:
    """Remove the folders of sets that are no more."""
    needed = {row.hex for row in TrainSet.objects.exclude(state=State.DONE).values_list("uuid", flat=True)}
    for folder in _work_root().glob("*"):
        if folder.name not in needed and folder.stat().st_mtime < time() - FORGOTTEN_S:
            shutil.rmtree(folder, ignore_errors=True)


@durable(TRAIN_SETS.task)
def train_set_write(*, train_set_id: int, on_progress: OnProgress | None = None) -> bool:
    """Write what is left of a set; say whether there was any that no other process is at.

    Safe to repeat and to kill: it goes on at the first block that is not ranked yet.
    """
    with TRAIN_SETS.claim(train_set_id) as row:
        if row is None:
            return False
        _write(row, _Progress(TRAIN_SETS, row, on_progress))
    return True


def _write(row: TrainSet, progress: "_Progress") -> None:
    row.measure = measure_of(registry.sentence_model(settings.SENTENCE_MODEL))
    row.save(update_fields=["measure"])
    pool = train_pool_of(project=row.project, measure=row.measure, on_progress=partial(progress.report, Step.EMBEDDING))
    total = queries_to_train_on(row.project_id).count()
    if not total or not len(pool.moments):
        raise NotPossible("There is no training query, or no moment with a caption that serves, any more.")
    folder = _folder(row.uuid)
    parts = Parts(folder / "parts", pool.made_of(row.depth))
    rows, free = total * min(row.depth, len(pool.moments)), shutil.disk_usage(folder).free
    if rows * ROW_BYTES > free:
        takes, has = (f"{size / 1e9:,.1f} GB" for size in (rows * ROW_BYTES, free))
        raise NotPossible(f"{rows:,} rows may take {takes}, and {has} are free in the data folder.")
    about = {"project": row.project.name, "depth": str(row.depth), "similarity": str(pool.measure)}
    queries = 0
    progress.ranking(parts, total, queries)
    with (
        JsonTrainFile(folder / "json", pool.moments, depth=row.depth) as json,
        ParquetTrainFile(folder / "parquet", pool.moments, depth=row.depth, about=about) as parquet,
    ):
        for block in pool.ranked(row.project, depth=row.depth, parts=parts):
            json.add(block)
            parquet.add(block)
            queries += len(block.numbers)
            progress.ranking(parts, total, queries)
    _finish(row, pool, folder, queries, row.warning)
    shutil.rmtree(folder, ignore_errors=True)
    logger.info("training set %s: top %s of %s queries", row.pk, row.depth, queries)


def _finish(row: TrainSet, pool: TrainPool, folder: Path, queries: int, warning: str) -> None:
    moments = len(pool.moments)
    values: dict[str, Any] = {"queries": queries, "moments": moments, "rows": queries * min(row.depth, moments)}
    for form in TYPES:
        with (folder / form).open("rb") as source:
            digest = file_digest(source, "sha256").hexdigest()
        values |= {f"{form}_bytes": (folder / form).stat().st_size, f"{form}_sha256": digest}
        values[form] = _store(row.uuid, form, folder / form)
    values |= {
        "done": queries,
        "total": queries,
        "warning": warning,
        "state": State.DONE,
        "finished_at": timezone.now(),
    }
    TRAIN_SETS.move(row, **values)


def _store(uuid: UUID, form: str, path: Path) -> str:
    """Move the file into the storage, over what a killed task may have left there; returns its name."""
    name = _file_name(uuid, form)
    default_storage.delete(name)
    with path.open("rb") as source:
        return default_storage.save(name, _Movable(source))


class _Movable(File):  # type: ignore[type-arg]
    """A file that a storage on the same disk may take as it is, instead of copying it."""

    def temporary_file_path(self) -> str:
        return str(self.name)


def _discard(uuid: UUID) -> None:
    shutil.rmtree(_folder(uuid), ignore_errors=True)
    files_delete(*(_file_name(uuid, form) for form in TYPES))


def _file_name(uuid: UUID, form: str) -> str:
    return f"train_sets/{uuid.hex}.{form}"


def _work_root() -> Path:
    return Path(settings.MOMENTJUDGE_VAR) / "train_sets"


def _folder(uuid: UUID) -> Path:
    return _work_root() / uuid.hex


class _Progress(Progress[TrainSet]):
    def ranking(self, parts: Parts, total: int, n_done: int) -> None:
        """Write how many queries are ranked, and once that some are ranked anew."""
        if parts.outdated and not self.row.warning:
            logger.warning("training set %s: %s", self.row.pk, OUTDATED)
            TRAIN_SETS.move(self.row, warning=OUTDATED)
        self.report(Step.RANKING, n_done, max(n_done, total))
