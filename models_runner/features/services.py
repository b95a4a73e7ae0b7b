"""Feature sets ordered, named by their file, cancelled, gone on with, removed, and what they are made of."""

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.db import IntegrityError, transaction

from accounts.models import Project, User
from annotation.models import Query, Video
from annotation.previews.services import local_copy
from annotation.similarity.registry import model_check
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible
from core.jobs import JobKind
from models_runner.features.selectors import first_few, uses_of
from models_runner.models import FeatureSet
from moment_retrieval.errors import ScoringError
from moment_retrieval.features import LMDB_FILE, check_format
from moment_retrieval.features.extractors import EXTRACTORS, ExtractorName
from moment_retrieval.features.extractors.base import Film, Line, Sentence, Speech
from moment_retrieval.features.extractors.videos import clip_count
from moment_retrieval.hub import check_folder, weights_file

NOTHING = Path("/nonexistent")  # the file of a video that has none
logger = logging.getLogger(__name__)
State, Step, Extractor = FeatureSet.State, FeatureSet.Step, FeatureSet.Extractor


def _file_of_deleted_remove(feature_set: FeatureSet) -> None:
    """Remove what was made of a set that was deleted meanwhile; a cancelled one keeps it."""
    if feature_set.is_ours and not FeatureSet.objects.filter(pk=feature_set.pk).exists():
        features_file_delete(Path(feature_set.path))


class _FeatureSets(JobKind[FeatureSet]):
    def sweep(self, now: datetime) -> None:
        """Wake the task again, with one message at a time: a set may wait behind a training."""
        super().sweep(now)
        self.late_rows(now).update(moved_at=now)


FEATURE_SETS = _FeatureSets(
    "models_runner.tasks.features_work",
    lambda: FeatureSet.objects.filter(state=State.RUNNING).select_related("project"),
    lock="feature-set",
    expected=(ScoringError, MomentJudgeError, OSError),
    clean=_file_of_deleted_remove,
)


def names_wanted(project: Project, kind: str) -> list[str]:
    """Whose features there are to be."""
    if kind == FeatureSet.Kind.QUERY:
        numbers = Query.objects.filter(project=project, is_placeholder=False).order_by("number")
        return [str(number) for number in numbers.values_list("number", flat=True)]
    return list(Video.objects.filter(corpus=project.dataset.corpus_id).order_by("index").values_list("name", flat=True))


def films(project: Project, is_known: Callable[[object], bool]) -> Iterator[Film]:
    """The videos, each on this machine while it is looked at; nothing else is known of them."""
    for video in Video.objects.filter(corpus=project.dataset.corpus_id).order_by("index").iterator():
        if is_known(video.name) or not video.file:
            yield Film(video.name, NOTHING)
            continue
        with local_copy(video) as path:
            yield Film(video.name, path)


def speeches(project: Project, is_known: Callable[[object], bool]) -> Iterator[Speech]:
    videos = Video.objects.filter(corpus=project.dataset.corpus_id).order_by("index")
    for video in videos.prefetch_related("subtitles").iterator(chunk_size=200):
        lines = [Line(line.start_s, line.end_s, line.text) for line in video.subtitles.all()]
        yield Speech(video.name, clip_count(video.duration_s), lines)


def sentences(project: Project, is_known: Callable[[object], bool]) -> Iterator[Sentence]:
    queries = Query.objects.filter(project=project, is_placeholder=False).order_by("number")
    for number, text in queries.values_list("number", "text").iterator():
        yield Sentence(str(number), text)


ITEMS: dict[str, Callable[[Project, Callable[[object], bool]], Iterator[Any]]] = {
    FeatureSet.Kind.VIDEO: films,
    FeatureSet.Kind.SUBTITLE: speeches,
    FeatureSet.Kind.QUERY: sentences,
}


def feature_set_start(
    *,
    project: Project,
    kind: str,
    extractor: str,
    model: str = "",
    name: str = "",
    actor: User | None,
    wake: bool = True,
) -> FeatureSet:
    """Order features of all videos, subtitles or queries of the project; a task makes them unless the caller does.
    Raises NotPossible where there is nothing to make them of, a set has this name, or the model may not be named
    here."""
    if model:
        extractor_model_check(extractor, model)
    if not names_wanted(project, kind):
        raise NotPossible(f"This project has no {FeatureSet.Kind(kind).label} to make features of.")
    uuid = uuid4()
    path = Path(settings.FEATURES_ROOT).absolute() / str(project.uuid) / kind / f"{uuid.hex}.h5"
    made_name = name or _free_name(project, f"{kind} {model.rpartition('/')[2] or extractor}")
    step = Step.DOWNLOADING if model else Step.EXTRACTING
    values = {"kind": kind, "extractor": extractor, "model": model, "step": step}
    return _create(project, actor, "features.start", wake, uuid=uuid, name=made_name, path=str(path), **values)


def feature_set_register(
    *, project: Project, kind: str, path: str, model: str = "", name: str = "", actor: User | None, wake: bool = True
) -> FeatureSet:
    """Add an official file, by its absolute path below FEATURES_ROOTS; a task checks it. ``model`` is the text model
    that made the features of queries, if it is known. Raises NotPossible where no file of features may be read there,
    it is here already, or the model may not be named here."""
    location = _allowed(path)
    try:
        check_format(location)  # the task opens it, in a child process
    except ScoringError as error:
        raise NotPossible(str(error)) from error
    values = {"kind": kind, "extractor": Extractor.FILE, "model": model, "step": Step.CHECKING, "path": str(location)}
    _check_model(FeatureSet(**values))
    return _create(project, actor, "features.register", wake, name=name or _free_name(project, location.stem), **values)


@transaction.atomic
def feature_set_model(*, feature_set: FeatureSet, model: str, actor: User | None) -> FeatureSet:
    """Say which text model made an official file of queries: typed words are read by it. Empty: it is not known. Raises
    NotPossible where it is no such file, or the model may not be named here."""
    row = _lock(feature_set)
    row.model = model
    _check_model(row)
    row.save(update_fields=["model"])
    details = {"name": row.name, "model": model}
    audit_record(project=row.project, actor=actor, action="features.model", subject=row.uuid, **details)
    return row


def extractor_model_check(extractor: str, model: str) -> None:
    """Check that an extractor may be given the model through the site; see ``model_check``."""
    is_one_file = EXTRACTORS[ExtractorName(extractor)].is_one_file
    model_check(model, holds=weights_file if is_one_file else check_folder)


def _check_model(feature_set: FeatureSet) -> None:
    if not feature_set.model:
        return
    if not feature_set.may_name_model:
        raise NotPossible("Which text model made them is said of official files of queries alone.")
    model_check(feature_set.model)


def _create(project: Project, actor: User | None, action: str, wake: bool, **values: Any) -> FeatureSet:
    try:
        with transaction.atomic():
            feature_set = FeatureSet.objects.create(project=project, started_by=actor, **values)
            details = {name: getattr(feature_set, name) for name in ("name", "kind", "extractor", "model")}
            audit_record(project=project, actor=actor, action=action, subject=feature_set.uuid, **details)
            if wake:
                FEATURE_SETS.send(feature_set.pk)
    except IntegrityError as error:
        if "feature_set_file_once" in str(error):
            raise NotPossible("This file is among the features of the project already.") from error
        if "feature_set_name_once" in str(error):
            raise NotPossible(f"There are features named {values['name']!r} already.") from error
        raise
    return feature_set


def _allowed(path: str) -> Path:
    """The file, if its real place lies below one of FEATURES_ROOTS."""
    roots = [Path(root).resolve() for root in settings.FEATURES_ROOTS]
    if not roots:
        raise NotPossible("Files of features can be added where the setting FEATURES_ROOTS names their folders.")
    absolute_path = Path(path)
    location = absolute_path.resolve()
    locations = (location, (location / LMDB_FILE).resolve())  # the file of a folder may be a link itself
    if (
        not absolute_path.is_absolute()
        or "\0" in path
        or not any(all(one.is_relative_to(root) for one in locations) for root in roots)
    ):
        raise NotPossible(f"Give an absolute path below {' or '.join(map(str, roots))}.")
    return location


def _free_name(project: Project, base: str) -> str:
    other_names = set(FeatureSet.objects.filter(project=project).values_list("name", flat=True))
    numbered = (base[:70] if count == 1 else f"{base[:70]} {count}" for count in range(1, len(other_names) + 2))
    return next(name for name in numbered if name not in other_names)


@transaction.atomic
def feature_set_cancel(*, feature_set: FeatureSet, actor: User | None) -> FeatureSet:
    """Stop making or checking a set; what is made is kept, and it can go on."""
    row = _lock(feature_set)
    if not row.is_at_work:
        raise NotPossible("These features are not being made.")
    FeatureSet.objects.filter(pk=row.pk).update(state=State.CANCELLED)  # a worker learns it from its progress
    details = {"name": row.name, "done": row.done, "total": row.total}
    audit_record(project=row.project, actor=actor, action="features.cancel", subject=row.uuid, **details)
    row.state = State.CANCELLED
    return row


@transaction.atomic
def feature_set_resume(*, feature_set: FeatureSet, actor: User | None, wake: bool = True) -> FeatureSet:
    """Go on with a set that was cancelled or failed; what was made of it is not made again."""
    row = _lock(feature_set)
    if not row.may_go_on:
        raise NotPossible("These features are done, or being made already.")
    step = Step.EXTRACTING if row.is_ours else Step.CHECKING
    FEATURE_SETS.resume(row, state=State.RUNNING, wake=wake, step=step, attempts=0)
    audit_record(project=row.project, actor=actor, action="features.resume", subject=row.uuid, name=row.name)
    return row


@transaction.atomic
def feature_set_delete(*, feature_set: FeatureSet, actor: User | None) -> None:
    """Remove a set; its file too where it was made here. One that is being made stops. Raises NotPossible where a
    training needs the file that would go."""
    row = _lock(feature_set)  # who orders an experiment locks the row too: see features_hold
    if row.is_ours and (uses := uses_of(row)):
        needs = first_few([f"{system} {need}" for system, need in uses], "more trainings")
        raise NotPossible(f"The features {row.name} are needed: {needs}.")
    details = {"name": row.name, "kind": row.kind, "state": row.state}
    audit_record(project=row.project, actor=actor, action="features.delete", subject=row.uuid, **details)
    path, is_ours = Path(row.path), row.is_ours
    row.delete()
    if is_ours:
        transaction.on_commit(partial(features_file_delete, path))


def features_hold(project: Project, features: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep the sets of an experiment that is being ordered from being deleted until it is stored. Raises NotPossible
    where one has been deleted."""
    names_by_uuid = {source["set"]: source["name"] for source in features.values() if source.get("set")}
    rows = FeatureSet.objects.select_for_update().filter(project=project, uuid__in=names_by_uuid).order_by("pk")
    if missing_uuids := set(names_by_uuid) - {str(row.uuid) for row in rows}:
        raise NotPossible(f"The features {names_by_uuid[min(missing_uuids)]!r} have been deleted; choose others.")


def _lock(feature_set: FeatureSet) -> FeatureSet:
    rows = FeatureSet.objects.select_for_update(of=("self",)).select_related("project")
    row = rows.filter(pk=feature_set.pk).first()
    if row is None:
        raise NotPossible("These features have been deleted.")
    return row


def features_file_delete(path: Path) -> None:
    """A restored site does not touch what lies in the folder of the one it was copied from."""
    if not path.is_relative_to(Path(settings.FEATURES_ROOT).absolute()):
        logger.warning("features were deleted, their file stays: it lies outside FEATURES_ROOT")
        return
    path.unlink(missing_ok=True)
    path.with_name(f"{path.name}.journal").unlink(missing_ok=True)
